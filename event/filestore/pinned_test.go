package filestore

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/event"
)

func TestStore_NobodyElseCanReadSessions(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // Windows has no such bits
	}
	s := newStore(t, Config{Dir: filepath.Join(t.TempDir(), "sessions")})
	w := create(t, s, "a")
	_, _, err := w.PutBlob(t.Context(), strings.NewReader("x"))
	must(t, errors.Join(err, w.Append(t.Context(), recordsUpTo(3)...), w.Close()))
	must(t, filepath.WalkDir(s.dir, func(path string, e fs.DirEntry, err error) error {
		must(t, err)
		info, err := e.Info()
		must(t, err)
		want := fs.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", path, got, want)
		}
		return nil
	}))
}

func TestLoad_OneMissingRecordIsReported(t *testing.T) {
	s := newStore(t, Config{})
	saved(t, s, "a", 5)
	must(t, os.Remove(s.path("a", indexName)))
	lines := strings.SplitAfter(string(readLogFile(t, s, "a")), "\n") // record n is at n+1
	writeLogFile(t, s, "a", []byte(strings.Join(slices.Delete(lines, 3, 4), "")))
	if records, damage := load(t, s, "a", 0); len(records) != 4 || len(damage) != 1 {
		t.Errorf("got %d records and damage %v, want 4 and one report", len(records), damage)
	}
}

func TestOpenBlob_DamagedContentIsAnError(t *testing.T) {
	s := newStore(t, Config{})
	w := create(t, s, "a")
	hash, _, err := w.PutBlob(t.Context(), strings.NewReader("a blob"))
	must(t, errors.Join(err, w.Close()))
	must(t, os.WriteFile(s.path("a", blobsName, hash), []byte("a glob"), 0o600))
	r, err := s.OpenBlob(t.Context(), "a", hash)
	must(t, err)
	defer r.Close()
	if b, err := io.ReadAll(r); err == nil {
		t.Errorf("read %q, want an error", b)
	}
	report, err := s.Verify(t.Context(), "a")
	must(t, err)
	if len(report.Problems) != 1 || report.Blobs != 0 {
		t.Errorf("got problems %v and %d sound blobs, want one and none", report.Problems, report.Blobs)
	}
}

// watched is a file system that records the order in which names are created and flushed.
type watched struct {
	OS
	steps []string
}

func (f *watched) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	if flag&os.O_CREATE != 0 {
		f.steps = append(f.steps, "make "+filepath.Base(name))
	}
	return f.OS.OpenFile(name, flag, perm)
}

func (f *watched) MkdirAll(name string, perm fs.FileMode) error {
	f.steps = append(f.steps, "make "+filepath.Base(name))
	return f.OS.MkdirAll(name, perm)
}

func (f *watched) SyncDir(name string) error {
	f.steps = append(f.steps, "flush "+filepath.Base(name))
	return f.OS.SyncDir(name)
}

func TestCreate_FlushesTheNamesOfTheSession(t *testing.T) {
	disk := &watched{}
	s := newStore(t, Config{Dir: filepath.Join(t.TempDir(), "sessions"), FS: disk})
	w, err := s.Create(t.Context(), event.Meta{ID: "a"})
	must(t, err)
	defer w.Close()
	if got, want := strings.Join(disk.steps, ", "), "make a, make log.jsonl, flush a, flush sessions"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
