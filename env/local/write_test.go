//go:build unix

package local

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/reins-agent/reins/env"
)

// TestReplacement_FailedRenameLeavesNothing renames to a directory that does not exist.
func TestReplacement_FailedRenameLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	d, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	r := replacement{dir: d, name: "no/such/place", perm: 0o644, flush: (*os.File).Sync}
	if err := r.write(t.Context(), strings.NewReader("x")); err == nil {
		t.Error("the rename succeeded")
	}
	if list, _ := os.ReadDir(dir); len(list) != 0 {
		t.Errorf("left behind: %v", list)
	}
}

// modeAtRead is a reader that records the temporary file's mode while it is written.
type modeAtRead struct {
	dir  string
	mode fs.FileMode
}

func (m *modeAtRead) Read([]byte) (int, error) {
	files, _ := filepath.Glob(filepath.Join(m.dir, ".reins-*.tmp"))
	if len(files) == 1 {
		if fi, err := os.Stat(files[0]); err == nil {
			m.mode = fi.Mode()
		}
	}
	return 0, io.EOF
}

func TestReplacement_IsPrivateUntilItHasItsOwner(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	d, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	old, err := d.Stat("f")
	if err != nil {
		t.Fatal(err)
	}
	r := replacement{dir: d, name: "f", old: old, flush: (*os.File).Sync}
	m := &modeAtRead{dir: dir}
	if err := r.write(t.Context(), m); err != nil || m.mode != 0o600 {
		t.Errorf("mode while writing is %v, %v, want 0600", m.mode, err)
	}
}

// swapped is a handle on which a file is replaced between Stat and OpenFile.
type swapped struct{ machine }

func (swapped) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(name+".swapped", flag, perm)
}

func TestOpenRegular_ChecksTheOpenedFileToo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	if err := errors.Join(os.WriteFile(file, nil, 0o644), syscall.Mkfifo(file+".swapped", 0o644)); err != nil {
		t.Fatal(err)
	}
	if f, err := openRegular(swapped{}, file); !errors.Is(err, env.ErrSpecial) {
		t.Errorf("got %v, %v, want ErrSpecial", f, err)
	}
}

func TestTimeout_AfterTheExitDoesNothing(t *testing.T) {
	p := &process{exited: true}
	if p.end(true); p.ending || p.timedOut {
		t.Error("a timeout after the exit ended the process")
	}
}

// TestWriteFile_FlushesContentBeforeAndNamesAfterTheRename reads the file at each flush.
func TestWriteFile_FlushesContentBeforeAndNamesAfterTheRename(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, roots := range [][]string{nil, {dir}} {
		e, err := New(Config{Dir: dir, Roots: roots})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		var got []string
		e.tree.flush = func(f *os.File) error {
			fi, err := f.Stat()
			if err != nil {
				return err
			}
			content, err := os.ReadFile(filepath.Join(dir, "a/b/f"))
			if errors.Is(err, fs.ErrNotExist) {
				content = []byte("nothing")
			}
			what := "file"
			for _, d := range []string{"", "a", "a/b"} {
				if at, err := os.Stat(filepath.Join(dir, d)); err == nil && os.SameFile(at, fi) {
					what = "directory " + d
				}
			}
			got = append(got, what+": "+string(content))
			return nil
		}
		for _, content := range []string{"1", "2"} {
			if err := e.WriteFile(t.Context(), "a/b/f", []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want := []string{"file: nothing", "directory a/b: 1", "directory a: 1", "directory : 1", "file: 1", "directory a/b: 2"}
		if !slices.Equal(got, want) {
			t.Errorf("roots %v: flushed %q, want %q", roots, got, want)
		}
		if err := os.RemoveAll(filepath.Join(dir, "a")); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSpecial_IsTheDeviceDirectory(t *testing.T) {
	for path, want := range map[string]bool{"/dev": true, "/dev/null": true, "/dev/new": true, "/dev/shm/f": false, "/device": false, "/home/dev/f": false} {
		if got := special(path); got != want {
			t.Errorf("special(%q) = %v, want %v", path, got, want)
		}
	}
}

// TestSpecial_NothingIsChangedThere uses a temporary directory instead of /dev.
func TestSpecial_NothingIsChangedThere(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dev, dir := filepath.Join(base, "dev"), filepath.Join(base, "work")
	if err := errors.Join(os.Mkdir(dev, 0o755), os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dev, "null"), nil, 0o644),
		os.Symlink(dev+"/null", filepath.Join(dir, "null")), os.Symlink(dev+"/new", filepath.Join(dir, "new"))); err != nil {
		t.Fatal(err)
	}
	for _, roots := range [][]string{nil, {base}} {
		e, err := New(Config{Dir: dir, Roots: roots})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		e.tree.special = func(path string) bool { return strings.HasPrefix(path, dev) }
		ctx := t.Context()
		for name, err := range map[string]error{
			"WriteFile":                    e.WriteFile(ctx, dev+"/null", nil, 0o644),
			"WriteFile of a new file":      e.WriteFile(ctx, dev+"/new", nil, 0o644),
			"WriteFile through a link":     e.WriteFile(ctx, "null", nil, 0o644),
			"WriteFile through a new link": e.WriteFile(ctx, "new", nil, 0o644),
			"Remove":                       e.Remove(ctx, dev+"/null"),
			"Rename":                       e.Rename(ctx, dev+"/null", "f"),
			"Mkdir":                        e.Mkdir(ctx, dev+"/d", 0o755),
		} {
			if !errors.Is(err, env.ErrSpecial) {
				t.Errorf("roots %v, %s: %v, want ErrSpecial", roots, name, err)
			}
		}
		if list, err := os.ReadDir(dev); err != nil || len(list) != 1 {
			t.Errorf("roots %v: the directory contains %v, %v, want only null", roots, list, err)
		}
	}
}

// TestWriteFile_FlushIsAnFsync relies on fsync failing for a pipe.
func TestWriteFile_FlushIsAnFsync(t *testing.T) {
	e, err := New(Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if err := e.tree.flush(w); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("flushing a pipe: %v, want EINVAL from fsync", err)
	}
}

func TestWriteFile_FailedFlushOfTheDirectoryIsReported(t *testing.T) {
	e, err := New(Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	broken := errors.New("the disk is gone")
	e.tree.flush = func(f *os.File) error {
		if fi, err := f.Stat(); err != nil || fi.IsDir() {
			return errors.Join(broken, err)
		}
		return nil
	}
	if err := e.WriteFile(t.Context(), "f", nil, 0o644); !errors.Is(err, broken) {
		t.Errorf("the error is %v, want one that wraps %q", err, broken)
	}
}
