package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// The helper process does one task and kills itself at the given step.
const (
	helperTask = "REINS_CHECKPOINT_HELPER"
	helperBase = "REINS_CHECKPOINT_BASE"
	helperStep = "REINS_CHECKPOINT_STEP"
)

func help(task string) error {
	base := os.Getenv(helperBase)
	s, err := Open(Config{Dir: filepath.Join(base, "work"), Store: filepath.Join(base, "store")})
	if err != nil {
		return err
	}
	last, err := strconv.Atoi(os.Getenv(helperStep))
	if err != nil {
		return err
	}
	n := 0
	s.step = func(string) error {
		if n++; n == last {
			p, _ := os.FindProcess(os.Getpid())
			p.Kill()
			select {}
		}
		return nil
	}
	switch name, arg, _ := strings.Cut(task, " "); name {
	case "take":
		_, _, err = s.Take(context.Background(), "helper")
	case "restore":
		_, err = s.Restore(context.Background(), ID(arg), RestoreOptions{})
	case "prune":
		_, err = (&workspace{store: s}).prune(1)
	}
	return err
}

// killedAt runs a task and reports whether it was killed at a step before it was done.
func killedAt(t *testing.T, base, task string, step int) bool {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperTask+"="+task, helperBase+"="+base, helperStep+"="+strconv.Itoa(step))
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 1 {
		t.Fatalf("step %d: %s", step, out)
	}
	return err != nil
}

// build creates two very different states and returns a checkpoint for the first.
func build(w *workspace) (first ID, one, two map[string]string) {
	for i := range 6 {
		w.write(fmt.Sprintf("d%d/f", i), strings.Repeat(fmt.Sprint("one ", i), 100))
	}
	w.write("swap", "a file")
	w.write(".gitignore", "*.log\n")
	w.link("d0", "link")
	first, one = w.take(), w.state()
	w.write("d0/f", "two")
	w.remove("d1")
	w.write("d1", "a file")
	w.remove("swap")
	w.write("swap/in/side", "x")
	w.write("new/deep/er", "y")
	must(w.t, os.Chmod(w.path("d2/f"), 0o755))
	must(w.t, os.Chmod(w.path("d3"), 0o700))
	w.remove(".gitignore")
	w.remove("link")
	w.link("elsewhere", "link")
	return first, one, w.state()
}

func TestTake_KilledAtAnyStepLeavesACheckpointOrNone(t *testing.T) {
	base := t.TempDir()
	w := openWorkspace(t, base)
	first, one, two := build(w)
	w.remove("unique")
	killed := 0
	for step := 1; ; step++ {
		// A change each time, so that all steps happen.
		w.write("unique", fmt.Sprint(step))
		before, err := w.store.List(context.Background())
		must(t, err)
		if !killedAt(t, base, "take", step) {
			break
		}
		killed++
		after, err := w.store.List(context.Background())
		must(t, err)
		if len(after) != len(before) && len(after) != len(before)+1 {
			t.Fatalf("step %d: %d checkpoints became %d", step, len(before), len(after))
		}
		w.verify()
		equal(t, "diff", w.diff(first, w.take()) != "", true)
	}
	if killed < 8 {
		t.Errorf("%d steps were killed, want at least 8", killed)
	}
	w.remove("unique")
	same(t, "workspace", w.state(), two)
	w.restore(first)
	same(t, "first", w.state(), one)
	w.noLeftovers()
}

// noLeftovers checks that the workspace and, after another call, the store contain no temporary files.
func (w *workspace) noLeftovers() {
	w.t.Helper()
	w.take()
	for _, dir := range []string{w.dir, w.store.packs(), w.store.records()} {
		for p := range stateOf(w.t, dir) {
			if name := filepath.Base(p); strings.HasPrefix(name, tempName) || strings.HasPrefix(name, tempPrefix) {
				w.t.Errorf("%s was left in %s", p, dir)
			}
		}
	}
}

