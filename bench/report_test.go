package main

import (
	"strings"
	"testing"
	"time"
)

// steady returns a result in which all runs are the same.
func steady(name string, start, cpu, turn time.Duration, memory int64) *result {
	r := &result{contestant: contestant{name: name}}
	for _, rounds := range []int{0, short, middle, 1000} {
		s := sample{first: start, cpu: start + time.Duration(rounds)*cpu, memory: memory, firstSize: 1000}
		for range rounds {
			s.turnaround = append(s.turnaround, turn)
		}
		r.add(rounds, s)
	}
	return r
}

// confined marks a result as one of commands in a sandbox.
func confined(r *result) *result {
	r.box = true
	return r
}

func TestReport_LimitsAreKeptOrExceeded(t *testing.T) {
	const ms = time.Millisecond
	floor := steady("floor", 5*ms, 2*ms, 2*ms, 10e6)
	for _, c := range []struct {
		name     string
		reins    *result
		exceeded string // a limit, or ""
	}{
		{"within", steady("reins", 30*ms, 3*ms, 2*ms, 45e6), ""},
		{"slow start", steady("reins", 31*ms, 3*ms, 2*ms, 45e6), "start to first request"},
		{"slow rounds", steady("reins", 30*ms, 3*ms, 2600*time.Microsecond, 45e6), "turnaround at round 1000"},
		{"slower rounds", steady("reins", 30*ms, 3*ms, 4*ms, 45e6), "turnaround at round 10,"},
		{"busy", steady("reins", 30*ms, 4*ms, 2*ms, 45e6), "CPU per round"},
		{"busy sandbox", confined(steady("reins", 30*ms, 3200*time.Microsecond, 2600*time.Microsecond, 45e6)), ""},
		{"too busy sandbox", confined(steady("reins", 30*ms, 3400*time.Microsecond, 2*ms, 45e6)), "CPU per round"},
		{"large", steady("reins", 30*ms, 3*ms, 2*ms, 50e6), "peak memory at 200"},
	} {
		var out strings.Builder
		held := printLimits(&out, []*result{floor, c.reins})
		if held != (c.exceeded == "") {
			t.Errorf("%s: got %v, want %v:\n%s", c.name, held, c.exceeded == "", &out)
		}
		for line := range strings.Lines(out.String()) {
			if exceeded := strings.Contains(line, "EXCEEDED"); exceeded && c.exceeded == "" || !exceeded && c.exceeded != "" && strings.Contains(line, c.exceeded) {
				t.Errorf("%s: %s", c.name, line)
			}
		}
	}
}

func TestReport_TableHasARowForEveryMeasuredContestant(t *testing.T) {
	floor := steady("floor", time.Millisecond, time.Millisecond, time.Millisecond, 1e6)
	other := steady("other", 2*time.Millisecond, 2*time.Millisecond, 3*time.Millisecond, 2e6)
	absent := &result{contestant: contestant{name: "absent", note: "not installed"}}
	var out strings.Builder
	printTable(&out, []*result{floor, other, absent})
	for _, want := range []string{"| floor | 1.0 (1.00 ×)", "| other | 2.0 (2.00 ×)", "3.0 (3.00 ×)", "\nabsent: not installed\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, &out)
		}
	}
}
