package schedule

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Limits for a table.
const (
	MaxJobs   = 50
	MaxPrompt = 8000                // bytes
	Lifetime  = 30 * 24 * time.Hour // for a repeating job
)

// Job is a prompt with a schedule.
type Job struct {
	ID       string    `json:"id"`
	Name     string    `json:"name,omitempty"`
	Schedule string    `json:"schedule"`
	Prompt   string    `json:"prompt"`
	Once     bool      `json:"once,omitempty"`
	Created  time.Time `json:"created"`
	Last     time.Time `json:"last,omitzero"` // the last time that it was due
}

// Title returns a job's ID and name.
func (j Job) Title() string {
	if j.Name == "" {
		return j.ID
	}
	return j.ID + " (" + j.Name + ")"
}

// Next returns when the job is due next, in a location, or the zero time if it is never due again.
func (j Job) Next(l *time.Location) time.Time {
	c, err := Parse(j.Schedule)
	if err != nil || j.Once && !j.Last.IsZero() {
		return time.Time{}
	}
	after := j.Created
	if j.Last.After(after) {
		after = j.Last
	}
	next := c.Next(after.In(l))
	if !j.Once && next.Sub(j.Created) > Lifetime {
		return time.Time{}
	}
	return next
}

// Table holds a session's jobs. The zero value is empty.
type Table struct {
	jobs []Job
	made int // the last ID's number
}

// New checks a job and returns it with a new ID, for Add.
func (t *Table) New(j Job) (Job, error) {
	if _, err := Parse(j.Schedule); err != nil {
		return j, err
	}
	switch {
	case j.Prompt == "":
		return j, fmt.Errorf("the prompt is empty")
	case len(j.Prompt) > MaxPrompt || len(j.Name) > 100:
		return j, fmt.Errorf("the prompt or the name is too long: use at most %d and 100 bytes", MaxPrompt)
	case len(t.jobs) >= MaxJobs:
		return j, fmt.Errorf("there are already %d jobs, which is the maximum; delete one first", MaxJobs)
	}
	j.ID, j.Last = strconv.Itoa(t.made+1), time.Time{}
	if j.Next(j.Created.Location()).IsZero() {
		return j, fmt.Errorf(
			"the schedule %q is not due in the next %d days, after which repeated jobs expire; set once to run it at its next time",
			j.Schedule, Lifetime/(24*time.Hour),
		)
	}
	return j, nil
}

// Add adds a job that New returned. Adding it again has no effect, even after it was deleted.
func (t *Table) Add(j Job) {
	n, err := strconv.Atoi(j.ID)
	if err != nil || n <= t.made {
		return
	}
	t.made = n
	t.jobs = append(t.jobs, j)
}

// Delete removes a job and reports whether it existed.
func (t *Table) Delete(id string) bool {
	n := len(t.jobs)
	t.jobs = slices.DeleteFunc(t.jobs, func(j Job) bool { return j.ID == id })
	return len(t.jobs) < n
}

// Clear removes all jobs.
func (t *Table) Clear() { t.jobs = nil }

// Jobs lists the jobs in order of creation.
func (t *Table) Jobs() []Job { return slices.Clone(t.jobs) }

// Ran records that a job was due at a time. A job that runs once is removed.
func (t *Table) Ran(id string, due time.Time) {
	for i := range t.jobs {
		if j := &t.jobs[i]; j.ID == id && due.After(j.Last) {
			j.Last = due
		}
	}
	t.jobs = slices.DeleteFunc(t.jobs, func(j Job) bool { return j.Once && !j.Last.IsZero() })
}

// Skip marks all jobs that are due now as run.
func (t *Table) Skip(now time.Time) {
	for _, d := range t.Due(now) {
		t.Ran(d.ID, d.At)
	}
}

// Due is a job that is due. It became due Times times since it last ran, most recently at At.
type Due struct {
	Job
	At    time.Time
	Times int
}

// maxTimes is the maximum of Due.Times.
const maxTimes = 1000

// Due lists the jobs that are due now, each once, in the location of now.
func (t *Table) Due(now time.Time) (list []Due) {
	for _, j := range t.jobs {
		d := Due{Job: j}
		for next := j.Next(now.Location()); !next.IsZero() && !next.After(now) && d.Times < maxTimes; next = j.Next(now.Location()) {
			d.At, d.Times = next, d.Times+1
			if j.Last = next; j.Once {
				break
			}
		}
		if d.Times == maxTimes { // skip the rest
			d.At = now
		}
		if d.Times > 0 {
			list = append(list, d)
		}
	}
	return list
}

// Next returns when the next job is due, in a location, or the zero time without jobs.
func (t *Table) Next(l *time.Location) (first time.Time) {
	for _, j := range t.jobs {
		if next := j.Next(l); !next.IsZero() && (first.IsZero() || next.Before(first)) {
			first = next
		}
	}
	return first
}
