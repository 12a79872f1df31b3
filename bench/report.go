package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Rounds per run, for every contestant.
const (
	short  = 20
	middle = 200
)

// result is one contestant's measurement.
type result struct {
	contestant
	samples map[int][]sample // by rounds
}

func (r *result) add(rounds int, s sample) {
	if r.samples == nil {
		r.samples = map[int][]sample{}
	}
	r.samples[rounds] = append(r.samples[rounds], s)
}

// long returns the number of rounds in the longest runs.
func (r *result) long() int {
	most := 0
	for n := range r.samples {
		most = max(most, n)
	}
	return most
}

func median[T cmp.Ordered](values []T) (zero T) {
	if len(values) == 0 {
		return zero
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// of returns a figure's median over the runs with this many rounds.
func of[T cmp.Ordered](r *result, rounds int, figure func(sample) T) T {
	var values []T
	for _, s := range r.samples[rounds] {
		values = append(values, figure(s))
	}
	return median(values)
}

// start returns the median time to the first request, over all runs.
func (r *result) start() time.Duration {
	var values []time.Duration
	for _, samples := range r.samples {
		for _, s := range samples {
			values = append(values, s.first)
		}
	}
	return median(values)
}

func (r *result) startCPU() time.Duration {
	return of(r, 0, func(s sample) time.Duration { return s.cpu })
}

// roundCPU returns the CPU time of one round, without the start, in the middle runs.
func (r *result) roundCPU() time.Duration {
	return (of(r, middle, func(s sample) time.Duration { return s.cpu }) - r.startCPU()) / middle
}

// early returns the median turnaround around the tenth round.
func (r *result) early() time.Duration {
	var values []time.Duration
	for _, samples := range r.samples {
		for _, s := range samples {
			if len(s.turnaround) >= short {
				values = append(values, s.turnaround[5:15]...)
			}
		}
	}
	return median(values)
}

// edges returns the median turnarounds in the first and the last 20 rounds of the longest runs.
func (r *result) edges() (first, last time.Duration) {
	var firsts, lasts []time.Duration
	for _, s := range r.samples[r.long()] {
		firsts = append(firsts, s.turnaround[:short]...)
		lasts = append(lasts, s.turnaround[len(s.turnaround)-short:]...)
	}
	return median(firsts), median(lasts)
}

func (r *result) memory(rounds int) float64 {
	return float64(of(r, rounds, func(s sample) int64 { return s.memory })) / 1e6
}

func (r *result) firstSize() float64 {
	return float64(of(r, 0, func(s sample) int64 { return s.firstSize })) / 1e3
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// printTable prints the figures and their ratio to the first result, the floor.
func printTable(w io.Writer, results []*result) {
	floor := results[0]
	long := floor.long()
	fmt.Fprintf(w, "| | start → first request ms | start CPU ms | CPU per round ms (%d rounds) | turnaround at round 10 ms | "+
		"at %d rounds: first 20 → last 20 ms | peak memory at start / %d / %d rounds MB | first request kB |\n",
		middle, long, middle, long)
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|")
	for _, r := range results {
		if r.note != "" {
			continue
		}
		over := func(own, base time.Duration) string {
			return fmt.Sprintf("%.1f (%.2f ×)", ms(own), float64(own)/float64(max(base, 1)))
		}
		first, last := r.edges()
		_, floorLast := floor.edges()
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %.1f → %s | %.0f / %.0f / %.0f | %.1f |\n", r.name,
			over(r.start(), floor.start()), over(r.startCPU(), floor.startCPU()), over(r.roundCPU(), floor.roundCPU()),
			over(r.early(), floor.early()), ms(first), over(last, floorLast),
			r.memory(0), r.memory(middle), r.memory(long), r.firstSize())
	}
	for _, r := range results {
		if r.note != "" {
			fmt.Fprintf(w, "\n%s: %s\n", r.name, strings.Join(strings.Fields(r.note), " "))
		}
	}
}

// printLimits prints the figures of reins beside their limits, and reports whether all are within them.
func printLimits(w io.Writer, results []*result) bool {
	floor := results[0]
	held := true
	for _, r := range results[1:] {
		if !strings.HasPrefix(r.name, "reins") {
			continue
		}
		if r.note != "" {
			held = false
			continue
		}
		fmt.Fprintf(w, "\nLimits of %s:\n\n", r.name)
		for _, l := range limits(r, floor) {
			verdict := "ok"
			if l.value > l.maximum {
				verdict, held = "EXCEEDED", false
			}
			fmt.Fprintf(w, "- %s: %.2f of %.2f %s: %s\n", l.name, l.value, l.maximum, l.unit, verdict)
		}
	}
	return held
}

// limit is a figure and its maximum.
type limit struct {
	name           string
	value, maximum float64
	unit           string
}

// sandboxLimit is how much the sandbox may add to a command, in milliseconds.
const sandboxLimit = 0.3

func limits(r, floor *result) []limit {
	allowed, extra := 0.0, ""
	if r.box {
		allowed, extra = sandboxLimit, fmt.Sprintf(" + %v ms for the sandbox", sandboxLimit)
	}
	all := []limit{
		{"start to first request, 2 × floor + 20 ms", ms(r.start()), 2*ms(floor.start()) + 20, "ms"},
		{"turnaround at round 10, 1.5 × floor" + extra, ms(r.early()), 1.5*ms(floor.early()) + allowed, "ms"},
		{"CPU per round, 1.5 × floor" + extra, ms(r.roundCPU()), 1.5*ms(floor.roundCPU()) + allowed, "ms"},
		{fmt.Sprintf("peak memory at %d rounds", middle), r.memory(middle), 45, "MB"},
	}
	if r.long() >= 1000 {
		_, last := r.edges()
		_, floorLast := floor.edges()
		all = append(all,
			limit{fmt.Sprintf("turnaround at round %d, 1.2 × floor", r.long()) + extra, ms(last), 1.2*ms(floorLast) + allowed, "ms"},
			limit{fmt.Sprintf("peak memory at %d rounds", r.long()), r.memory(r.long()), 60, "MB"})
	}
	return all
}
