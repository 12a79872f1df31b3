// Package envtest has the suite that every [env.Environment] must pass. An implementation calls [Run] from one of its
// tests. [Memory] is an environment that passes it.
//
// The commands in the suite need a POSIX shell with echo, printf, cat, sleep, test and seq. An environment without
// commands sets [Subject].NoCommands.
package envtest

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/reins-agent/reins/env"
)

// patience is the timeout for anything that must happen.
const patience = time.Minute

// Subject is an implementation to test.
type Subject struct {
	// New returns a new environment with an empty working directory. The suite closes it.
	//
	// An environment that refuses writes with [env.ErrReadOnly] must refuse every change and every
	// command. The suite writes its files through the environment underneath, so it must be an
	// [env.Wrapper] that does not translate paths.
	New func(t *testing.T) env.Environment
	// NoCommands is set for an environment that does not run commands. It must refuse them with
	// [env.ErrNoCommands] and have no shell.
	NoCommands bool
}

// Run tests an implementation.
func Run(t *testing.T, s Subject) {
	t.Helper()
	_, _, readOnly := s.fixture(t)
	s.run(t, readTests)
	switch {
	case readOnly:
		s.run(t, readOnlyTests)
		return
	case s.NoCommands:
		s.run(t, noCommandTests)
	default:
		s.run(t, processTests)
	}
	s.run(t, writeTests)
	s.run(t, closeTests)
}

// test is one test in the suite. e is the subject, and w can write to the same files.
type test struct {
	name string
	run  func(t *testing.T, e, w env.Environment)
}

func (s Subject) run(t *testing.T, tests []test) {
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, w, _ := s.fixture(t)
			tt.run(t, e, w)
		})
	}
}

// fixture returns a new environment, another that can write to its files, and whether they differ.
func (s Subject) fixture(t *testing.T) (e, w env.Environment, readOnly bool) {
	t.Helper()
	e = s.New(t)
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	w = e
	for {
		err := w.WriteFile(t.Context(), "probe", nil, 0o644)
		if err == nil {
			break
		}
		below, ok := w.(env.Wrapper)
		if !ok || !errors.Is(err, env.ErrReadOnly) {
			t.Fatalf("cannot write to the new environment: %v", err)
		}
		w, readOnly = below.Unwrap(), true
	}
	if err := w.Remove(t.Context(), "probe"); err != nil {
		t.Fatal(err)
	}
	return e, w, readOnly
}

func put(t *testing.T, w env.Environment, path, content string) {
	t.Helper()
	if err := w.WriteFile(t.Context(), path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, e env.Environment, path string) string {
	t.Helper()
	data, err := env.ReadFile(t.Context(), e, path, 0)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// names lists a directory.
func names(t *testing.T, e env.Environment, path string) []string {
	t.Helper()
	list, err := e.ReadDir(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, fi := range list {
		out = append(out, fi.Name)
	}
	return out
}

// wantErr checks that an error wraps kind.
func wantErr(t *testing.T, what string, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("%s: got error %v, want %q", what, err, kind)
	}
}

// start starts a command and fails the test if it cannot.
func start(t *testing.T, e env.Environment, c env.Command) env.Process {
	t.Helper()
	p, err := e.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// finish waits for a process to end.
func finish(t *testing.T, p env.Process) env.Exit {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	x, err := p.Wait(ctx)
	if err != nil {
		t.Fatalf("Wait: %v; output so far: %q", err, output(t, p, env.Both))
	}
	return x
}

// output returns everything printed on a stream.
func output(t *testing.T, p env.Process, s env.Stream) string {
	t.Helper()
	r := p.Output(s, 0)
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// await polls until a condition holds.
func await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-deadline:
			t.Fatalf("timeout waiting for: %s", what)
		case <-tick.C:
		}
	}
}
