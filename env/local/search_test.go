//go:build unix

package local_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/internal/search"
)

func TestSearch_LocalAnswersItselfAlsoBelowWrappers(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir, "sub/a", "b")
	e := newEnv(t, local.Config{Dir: dir})
	for name, wrap := range map[string]func(e env.Environment) env.Environment{
		"plain":     func(e env.Environment) env.Environment { return e },
		"read-only": func(e env.Environment) env.Environment { return env.ReadOnly(e) },
		"scoped":    func(e env.Environment) env.Environment { return env.Scoped(e, "sub") },
	} {
		// The log shows who answered: the environment's own search is one record, the generic search
		// opens files.
		var log strings.Builder
		l := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		sum, err := search.Grep(t.Context(), wrap(env.Logged(e, l)), search.GrepQuery{Pattern: "sub/a"}, func(search.FileMatch) bool { return true })
		if err != nil || sum.Matches != 1 {
			t.Errorf("%s: %+v, %v", name, sum, err)
		}
		if text := log.String(); strings.Count(text, "msg=grep") != 1 || strings.Contains(text, "msg=open") {
			t.Errorf("%s: the environment did not answer itself:\n%s", name, text)
		}
	}
}

func TestSearch_ScopeIsKeptThroughSymbolicLinks(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir, "out/secret", "sub/f", "sub/dir -> ../out", "sub/file -> ../out/secret", "sub/in -> f")
	s := env.Scoped(newEnv(t, local.Config{Dir: dir}), "sub")
	for _, path := range []string{"dir", "file", "dir/secret"} {
		_, err := search.Grep(t.Context(), s, search.GrepQuery{Pattern: ".", Path: path}, func(m search.FileMatch) bool {
			t.Errorf("in %s: found %s", path, m.Path)
			return true
		})
		if !errors.Is(err, env.ErrOutside) {
			t.Errorf("grep in %s: %v, want ErrOutside", path, err)
		}
	}
	for _, pattern := range []string{"dir/*", "dir/**"} {
		if res, err := search.Glob(t.Context(), s, search.GlobQuery{Pattern: pattern}); !errors.Is(err, env.ErrOutside) {
			t.Errorf("glob %s: %v, %v, want ErrOutside", pattern, res.Files, err)
		}
	}
	var found []string
	_, err := search.Grep(t.Context(), s, search.GrepQuery{Pattern: "."}, func(m search.FileMatch) bool {
		found = append(found, m.Path)
		return true
	})
	if err != nil || !slices.Equal(found, []string{"f"}) {
		t.Errorf("found %q, %v, want only f", found, err)
	}
}

func TestSearch_ErrorsAreThoseOfEnvironments(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir, "f")
	for _, roots := range [][]string{nil, {"."}} {
		e := newEnv(t, local.Config{Dir: dir, Roots: roots})
		if _, err := e.Grep(t.Context(), search.GrepQuery{Pattern: "x", Path: "f/x"}, nil); !errors.Is(err, env.ErrNotDir) {
			t.Errorf("roots %v: grep below a file: %v", roots, err)
		}
		if _, err := e.Glob(t.Context(), search.GlobQuery{Pattern: "*", Path: "f"}); !errors.Is(err, env.ErrNotDir) {
			t.Errorf("roots %v: glob in a file: %v", roots, err)
		}
		name := strings.Repeat("x", 5000)
		if _, err := e.Grep(t.Context(), search.GrepQuery{Pattern: "x", Path: name}, nil); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("roots %v: a long name: %v", roots, err)
		}
		if err := e.WriteFile(t.Context(), name, nil, 0o644); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("roots %v: writing a long name: %v", roots, err)
		}
	}
}

func TestSearch_ConfinedSearchStaysInside(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret.txt"), []byte("needle\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	e, err := local.New(local.Config{Dir: dir, Roots: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, path := range []string{outside, "link", "../" + filepath.Base(outside)} {
		_, err := e.Grep(t.Context(), search.GrepQuery{Pattern: "needle", Path: path}, func(m search.FileMatch) bool {
			t.Errorf("%s: found %s", path, m.Path)
			return true
		})
		if err == nil {
			t.Errorf("%s was searched", path)
		}
	}
	sum, err := e.Grep(t.Context(), search.GrepQuery{Pattern: "needle"}, func(search.FileMatch) bool { return true })
	if err != nil || sum.Matches != 0 {
		t.Errorf("found %+v, %v, want nothing", sum, err)
	}
	if _, err := e.Glob(t.Context(), search.GlobQuery{Pattern: "*", Path: outside}); !errors.Is(err, env.ErrOutside) {
		t.Errorf("glob outside: %v", err)
	}
	closed, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Glob(closed, search.GlobQuery{Pattern: "*"}); err == nil {
		t.Error("a search after the end of its context succeeded")
	}
}
