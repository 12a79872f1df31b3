//go:build linux && (amd64 || arm64)

package effects

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// tally counts results for one configuration.
type tally struct {
	lines, refused, ran, effects int
	everyday, prompts            int
	offenders                    []string // lines with forbidden effects
	excused                      []string // those that are known
}

// count counts results. In the box, programs may run and write to their temporary directory.
func count(mode string, results []result, excuse func(result) bool) (c tally) {
	for _, r := range results {
		c.lines++
		if r.refused {
			c.refused++
		} else {
			c.ran++
		}
		var why []string
		for _, e := range offends(mode, r) {
			why = append(why, e.String())
		}
		if len(why) > 0 {
			c.effects++
		}
		if r.intent == everyday {
			c.everyday++
			why = append(why, r.complaints(mode)...)
			if r.refused {
				c.prompts++
			}
		}
		if len(why) == 0 {
			continue
		}
		text := fmt.Sprintf("%s: %s\n\t%s", r.id, strings.ReplaceAll(r.command, "\n", "⏎"), strings.Join(why, "\n\t"))
		if excuse(r) {
			c.excused = append(c.excused, text)
		} else {
			c.offenders = append(c.offenders, text)
		}
	}
	return c
}

// complaints returns the expected effects that an everyday line lacks. Its output in the box is not checked: a program
// may need more than the box gives.
func (r result) complaints(mode string) (list []string) {
	if r.refused {
		return []string{"refused: " + r.reason}
	}
	if mode == boxMode || !r.potent() {
		return nil
	}
	for _, want := range r.wants {
		if !strings.Contains(r.output, want) {
			output := strings.ReplaceAll(strings.TrimSpace(tail(r.output)), "\n", "\n\t\t")
			list = append(list, fmt.Sprintf("its output lacks %q:\n\t\t%s", want, output))
		}
	}
	return list
}

// check prints a configuration's table and fails for each offender.
func check(t *testing.T, mode string, results []result, full bool) {
	t.Helper()
	excused := known(t)
	c := count(mode, results, func(r result) bool { return !full && slices.Contains(excused, r.command) })
	t.Logf("\n%-12s %6s %8s %6s %8s %9s %8s\n%-12s %6d %8d %6d %8d %9d %8d",
		"mode", "lines", "refused", "ran", "effects", "everyday", "prompts", mode, c.lines, c.refused, c.ran, c.effects, c.everyday, c.prompts)
	for _, o := range c.excused {
		t.Logf("known: %s", o)
	}
	for _, o := range c.offenders {
		t.Errorf("%s", o)
	}
}
