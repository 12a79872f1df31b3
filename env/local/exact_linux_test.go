package local

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/internal/search"
)

// eachExact runs f in environments without symbolic links: with and without the system call for it, and with and
// without roots. dir is the real path to their directory, which has
//
//	d/file  d/sub/  link -> d  d/last -> file
func eachExact(t *testing.T, f func(t *testing.T, e env.Environment, dir string)) {
	for name, roots := range map[string][]string{"machine": nil, "roots": {"."}} {
		for _, portable := range []bool{false, true} {
			t.Run(name+map[bool]string{true: "/portable"}[portable], func(t *testing.T) {
				if portable {
					t.Cleanup(func() { openat2 = unix.Openat2 })
					openat2 = func(int, string, *unix.OpenHow) (int, error) { return -1, unix.ENOSYS }
				}
				dir, err := filepath.EvalSymlinks(t.TempDir())
				must(t, err)
				must(t, os.MkdirAll(filepath.Join(dir, "d/sub"), 0o755))
				must(t, os.WriteFile(filepath.Join(dir, "d/file"), []byte("text"), 0o644))
				must(t, os.Symlink("d", filepath.Join(dir, "link")))
				must(t, os.Symlink("file", filepath.Join(dir, "d/last")))
				e, err := New(Config{Dir: dir, Roots: roots, SpoolDir: t.TempDir()})
				must(t, err)
				t.Cleanup(func() { e.Close() })
				f(t, env.NoLinks(e), dir)
			})
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(ctx context.Context, e env.Environment, path string) (string, error) {
	b, err := env.ReadFile(ctx, e, path, 0)
	return string(b), err
}

func TestNoLinks_RefusesPathsWithLinks(t *testing.T) {
	eachExact(t, func(t *testing.T, e env.Environment, dir string) {
		ctx := t.Context()
		ops := map[string]func(path string) error{
			"stat":      func(p string) error { _, err := e.Stat(ctx, p); return err },
			"open":      func(p string) error { _, err := read(ctx, e, p); return err },
			"list":      func(p string) error { _, err := e.ReadDir(ctx, p); return err },
			"write":     func(p string) error { return e.WriteFile(ctx, p, nil, 0o644) },
			"lstat":     func(p string) error { _, err := e.Lstat(ctx, p); return err },
			"remove":    func(p string) error { return e.Remove(ctx, p) },
			"mkdir":     func(p string) error { return e.Mkdir(ctx, p, 0o755) },
			"rename":    func(p string) error { return e.Rename(ctx, p, "moved") },
			"rename to": func(p string) error { return e.Rename(ctx, "d/file", p) },
			"start":     func(p string) error { _, err := e.Start(ctx, env.Command{Line: "true", Dir: p}); return err },
			"grep": func(p string) error {
				_, err := search.Grep(ctx, e, search.GrepQuery{Pattern: "t", Path: p}, nil)
				return err
			},
			"glob": func(p string) error {
				_, err := search.Glob(ctx, e, search.GlobQuery{Pattern: "*", Path: p})
				return err
			},
			"glob prefix": func(p string) error { _, err := search.Glob(ctx, e, search.GlobQuery{Pattern: p + "/*"}); return err },
		}
		for name, op := range ops {
			for _, path := range []string{"link/file", "link/sub", "link/sub/new"} {
				if err := op(path); !errors.Is(err, env.ErrLink) {
					t.Errorf("%s %s: %v, want ErrLink", name, path, err)
				}
			}
		}
		for _, name := range []string{"stat", "open", "write", "grep"} {
			if err := ops[name]("d/last"); !errors.Is(err, env.ErrLink) {
				t.Errorf("%s d/last: %v, want ErrLink", name, err)
			}
		}
		if text, err := read(ctx, e, "d/file"); text != "text" || err != nil {
			t.Errorf("d/file has %q, %v", text, err)
		}
	})
}

func TestNoLinks_WorksOnRealPaths(t *testing.T) {
	eachExact(t, func(t *testing.T, e env.Environment, dir string) {
		ctx := t.Context()
		must(t, e.WriteFile(ctx, filepath.Join(dir, "d/new/deep/f"), []byte("one"), 0o600))
		must(t, e.WriteFile(ctx, "d/new/deep/f", []byte("two"), 0o600))
		must(t, e.Rename(ctx, "d/new/deep/f", "d/new/deep/g"))
		must(t, e.Rename(ctx, "d/new/deep/g", "d/h"))
		must(t, e.Remove(ctx, "d/new/deep"))
		must(t, e.Mkdir(ctx, "d/new/dir", 0o755))
		must(t, e.Rename(ctx, "d/new/dir", "d/dir"))
		if text, err := read(ctx, e, "d/h"); text != "two" || err != nil {
			t.Errorf("d/h has %q, %v", text, err)
		}
		if fi, err := e.Stat(ctx, "."); err != nil || !fi.IsDir() {
			t.Errorf("stat of the directory: %+v, %v", fi, err)
		}
		list, err := e.ReadDir(ctx, "d")
		var names []string
		for _, fi := range list {
			names = append(names, fi.Name)
		}
		if got := strings.Join(names, " "); got != "dir file h last new sub" || err != nil {
			t.Errorf("d has %q, %v", got, err)
		}
		res, err := env.Exec(ctx, e, env.Command{Line: "pwd -P", Dir: "d/sub"})
		if want := filepath.Join(dir, "d/sub") + "\n"; res.Stdout != want || err != nil {
			t.Errorf("a command runs in %q, %v, want %q", res.Stdout, err, want)
		}
		for path, want := range map[string]error{"missing": fs.ErrNotExist, "d": env.ErrIsDir, "d/file/x": env.ErrNotDir, "": fs.ErrInvalid, "/dev/null": env.ErrSpecial} {
			if _, err := e.Open(ctx, path); !errors.Is(err, want) && !errors.Is(err, env.ErrOutside) {
				t.Errorf("open %q: %v, want %v", path, err, want)
			}
		}
	})
}

func TestNoLinks_LastElementMayBeALinkThatIsNotFollowed(t *testing.T) {
	eachExact(t, func(t *testing.T, e env.Environment, dir string) {
		ctx := t.Context()
		if fi, err := e.Lstat(ctx, "d/last"); err != nil || fi.Mode&fs.ModeSymlink == 0 {
			t.Errorf("lstat: %+v, %v, want a link", fi, err)
		}
		must(t, e.Rename(ctx, "d/last", "d/moved"))
		must(t, e.Remove(ctx, "d/moved"))
		if text, err := read(ctx, e, "d/file"); text != "text" || err != nil {
			t.Errorf("the target of the link has %q, %v", text, err)
		}
		if real, err := e.RealPath(ctx, "link/file"); real != filepath.Join(dir, "d/file") || err != nil {
			t.Errorf("the real path is %q, %v", real, err)
		}
	})
}

// A directory is swapped with a link to the outside while files in it are read and written.
func TestNoLinks_SwapRace(t *testing.T) {
	eachExact(t, func(t *testing.T, e env.Environment, dir string) {
		outside := t.TempDir()
		must(t, os.WriteFile(filepath.Join(outside, "file"), []byte("secret"), 0o644))
		must(t, os.Symlink(outside, filepath.Join(dir, "out")))
		stop, done := make(chan struct{}), make(chan error)
		go func() {
			var err error
			for err == nil {
				select {
				case <-stop:
					done <- nil
					return
				default:
					err = unix.Renameat2(unix.AT_FDCWD, filepath.Join(dir, "out"), unix.AT_FDCWD, filepath.Join(dir, "d"), unix.RENAME_EXCHANGE)
				}
			}
			<-stop
			done <- err
		}()
		for range 300 {
			text, err := read(t.Context(), e, "d/file")
			if text == "secret" || err != nil && !errors.Is(err, env.ErrLink) && !errors.Is(err, env.ErrOutside) {
				t.Errorf("read %q, %v", text, err)
				break
			}
			e.WriteFile(t.Context(), "d/file", []byte("text"), 0o644)
			e.Mkdir(t.Context(), "d/made", 0o755)
			e.Rename(t.Context(), "d/made", "d/moved")
			e.Remove(t.Context(), "d/moved")
		}
		close(stop)
		must(t, <-done)
		if text, err := os.ReadFile(filepath.Join(outside, "file")); string(text) != "secret" {
			t.Errorf("the file outside has %q, %v", text, err)
		}
		if list, err := os.ReadDir(outside); len(list) != 1 || err != nil {
			t.Errorf("the directory outside has %v, %v", list, err)
		}
	})
}

// An environment that embeds another may have replaced its methods, which its view must not bypass.
func TestNoLinks_KeepsMethodsOfAnEmbeddingEnvironment(t *testing.T) {
	e, err := New(Config{Dir: t.TempDir()})
	must(t, err)
	defer e.Close()
	view := env.NoLinks(refusing{e})
	if _, err := view.Open(t.Context(), "x"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("open: %v, want the error of the embedding environment", err)
	}
}

type refusing struct{ *Env }

func (refusing) Open(context.Context, string) (io.ReadCloser, error) { return nil, fs.ErrPermission }
