package env_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/env"
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

func TestScoped_PathsOutsideAreRefused(t *testing.T) {
	e := newLocal(t)
	ctx := t.Context()
	for _, f := range []string{"sub/f", "sub2/f", "f"} {
		if err := e.WriteFile(ctx, f, []byte(f), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := env.Scoped(e, "sub")
	for _, path := range []string{"..", "../f", "../sub2/f", "x/../../f", e.Info().Dir, e.Info().Dir + "/sub2/f", "/etc/passwd"} {
		ops := map[string]func() error{
			"Stat":      func() error { _, err := s.Stat(ctx, path); return err },
			"Lstat":     func() error { _, err := s.Lstat(ctx, path); return err },
			"Open":      func() error { _, err := s.Open(ctx, path); return err },
			"WriteFile": func() error { return s.WriteFile(ctx, path, nil, 0o644) },
			"Remove":    func() error { return s.Remove(ctx, path) },
			"Rename to": func() error { return s.Rename(ctx, "f", path) },
			"Rename":    func() error { return s.Rename(ctx, path, "g") },
			"Mkdir":     func() error { return s.Mkdir(ctx, path, 0o755) },
			"ReadDir":   func() error { _, err := s.ReadDir(ctx, path); return err },
			"Start":     func() error { _, err := s.Start(ctx, env.Command{Line: "true", Dir: path}); return err },
		}
		for name, op := range ops {
			if err := op(); !errors.Is(err, env.ErrOutside) {
				t.Errorf("%s %s: %v, want ErrOutside", name, path, err)
			}
		}
	}
	inner := env.Scoped(env.Scoped(e, "."), "sub")
	if data, err := env.ReadFile(ctx, inner, "f", 0); err != nil || string(data) != "sub/f" {
		t.Errorf("a scope in a scope reads %q, %v", data, err)
	}
}

// windows is an environment that only says it is one.
type windows struct{ env.Environment }

func (windows) Info() env.Info { return env.Info{Platform: "windows", Dir: `C:\work`} }

func (windows) Remove(_ context.Context, path string) error { return fmt.Errorf("got %s", path) }

func TestScoped_KnowsWindowsPathsEverywhere(t *testing.T) {
	s := env.Scoped(windows{}, "sub")
	for path, want := range map[string]string{
		"f": "got C:/work/sub/f", `d\f`: "got C:/work/sub/d/f", `C:\work\sub\f`: "got C:/work/sub/f", `C:/work/sub/f`: "got C:/work/sub/f",
	} {
		if err := s.Remove(t.Context(), path); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
	for _, path := range []string{`..\f`, `C:\work\f`, `D:\x`, `\\server\share\f`, `C:\work\subway`, `d\..\..\f`} {
		if err := s.Remove(t.Context(), path); !errors.Is(err, env.ErrOutside) {
			t.Errorf("%s: %v, want ErrOutside", path, err)
		}
	}
}

// searcher is an environment with a method that env does not know.
type searcher struct{ env.Environment }

func (searcher) Search() string { return "found" }

func TestAs_FindsOptionalInterfacesBelowWrappers(t *testing.T) {
	type search interface{ Search() string }
	l := slog.New(slog.DiscardHandler)
	e := newLocal(t)
	below := searcher{e}
	for _, tt := range []struct {
		e    env.Environment
		want bool
	}{
		{below, true},
		{env.ReadOnly(below), true},
		{env.Logged(env.ReadOnly(below), l), true},
		{env.Scoped(below, "."), false},
		{env.ReadOnly(e), false},
	} {
		s, ok := env.As[search](tt.e)
		if ok != tt.want || ok && s.Search() != "found" {
			t.Errorf("%T: found is %v, want %v", tt.e, ok, tt.want)
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
	if _, err := env.Exec(ctx, e, env.Command{Line: "echo secret | cat; exit 3"}); err != nil {
		t.Fatal(err)
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
	if want := half + "\n[... 4000 bytes of output were not kept ...]\n" + half; r.Stdout != want || r.Dropped != 4000 {
		t.Errorf("dropped %d, output %q", r.Dropped, r.Stdout)
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
