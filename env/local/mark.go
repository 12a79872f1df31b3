package local

import "strconv"

// markerName is the variable by which the descendants of a command are found. Its value is a list
// of marks, one for each environment around the process, the outermost first.
const markerName = "REINS_JOBS"

// mark names one command of one environment. In text it is "ENV.JOB;".
type mark struct {
	env string // the random id of the environment
	job int    // the number of the command in it
}

func (m mark) String() string { return m.env + "." + strconv.Itoa(m.job) + ";" }

// marks is a set of commands of one environment; no jobs means all of them.
type marks struct {
	env  string
	jobs map[int]bool
}
