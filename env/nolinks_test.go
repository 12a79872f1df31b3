package env_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/reins-agent/reins/env"
)

// remote is an environment without its own NoLinks view. Its hook runs before each change and each read.
type remote struct {
	env.Environment
	before func()
}

func (r remote) WriteFile(ctx context.Context, path string, data []byte, perm os.FileMode) error {
	r.before()
	return r.Environment.WriteFile(ctx, path, data, perm)
}

func TestNoLinks_EveryEnvironmentRefusesLinks(t *testing.T) {
	l := newLocal(t)
	dir, err := filepath.EvalSymlinks(l.Info().Dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if err := l.WriteFile(ctx, "d/f", []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("d", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for name, e := range map[string]env.Environment{
		"other": remote{l, func() {}}, "scoped": env.Scoped(l, "."), "read-only": env.ReadOnly(l),
	} {
		view := env.NoLinks(e)
		for op, f := range map[string]func(path string) error{
			"stat":   func(p string) error { _, err := view.Stat(ctx, p); return err },
			"lstat":  func(p string) error { _, err := view.Lstat(ctx, p); return err },
			"open":   func(p string) error { _, err := env.ReadFile(ctx, view, p, 0); return err },
			"list":   func(p string) error { _, err := view.ReadDir(ctx, p); return err },
			"write":  func(p string) error { return view.WriteFile(ctx, p, []byte("text"), 0o644) },
			"remove": func(p string) error { return view.Remove(ctx, p) },
			"rename": func(p string) error { return view.Rename(ctx, p, filepath.Join(dir, "d/g")) },
			"mkdir":  func(p string) error { return view.Mkdir(ctx, p, 0o755) },
			"start":  func(p string) error { _, err := view.Start(ctx, env.Command{Line: "true", Dir: p}); return err },
		} {
			err := f(filepath.Join(dir, "link/f"))
			if !errors.Is(err, env.ErrLink) && !(name == "read-only" && errors.Is(err, env.ErrReadOnly)) {
				t.Errorf("%s: %s through a link: %v, want ErrLink", name, op, err)
			}
		}
		if text, err := env.ReadFile(ctx, view, filepath.Join(dir, "d/f"), 0); string(text) != "text" || err != nil {
			t.Errorf("%s: d/f has %q, %v", name, text, err)
		}
	}
	swap := remote{l, func() {
		os.Rename(filepath.Join(dir, "d"), filepath.Join(dir, "away"))
		os.Symlink("away", filepath.Join(dir, "d"))
	}}
	if err := env.NoLinks(swap).WriteFile(ctx, filepath.Join(dir, "d/f"), nil, 0o644); !errors.Is(err, env.ErrLink) {
		t.Errorf("a link was swapped in before the write: %v, want ErrLink", err)
	}
}
