package local

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestReplacement_FailedRenameLeavesNothing renames to a place that is not there.
func TestReplacement_FailedRenameLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	d, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	r := replacement{dir: d, name: "no/such/place", perm: 0o644, flush: (*os.File).Sync}
	if err := r.write(t.Context(), strings.NewReader("x")); err == nil {
		t.Error("the rename went through")
	}
	if list, _ := os.ReadDir(dir); len(list) != 0 {
		t.Errorf("left behind: %v", list)
	}
}

// TestWriteFile_FlushesContentBeforeAndNamesAfterTheRename looks at the disk at each flush.
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