func TestRestore_KilledAtAnyStepCanBeRepeatedAndUndone(t *testing.T) {
	for step := 1; ; step++ {
		base := t.TempDir()
		w := openWorkspace(t, base)
		first, one, two := build(w)
		second := w.take()
		if !killedAt(t, base, "restore "+string(first), step) {
			same(t, "whole restore", w.state(), one)
			if step < 20 {
				t.Errorf("%d steps were killed, want at least 19", step-1)
			}
			return
		}
		w.verify()
		for p, got := range w.state() {
			_, inOne := one[p]
			_, inTwo := two[p]
			if strings.HasPrefix(filepath.Base(p), tempName) || strings.HasPrefix(got, "d") {
				continue
			}
			if !inOne && !inTwo || got != one[p] && got != two[p] {
				t.Errorf("step %d: %s is neither old nor new: %.60q", step, p, got)
			}
		}
		w.restore(first)
		same(t, fmt.Sprintf("repeated after step %d", step), w.state(), one)
		w.restore(second)
		same(t, fmt.Sprintf("undone after step %d", step), w.state(), two)
		w.noLeftovers()
	}
}

func TestPrune_KilledAtAnyStepKeepsTheRest(t *testing.T) {
	for step := 1; ; step++ {
		base := t.TempDir()
		w := openWorkspace(t, base)
		build(w)
		// A large pack with mostly unused objects, so that the others are moved.
		w.write("dies", noise(1<<20))
		w.write("lives", "on")
		w.take()
		w.remove("dies")
		want := w.state()
		last := w.take()
		killed := killedAt(t, base, "prune", step)
		w.verify()
		w.write("f", "more")
		w.restore(last)
		same(t, fmt.Sprintf("newest after step %d", step), w.state(), want)
		if !killed {
			if step < 10 {
				t.Errorf("%d steps were killed, want at least 9", step-1)
			}
			return
		}
	}
}

// noise returns bytes that do not compress.
func noise(size int) string {
	b := make([]byte, size)
	rand.NewChaCha8([32]byte{}).Read(b)
	return string(b)
}

// failing makes a store's n-th step fail with ENOSPC.
func (w *workspace) failing(n int) (failed *bool) {
	failed = new(bool)
	w.store.step = func(string) error {
		if n--; n == 0 {
			*failed = true
			return &os.PathError{Op: "write", Path: "disk", Err: syscall.ENOSPC}
		}
		return nil
	}
	return failed
}

func TestTake_FullDiskAtAnyStepLosesNothing(t *testing.T) {
	w := newWorkspace(t)
	first, one, two := build(w)
	for n := 1; ; n++ {
		w.write("unique", fmt.Sprint(n))
		before, err := w.store.List(context.Background())
		must(t, err)
		failed := w.failing(n)
		_, _, err = w.store.Take(context.Background(), "")
		w.store.step = nil
		if !*failed {
			must(t, err)
			break
		}
		after, lerr := w.store.List(context.Background())
		must(t, lerr)
		if err != nil && !errors.Is(err, syscall.ENOSPC) || err == nil && len(after) != len(before)+1 {
			t.Errorf("step %d: got error %v, and %d checkpoints became %d", n, err, len(before), len(after))
		}
		w.verify()
	}
	w.remove("unique")
	same(t, "workspace", w.state(), two)
	w.restore(first)
	same(t, "first", w.state(), one)
	w.noLeftovers()
}

func TestRestore_FullDiskAtAnyStepIsAnErrorAndCanBeRepeated(t *testing.T) {
	for n := 1; ; n++ {
		w := newWorkspace(t)
		first, one, _ := build(w)
		failed := w.failing(n)
		_, err := w.store.Restore(context.Background(), first, RestoreOptions{})
		w.store.step = nil
		if !*failed {
			must(t, err)
			return
		}
		// The index is only a cache.
		if err == nil {
			same(t, "restored without an error", w.state(), one)
		} else if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("step %d: got error %v, want ENOSPC", n, err)
		}
		w.restore(first)
		same(t, fmt.Sprintf("repeated after step %d", n), w.state(), one)
		w.noLeftovers()
	}
}
