package env_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/envtest"
	"github.com/reins-agent/reins/env/local"
)

func newLocal(t testing.TB) *local.Env {
	t.Helper()
	e, err := local.New(local.Config{Dir: t.TempDir(), SpoolDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// refusedOutside checks that every operation refuses a path. link is set if the path is a link inside
// the scope; operations on the link itself are then skipped.
func refusedOutside(t *testing.T, s env.Environment, path string, link bool) {
	t.Helper()
	ctx := t.Context()
	ops := map[string]func() error{
		"Stat":      func() error { _, err := s.Stat(ctx, path); return err },
		"RealPath":  func() error { _, err := s.RealPath(ctx, path); return err },
		"Open":      func() error { _, err := s.Open(ctx, path); return err },
		"WriteFile": func() error { return s.WriteFile(ctx, path, []byte("new"), 0o644) },
		"ReadDir":   func() error { _, err := s.ReadDir(ctx, path); return err },
		"Start":     func() error { _, err := s.Start(ctx, env.Command{Line: "true", Dir: path}); return err },
	}
	if !link {
		ops["Lstat"] = func() error { _, err := s.Lstat(ctx, path); return err }
		ops["Remove"] = func() error { return s.Remove(ctx, path) }
		ops["Rename to"] = func() error { return s.Rename(ctx, "f", path) }
		ops["Rename"] = func() error { return s.Rename(ctx, path, "g") }
		ops["Mkdir"] = func() error { return s.Mkdir(ctx, path, 0o755) }
	}
	for name, op := range ops {
		if err := op(); !errors.Is(err, env.ErrOutside) {
			t.Errorf("%s %s: %v, want ErrOutside", name, path, err)
		}
	}
}

func TestScoped_PathsOutsideAreRefused(t *testing.T) {
	e := newLocal(t)
	ctx := t.Context()
	for _, f := range []string{"sub/f", "sub2/f", "f"} {
		if err := e.WriteFile(ctx, f, []byte(f), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := env.Scoped(e, "sub")
	other := newLocal(t).Info().Dir
	for _, path := range []string{"..", "../f", "../sub2/f", "x/../../f", e.Info().Dir, e.Info().Dir + "/sub2/f", other, other + "/new"} {
		refusedOutside(t, s, path, false)
	}
	inner := env.Scoped(env.Scoped(e, "."), "sub")
	if data, err := env.ReadFile(ctx, inner, "f", 0); err != nil || string(data) != "sub/f" {
		t.Errorf("a scope in a scope reads %q, %v", data, err)
	}
}

func TestScoped_SymbolicLinksThatLeadOutAreRefused(t *testing.T) {
	e := newLocal(t)
	ctx := t.Context()
	for _, f := range []string{"sub/f", "sub/d/f", "out/secret"} {
		if err := e.WriteFile(ctx, f, []byte(f), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dir := e.Info().Dir
	for name, target := range map[string]string{
		"file": "../out/secret", "dir": "../out", "abs": dir + "/out", "chain": "dir", "new": "../out/new", "d/deep": "../../out",
		"in": "f", "indir": "d", "inabs": dir + "/sub/d",
	} {
		if err := os.Symlink(target, filepath.Join(dir, "sub", name)); err != nil {
			t.Skipf("symbolic links cannot be made here: %v", err)
		}
	}
	s := env.Scoped(e, "sub")
	for _, path := range []string{"dir/secret", "dir/new", "abs/secret", "abs/x/y", "chain/secret", "d/deep/secret", "indir/deep/secret"} {
		refusedOutside(t, s, path, false)
	}
	for _, path := range []string{"file", "new", "dir", "abs", "chain", "d/deep"} {
		refusedOutside(t, s, path, true)
	}
	if list, err := e.ReadDir(ctx, "out"); err != nil || len(list) != 1 {
		t.Errorf("the directory outside contains %v, %v", list, err)
	}
	if data, err := env.ReadFile(ctx, e, "out/secret", 0); err != nil || string(data) != "out/secret" {
		t.Errorf("the file outside contains %q, %v", data, err)
	}
	// Links that lead inside work, and any link can be removed.
	for _, path := range []string{"in", "indir/f", "inabs/f"} {
		if err := s.WriteFile(ctx, path, []byte("new"), 0o644); err != nil {
			t.Error(err)
		}
	}
	if data, err := env.ReadFile(ctx, e, "sub/d/f", 0); err != nil || string(data) != "new" {
		t.Errorf("writing through a link inside gave %q, %v", data, err)
	}
	if fi, err := s.Stat(ctx, "in"); err != nil || fi.Name != "in" {
		t.Errorf("Stat of a link inside: %+v, %v", fi, err)
	}
	if err := s.Remove(ctx, "dir"); err != nil {
		t.Error(err)
	}
}

func TestScoped_DirectoryMayItselfBeALink(t *testing.T) {
	e := newLocal(t)
	ctx := t.Context()
	if err := e.WriteFile(ctx, "real/f", []byte("f"), 0o644); err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(e.Info().Dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Skipf("symbolic links cannot be made here: %v", err)
	}
	s := env.Scoped(e, "link")
	for _, path := range []string{"f", e.Info().Dir + "/link/f", dir + "/real/f"} {
		if data, err := env.ReadFile(ctx, s, path, 0); err != nil || string(data) != "f" {
			t.Errorf("%s: read %q, %v", path, data, err)
		}
	}
	// The scope does not change when the link does.
	if err := e.WriteFile(ctx, "other/f", []byte("other"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(filepath.Join(dir, "link")), os.Symlink("other", filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(ctx, "f"); !errors.Is(err, env.ErrOutside) {
		t.Errorf("after the link changed: %v, want ErrOutside", err)
	}
}

// unresolved is an environment that cannot resolve some paths.
type unresolved struct{ env.Environment }

var errUnresolved = errors.New("cannot tell")

func (u unresolved) RealPath(ctx context.Context, path string) (string, error) {
	if strings.HasSuffix(path, "f") {
		return "", errUnresolved
	}
	return u.Environment.RealPath(ctx, path)
}

func TestScoped_WhatCannotBeResolvedIsRefused(t *testing.T) {
	m := envtest.NewMemory("linux")
	if err := m.WriteFile(t.Context(), "sub/f", []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := env.Scoped(unresolved{m}, "sub")
	if err := s.WriteFile(t.Context(), "f", []byte("new"), 0o644); !errors.Is(err, errUnresolved) {
		t.Errorf("WriteFile: %v", err)
	}
	if data, _ := env.ReadFile(t.Context(), m, "sub/f", 0); string(data) != "old" {
		t.Errorf("the file contains %q", data)
	}
}

func TestScoped_KnowsWindowsPathsEverywhere(t *testing.T) {
	m := envtest.NewMemory("windows")
	ctx := t.Context()
	for _, f := range []string{`Sub\f`, `Sub\d\f`, `f`, `subway\f`} {
		if err := m.WriteFile(ctx, f, []byte(f), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := env.Scoped(m, "Sub")
	for path, want := range map[string]string{
		"f": `Sub\f`, `d\f`: `Sub\d\f`, "d/f": `Sub\d\f`, `C:\work\sub\f`: `Sub\f`, `c:/WORK/SUB/d/../F`: `Sub\f`, `C:f`: `Sub\f`,
	} {
		if data, err := env.ReadFile(ctx, s, path, 0); err != nil || string(data) != want {
			t.Errorf("%s: read %q, %v, want %q", path, data, err, want)
		}
	}
	for _, path := range []string{
		`..\f`, `C:\work\f`, `\f`, `/work/f`, `D:\x`, `D:x`, `\\server\share\f`, `\\?\C:\work\Sub\f`, `C:\work\subway\f`, `d\..\..\f`, `.. \f`,
	} {
		refusedOutside(t, s, path, false)
	}
}

func TestWrapper_BelowTranslatesThePath(t *testing.T) {
	m := envtest.NewMemory("linux")
	l := slog.New(slog.DiscardHandler)
	for _, tt := range []struct {
		e          env.Wrapper
		path, want string
		err        error
	}{
		{env.ReadOnly(m), "a", "a", nil},
		{env.Logged(m, l), "a", "a", nil},
		{env.Scoped(m, "sub"), "a", "/work/sub/a", nil},
		{env.Scoped(m, "sub"), ".", "/work/sub", nil},
		{env.Scoped(m, "sub"), "../a", "", env.ErrOutside},
	} {
		if tt.e.Unwrap() != env.Environment(m) {
			t.Errorf("%T does not unwrap to its environment", tt.e)
		}
		got, _, err := tt.e.Below(t.Context(), "read", tt.path)
		if got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%T: Below(%s) = %q, %v, want %q, %v", tt.e, tt.path, got, err, tt.want, tt.err)
		}
	}
}

func TestLogged_OneRecordForEachCallAndEachExit(t *testing.T) {
	var b bytes.Buffer
	h := slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == "time" || a.Key == "took" || a.Key == "pid" {
			return slog.Attr{}
		}
		return a
	}})
	e := env.Logged(newLocal(t), slog.New(h))
	ctx := t.Context()
	e.WriteFile(ctx, "f", []byte("secret"), 0o644)
	env.ReadFile(ctx, e, "f", 0)
	e.Stat(ctx, "missing")
	p, err := e.Start(ctx, env.Command{Line: "echo secret | cat; exit 3"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := p.Wait(ctx); err != nil {
			t.Fatal(err)
		}
	}
	want := `level=INFO msg=write path=f bytes=6
level=DEBUG msg=open path=f
level=DEBUG msg=stat path=missing error="stat missing: no such file or directory"
level=INFO msg=start command="echo secret | cat; exit 3" dir=""
level=INFO msg=exit code=3 timed_out=false orphans=0
`
	if got := b.String(); got != want {
		t.Errorf("logged:\n%s\nwant:\n%s", got, want)
	}
}

func TestExec_CancelGivesOutputSoFar(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := env.Exec(ctx, newLocal(t), env.Command{
		Line:     "echo before; sleep 600",
		OnOutput: func(env.Stream, []byte) { cancel() },
	})
	if !errors.Is(err, context.Canceled) || r.Stdout != "before\n" || r.Code == 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestExec_MissingOutputIsMarked(t *testing.T) {
	r, err := env.Exec(t.Context(), newLocal(t), env.Command{Line: "head -c 5000 /dev/zero | tr '\\0' x", MaxOutput: 1000, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	half := strings.Repeat("x", 500)
	if want := half + "\n[... 4000 bytes of output dropped ...]\n" + half; r.Stdout != want || r.Dropped != 4000 {
		t.Errorf("dropped %d, output %q", r.Dropped, r.Stdout)
	}
}

func TestExec_KeepsOneMebibyteByDefault(t *testing.T) {
	for size, whole := range map[int]bool{1_048_576: true, 1_048_577: false} {
		r, err := env.Exec(t.Context(), newLocal(t), env.Command{Line: fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x", size), Timeout: time.Minute})
		if err != nil || (r.Dropped == 0) != whole {
			t.Errorf("of %d bytes %d were dropped, %v; want none: %v", size, r.Dropped, err, whole)
		}
	}
}

func ExampleExec() {
	e, err := local.New(local.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	r, err := env.Exec(context.Background(), e, env.Command{Line: "echo hello; exit 3", Timeout: 10 * time.Second})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q, exit %d\n", r.Stdout, r.Code)
	// Output: "hello\n", exit 3
}
