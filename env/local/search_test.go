package local_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/env/search"
)

func TestSearch_LocalAnswersItselfAlsoBelowWrappers(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("needle\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := local.New(local.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, ok := env.As[search.Searcher](env.ReadOnly(e)); !ok {
		t.Error("the search is not found below a wrapper")
	}
	for name, place := range map[string]env.Environment{"local": e, "read-only": env.ReadOnly(e), "scoped": env.Scoped(e, dir)} {
		sum, err := search.Grep(t.Context(), place, search.GrepQuery{Pattern: "needle"}, func(search.FileMatch) bool { return true })
		if err != nil || sum.Matches != 1 {
			t.Errorf("%s: %+v, %v", name, sum, err)
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
	sum, err := e.Grep(t.Context(), search.GrepQuery{Pattern: "needle", Follow: true}, func(search.FileMatch) bool { return true })
	if err != nil || sum.Matches != 0 {
		t.Errorf("following links finds %+v, %v", sum, err)
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
