package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
)

// A runner tries mutants. The sources stay as they are: the compiler sees each change through an
// overlay. Tests run in a local environment, with a home and temporary files in a directory that is
// removed afterwards, and no process outlives them.
type runner struct {
	root    string // module root
	temp    string
	timeout time.Duration
	env     *local.Env

	mu    sync.Mutex
	clean map[tests]func() error // whether tests pass without a mutant
}

func newRunner(ctx context.Context, timeout time.Duration) (*runner, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOCACHE", "GOMODCACHE", "GOMOD").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	vars := strings.Split(string(out), "\n")
	temp, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return nil, err
	}
	home, tmp := filepath.Join(temp, "home"), filepath.Join(temp, "tmp")
	// Some tests become another user, who must be able to enter.
	if err := errors.Join(os.Chmod(temp, 0o755), os.Mkdir(home, 0o755), os.Mkdir(tmp, 0o755)); err != nil {
		return nil, err
	}
	e, err := local.New(local.Config{Vars: map[string]string{
		"HOME": home, "TMPDIR": tmp, "GOCACHE": vars[0], "GOMODCACHE": vars[1],
	}})
	return &runner{
		root:    filepath.Dir(vars[2]),
		temp:    temp,
		timeout: timeout,
		env:     e,
		clean:   map[tests]func() error{},
	}, err
}

func (r *runner) close() {
	r.env.Close()
	os.RemoveAll(r.temp)
}

// A verdict is the result of trying a mutant. It is good if a test noticed the mutant, or if none can.
type verdict struct {
	good bool
	text string
}

// try applies a mutant and runs its tests until one fails.
func (r *runner) try(ctx context.Context, m *mutant) verdict {
	dir, err := os.MkdirTemp(r.temp, "mutant-")
	if err != nil {
		return verdict{false, err.Error()}
	}
	defer os.RemoveAll(dir)
	overlay, err := r.overlay(m, dir)
	if err != nil {
		return verdict{false, "DOES NOT APPLY: " + err.Error()}
	}
	for _, t := range m.tests {
		if err := r.passes(ctx, t); err != nil {
			return verdict{false, fmt.Sprintf("CANNOT TELL: the tests fail without it: %v", err)}
		}
		failure, err := r.test(ctx, t, dir, "-overlay="+overlay)
		switch {
		case err != nil:
			return verdict{false, "DOES NOT RUN: " + err.Error()}
		case failure != "" && m.survives != "":
			return verdict{false, "NOTICED by " + failure + ", so it does not survive: " + m.survives}
		case failure != "":
			return verdict{true, "noticed by " + failure}
		}
	}
	if m.survives != "" {
		return verdict{true, "survives: " + m.survives}
	}
	return verdict{false, "SURVIVED"}
}

// overlay writes the changed file, and the overlay that puts it in place of the original.
func (r *runner) overlay(m *mutant, dir string) (string, error) {
	original, text, err := m.apply(r.root)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(dir, "changed.go")
	if err := os.WriteFile(changed, text, 0o600); err != nil {
		return "", err
	}
	replace := map[string]map[string]string{"Replace": {original: changed}}
	b, err := json.Marshal(replace)
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, b, 0o600)
}

// passes returns why tests fail without a mutant, or nil. It runs them once.
func (r *runner) passes(ctx context.Context, t tests) error {
	r.mu.Lock()
	once, ok := r.clean[t]
	if !ok {
		once = sync.OnceValue(func() error {
			dir, err := os.MkdirTemp(r.temp, "clean-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(dir)
			failure, err := r.test(ctx, t, dir)
			if err == nil && failure != "" {
				err = fmt.Errorf("%s %s: %s", t.pkg, t.run, failure)
			}
			return err
		})
		r.clean[t] = once
	}
	r.mu.Unlock()
	return once()
}

// test builds and runs tests. It returns the first failure, or "".
func (r *runner) test(ctx context.Context, t tests, dir string, flags ...string) (failure string, err error) {
	binary := filepath.Join(dir, "tests")
	build := exec.CommandContext(ctx, "go", append(append([]string{"test", "-c", "-o", binary}, flags...), t.pkg)...)
	build.Dir = r.root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", t.pkg, err, out)
	}
	args := []string{binary, "-test.failfast", "-test.timeout=" + r.timeout.String(), "-test.run=" + t.run}
	if r.usesRapid(ctx, t.pkg) {
		args = append(args, "-rapid.nofailfile") // it would be written beside the sources
	}
	result, err := env.Exec(ctx, r.env, env.Command{Args: args, Dir: filepath.Join(r.root, t.pkg), Timeout: r.timeout + time.Minute})
	switch {
	case err != nil:
		return "", err
	case result.Code == 0 && strings.Contains(result.Combined, "no tests to run"):
		return "", fmt.Errorf("no test of %s matches %q", t.pkg, t.run)
	case result.Code == 0:
		return "", nil
	}
	return firstFailure(result.Combined), nil
}

// usesRapid reports whether a package's tests have rapid's flags.
func (r *runner) usesRapid(ctx context.Context, pkg string) bool {
	list := exec.CommandContext(ctx, "go", "list", "-f", "{{.TestImports}} {{.XTestImports}}", pkg)
	list.Dir = r.root
	out, err := list.Output()
	return err == nil && strings.Contains(string(out), "pgregory.net/rapid")
}

var (
	failed   = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	timedOut = regexp.MustCompile(`(?m)^panic: test timed out after (\S+)(?s:.*?)(Test\w+)`)
	panicked = regexp.MustCompile(`(?m)^(?:panic|fatal error): (.*)`)
)

// firstFailure returns in a few words what failed.
func firstFailure(output string) string {
	if m := timedOut.FindStringSubmatch(output); m != nil {
		return m[2] + ", by a timeout of " + m[1]
	}
	if all := failed.FindAllStringSubmatch(output, -1); len(all) > 0 {
		return all[len(all)-1][1] // the innermost
	}
	if m := panicked.FindStringSubmatch(output); m != nil {
		return "a panic: " + m[1]
	}
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return lines[len(lines)-1]
}
