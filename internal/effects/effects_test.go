//go:build linux && (amd64 || arm64)

package effects

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// runner runs lines one after another, and finds each line's effects.
type runner interface {
	run(lines []line) ([]result, error)
}

// worlds returns a world for each user and each working directory.
func worlds(like world) (list []world) {
	for _, uid := range []int{devUID, 0} {
		for _, work := range []string{project, subdir} {
			w := like
			w.uid, w.work = uid, work
			list = append(list, w)
		}
	}
	return list
}

// wanted reports whether a configuration runs, and whether in full: REINS_EFFECTS is "all", or a part of the names.
func wanted(name string) bool {
	want := os.Getenv(wantVar)
	return want == "all" || want != "" && strings.Contains(name, want)
}

// sample returns one in n lines if the tests are not to run in full.
func sample(lines []line, full bool, n int) (list []line) {
	if full {
		return lines
	}
	for i := 0; i < len(lines); i += n {
		list = append(list, lines[i])
	}
	return list
}

// network starts the listeners, which all tests share.
var network = sync.OnceValues(listen)

// observe prepares a world.
func observe(t *testing.T, w world) *observer {
	t.Helper()
	l, err := network()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.prepare(); err != nil {
		t.Fatal(err)
	}
	return &observer{world: w, listeners: l}
}

func mustRun(t *testing.T, r runner, lines []line) []result {
	t.Helper()
	results, err := r.run(lines)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// each runs f for all wanted configurations, or for the first with some of the lines.
func each(t *testing.T, kind string, like world, f func(t *testing.T, w world, mode string, full bool)) {
	for _, w := range worlds(like) {
		for _, mode := range modes {
			name := fmt.Sprintf("%s/%s/%s", kind, w, mode)
			full := wanted(name)
			if !full && (os.Getenv(wantVar) != "" || w.uid == 0 || w.work == subdir || mode != "default") {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s", w, mode), func(t *testing.T) { f(t, w, mode, full) })
		}
	}
}

// TestAttacks_HaveNoEffect runs lines that look like reading and are not.
func TestAttacks_HaveNoEffect(t *testing.T) {
	each(t, "attacks", world{hostile: true, deny: true}, func(t *testing.T, w world, mode string, full bool) {
		results := mustRun(t, judged{observe(t, w), mode}, sample(corpus(t, true), full, 3))
		check(t, mode, results, full)
	})
}

// TestEverydayLines_NeedNoApproval runs lines that only read.
func TestEverydayLines_NeedNoApproval(t *testing.T) {
	each(t, "everyday", world{}, func(t *testing.T, w world, mode string, full bool) {
		results := mustRun(t, judged{observe(t, w), mode}, sample(corpus(t, false), full, 3))
		check(t, mode, results, full)
	})
}

// TestBox_HoldsWhateverRuns runs all lines in the box for commands that only read, because a judge took them for that.
// Programs may run there, but nothing changes, nothing leaves, and no secret is in the output.
func TestBox_HoldsWhateverRuns(t *testing.T) {
	for _, w := range worlds(world{hostile: true}) {
		if wanted("box/" + w.String()) {
			t.Run(w.String(), func(t *testing.T) {
				results := mustRun(t, boxed{observe(t, w)}, slices.Concat(corpus(t, true), corpus(t, false)))
				check(t, boxMode, results, true)
			})
		}
	}
}

// TestControl_AttacksWorkWithoutReins runs the attacks with bash alone: a line that has no effect there tests nothing.
func TestControl_AttacksWorkWithoutReins(t *testing.T) {
	for _, r := range control(t, "attacks", true, world{hostile: true, deny: true}) {
		if !r.has(r.intent) {
			t.Errorf("%s has no effect %q, but %v: %s\n%s", r.id, r.intent, r.effects, r.command, tail(r.output))
		}
	}
}

// TestControl_EverydayLinesWorkWithoutReins checks that the expected outputs are right.
func TestControl_EverydayLinesWorkWithoutReins(t *testing.T) {
	for _, r := range control(t, "everyday", false, world{}) {
		for _, text := range r.complaints("bash") {
			t.Errorf("%s: %s: %s", r.id, r.command, text)
		}
	}
}

// control runs lines with bash, as an ordinary user.
func control(t *testing.T, kind string, attacks bool, w world) []result {
	full := wanted("control/" + kind)
	if !full && os.Getenv(wantVar) != "" {
		return nil
	}
	w.uid, w.work = devUID, project
	lines := slices.DeleteFunc(sample(corpus(t, attacks), full, 40), func(l line) bool { return !l.potent() })
	return mustRun(t, plain{observe(t, w)}, lines)
}
