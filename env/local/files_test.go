//go:build unix

package local_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
)

// lay creates files in a directory: "name -> target" is a symbolic link, "name/" a directory, and
// anything else a file that contains its own name.
func lay(t *testing.T, dir string, files ...string) {
	t.Helper()
	for _, f := range files {
		name, target, link := strings.Cut(f, " -> ")
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		switch {
		case err != nil:
		case link:
			err = os.Symlink(target, path)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		default:
			err = os.WriteFile(path, []byte(name), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestWriteFile_FollowsSymlinksAndKeepsThem(t *testing.T) {
	for _, roots := range [][]string{nil, {"."}} {
		for _, tt := range []struct{ files, path, target string }{
			{"real, link -> real", "link", "real"},
			{"d/real, link -> d/real", "link", "d/real"},
			{"d/real, link -> d", "link/real", "d/real"},
			{"b/c/x, b/real, a/link -> ../b/c, b/c/f -> ../real", "a/link/f", "b/real"},
			{"real, one -> two, two -> three, three -> real", "one", "real"},
			{"d/, link -> d/new", "link", "d/new"},
			{"link -> d/new", "link", "d/new"},
			{"real, link -> $DIR/real", "link", "real"},
			{"d/real, link -> $DIR/d", "link/real", "d/real"},
			{"d/, link -> $DIR/d", "link/x/new", "d/x/new"},
		} {
			dir := t.TempDir()
			lay(t, dir, strings.Split(strings.ReplaceAll(tt.files, "$DIR", dir), ", ")...)
			e := newEnv(t, local.Config{Dir: dir, Roots: roots})
			if err := e.WriteFile(t.Context(), tt.path, []byte("new"), 0o644); err != nil {
				t.Errorf("roots %v, %s: %v", roots, tt.files, err)
				continue
			}
			if fi, err := os.Lstat(filepath.Join(dir, tt.target)); err != nil || !fi.Mode().IsRegular() {
				t.Errorf("roots %v, %s: %s is not a regular file: %v", roots, tt.files, tt.target, err)
			} else if got := content(t, filepath.Join(dir, tt.target)); got != "new" {
				t.Errorf("roots %v, %s: %s contains %q, want \"new\"", roots, tt.files, tt.target, got)
			}
			first, _, _ := strings.Cut(tt.path, "/")
			if fi, err := os.Lstat(filepath.Join(dir, first)); err != nil || fi.Mode()&fs.ModeSymlink == 0 && first != "a" {
				t.Errorf("roots %v, %s: %s is no longer a link", roots, tt.files, first)
			}
		}
	}
}

func TestWriteFile_SymlinkLoopFails(t *testing.T) {
	for _, roots := range [][]string{nil, {"."}} {
		dir := t.TempDir()
		lay(t, dir, "a -> b", "b -> a")
		e := newEnv(t, local.Config{Dir: dir, Roots: roots})
		if err := e.WriteFile(t.Context(), "a", nil, 0o644); err == nil {
			t.Error("WriteFile followed a loop of links")
		}
	}
}

func TestWriteFile_KeepsModeAndOwner(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir, "f")
	path := filepath.Join(dir, "f")
	owner := os.Getuid()
	if owner == 0 {
		owner = 1234
	}
	if err := os.Chown(path, owner, os.Getgid()); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o751|fs.ModeSetgid); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	e := newEnv(t, local.Config{Dir: dir})
	if err := e.WriteFile(t.Context(), "f", []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if after.Mode() != before.Mode() || uid(after) != owner {
		t.Errorf("mode %v and owner %d, want %v and %d", after.Mode(), uid(after), before.Mode(), owner)
	}
}

func TestWriteFile_HardLinkOutsideKeepsItsContent(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	lay(t, outside, "secret")
	if err := os.Link(filepath.Join(outside, "secret"), filepath.Join(dir, "f")); err != nil {
		t.Fatal(err)
	}
	e := newEnv(t, local.Config{Dir: dir, Roots: []string{"."}})
	if err := e.WriteFile(t.Context(), "f", []byte("new"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := content(t, filepath.Join(outside, "secret")); got != "secret" {
		t.Errorf("the file outside contains %q", got)
	}
}

func TestWriteFile_RunningProgramIsReplaced(t *testing.T) {
	dir := t.TempDir()
	e := newEnv(t, local.Config{Dir: dir})
	run(t, e, "cp $(command -v sleep) prog")
	p, err := e.Start(t.Context(), env.Command{Args: []string{"./prog", "600"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.WriteFile(t.Context(), "prog", []byte("new"), 0o644); err != nil {
		t.Error(err)
	}
	if _, err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestRoots_NothingLeadsOut tries every operation on every way out. It attacks only files that it created.
func TestRoots_NothingLeadsOut(t *testing.T) {
	base := t.TempDir()
	outside := filepath.Join(base, "outside")
	lay(t, base, "top", "outside/secret", "outside/dir/", "root/f", "root/d/f",
		"root/up -> ..", "root/abs -> "+outside, "root/file -> ../outside/secret",
		"root/absfile -> "+outside+"/secret", "root/d/deep -> ../../outside", "root/dangling -> ../outside/new",
		"root/chain -> abs", "rootless -> root")
	e := newEnv(t, local.Config{Dir: filepath.Join(base, "root"), Roots: []string{"."}})
	ctx := t.Context()
	for _, path := range []string{
		"../outside/secret", outside + "/secret", "up/outside/secret", "abs/secret", "file", "absfile",
		"d/deep/secret", "chain/secret", "d/../../outside/secret", "../root2", base, filepath.Join(base, "top"),
		"dangling", "abs/new", "../new",
	} {
		ops := map[string]func() error{
			"Stat": func() error { _, err := e.Stat(ctx, path); return err },
			"Open": func() error {
				f, err := e.Open(ctx, path)
				if err == nil {
					f.Close()
				}
				return err
			},
			"WriteFile": func() error { return e.WriteFile(ctx, path, []byte("x"), 0o644) },
			"ReadDir":   func() error { _, err := e.ReadDir(ctx, path); return err },
			"Start": func() error {
				_, err := e.Start(ctx, env.Command{Line: "true", Dir: path})
				return err
			},
		}
		// These operate on the link itself, which is inside.
		if path != "file" && path != "absfile" && path != "dangling" {
			ops["Lstat"] = func() error { _, err := e.Lstat(ctx, path); return err }
			ops["Remove"] = func() error { return e.Remove(ctx, path) }
			ops["Rename from"] = func() error { return e.Rename(ctx, path, "got") }
			ops["Rename to"] = func() error { return e.Rename(ctx, "f", path) }
			ops["Mkdir"] = func() error { return e.Mkdir(ctx, path, 0o755) }
		}
		for name, op := range ops {
			if err := op(); !errors.Is(err, env.ErrOutside) {
				t.Errorf("%s %s: %v, want ErrOutside", name, path, err)
			}
		}
	}
	if got := content(t, filepath.Join(outside, "secret")); got != "outside/secret" {
		t.Errorf("the secret contains %q", got)
	}
	for dir, want := range map[string]int{outside: 2, base: 4} {
		if list, _ := os.ReadDir(dir); len(list) != want {
			t.Errorf("%s contains %v, want %d entries", dir, list, want)
		}
	}
}

func TestRoots_SeveralAndLinksBetweenThem(t *testing.T) {
	base := t.TempDir()
	lay(t, base, "a/f", "b/g", "a/tob -> ../b", "a/absb -> "+base+"/b", "link -> b", "work/")
	e := newEnv(t, local.Config{Dir: filepath.Join(base, "work"), Roots: []string{"../a", filepath.Join(base, "link"), "."}})
	ctx := t.Context()
	for _, path := range []string{"../a/f", "../a/tob/g", "../a/absb/g", base + "/link/g", base + "/b/g"} {
		if _, err := env.ReadFile(ctx, e, path, 0); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := e.WriteFile(ctx, "../a/tob/new", []byte("n"), 0o644); err != nil {
		t.Error(err)
	}
	if err := e.Rename(ctx, "../a/f", "../b/moved"); err != nil {
		t.Error(err)
	}
	if got := content(t, filepath.Join(base, "b/moved")); got != "a/f" {
		t.Errorf("the moved file contains %q", got)
	}
	if _, err := os.Lstat(filepath.Join(base, "a/f")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old file: %v, want ErrNotExist", err)
	}
}

// TestRoots_SwapRace keeps swapping a directory for a link to the outside while files are written and
// read through it.
func TestRoots_SwapRace(t *testing.T) {
	base := t.TempDir()
	lay(t, base, "outside/f", "root/real/f", "root/out -> ../outside")
	dir := filepath.Join(base, "root")
	e := newEnv(t, local.Config{Dir: dir, Roots: []string{"."}})
	ctx, cancel := context.WithCancel(t.Context())
	swapped := make(chan struct{})
	go func() {
		defer close(swapped)
		at, real, out := filepath.Join(dir, "d"), filepath.Join(dir, "real"), filepath.Join(dir, "out")
		for ctx.Err() == nil {
			os.Rename(real, at)
			os.Rename(at, real)
			os.Rename(out, at)
			os.Rename(at, out)
		}
	}()
	for range 500 {
		e.WriteFile(ctx, "d/f", []byte("inside"), 0o644)
		if data, err := env.ReadFile(ctx, e, "d/f", 0); err == nil && string(data) == "outside/f" {
			t.Error("a file outside was read")
		}
		e.Remove(ctx, "d/g")
	}
	cancel()
	<-swapped
	list, _ := os.ReadDir(filepath.Join(base, "outside"))
	if got := content(t, filepath.Join(base, "outside/f")); got != "outside/f" || len(list) != 1 {
		t.Errorf("the file outside contains %q; its directory contains %v", got, list)
	}
}

func TestSpecialFiles_AreRefusedAtOnce(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir, "tofifo -> fifo", "tonull -> /dev/null")
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, roots := range [][]string{nil, {".", "/dev"}} {
		e := newEnv(t, local.Config{Dir: dir, Roots: roots})
		for _, path := range []string{"fifo", "tofifo", "socket", "tonull", "/dev/null", "/dev/zero", "/dev/stdin", "/dev/fd/0", "/dev/tty"} {
			if f, err := e.Open(t.Context(), path); !errors.Is(err, env.ErrSpecial) {
				t.Errorf("Open %s: %v, %v", path, f, err)
			}
		}
		for _, path := range []string{"fifo", "tofifo", "socket"} {
			if err := e.WriteFile(t.Context(), path, []byte("x"), 0o644); !errors.Is(err, env.ErrSpecial) {
				t.Errorf("WriteFile %s: %v", path, err)
			}
		}
	}
	if fi, err := os.Lstat(filepath.Join(dir, "fifo")); err != nil || fi.Mode()&fs.ModeNamedPipe == 0 {
		t.Errorf("the FIFO is gone: %v, %v", fi, err)
	}
}

func TestPath_NULByteIsInvalid(t *testing.T) {
	e := newEnv(t, local.Config{})
	if err := e.WriteFile(t.Context(), "a\x00b", nil, 0o644); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("got error %v, want ErrInvalid", err)
	}
	if _, err := e.Start(t.Context(), env.Command{Line: "echo a\x00b"}); err == nil {
		t.Error("a command line with a NUL byte was started")
	}
}

func uid(fi fs.FileInfo) int { return int(fi.Sys().(*syscall.Stat_t).Uid) }
