package filestore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/reins-agent/reins/event"
)

func TestStore_FilesAreForTheUserOnly(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // Windows has no such modes
	}
	s := newStore(t, Config{Dir: filepath.Join(t.TempDir(), "new", "dir")})
	w := create(t, s, "A.b")
	must(t, w.Append(t.Context(), recordsUpTo(3)...))
	_, _, err := w.PutBlob(t.Context(), strings.NewReader("x"))
	must(t, errors.Join(err, w.Close()))
	writeLogFile(t, s, "A.b", append(readLogFile(t, s, "A.b"), "torn"...))
	w = open(t, s, "A.b")
	must(t, w.Lease(&holder{dup: func(f *os.File) *os.File { return f }}))
	must(t, w.Close())
	var names []string
	must(t, filepath.WalkDir(s.dir, func(path string, e fs.DirEntry, err error) error {
		must(t, err)
		info, err := e.Info()
		must(t, err)
		want := fs.FileMode(0o600)
		if e.IsDir() {
			want = fs.ModeDir | 0o700
		}
		if info.Mode() != want {
			t.Errorf("%s has %v, want %v", path, info.Mode(), want)
		}
		name, err := filepath.Rel(s.dir, path)
		must(t, err)
		names = append(names, filepath.ToSlash(name))
		return nil
	}))
	const want = ". .leases .leases/a.b .locks .locks/a.b a.b a.b/blobs a.b/blobs/2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881 a.b/log.jsonl a.b/meta.json a.b/torn.jsonl"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("the files are\n%s\nwant\n%s", got, want)
	}
}

func TestStore_LeavesOtherFilesAlone(t *testing.T) {
	s := newStore(t, Config{})
	saved(t, s, "a", 1)
	must(t, os.WriteFile(filepath.Join(s.dir, "notes.txt"), nil, filePerm))
	must(t, os.Mkdir(filepath.Join(s.dir, "photos"), dirPerm))
	must(t, os.WriteFile(filepath.Join(s.dir, "photos", "me.png"), nil, filePerm))
	n := 0
	for _, err := range s.List(t.Context()) {
		must(t, err)
		n++
	}
	if n != 1 {
		t.Errorf("got %d sessions, want 1", n)
	}
	if err := s.Delete(t.Context(), "photos"); !errors.Is(err, event.ErrNotFound) {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "photos", "me.png")); err != nil {
		t.Error(err)
	}
}

func TestDelete_RacesWithWritersWithoutHarm(t *testing.T) {
	s := newStore(t, Config{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 60 {
				if err := churn(t, s); err != nil && !errors.Is(err, event.ErrLocked) && !errors.Is(err, event.ErrExists) && !errors.Is(err, event.ErrNotFound) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := s.Delete(t.Context(), "a"); err != nil && !errors.Is(err, event.ErrNotFound) {
		t.Error(err)
	}
}

// churn creates or opens a session, appends to it and deletes it, while others do the same.
func churn(t *testing.T, s *Store) error {
	w, err := s.Create(t.Context(), event.Meta{ID: "a"})
	if errors.Is(err, event.ErrExists) {
		w, err = s.Open(t.Context(), "a")
	}
	if err != nil {
		return err
	}
	m, err := s.Meta(t.Context(), "a")
	if err != nil {
		return err // it is locked, so it cannot have been deleted
	}
	if err := errors.Join(w.Append(t.Context(), record(m.Last+1)), w.Close()); err != nil {
		return err
	}
	return s.Delete(t.Context(), "a")
}

func TestMeta_KilledWriterIsListedUpToDate(t *testing.T) {
	s := newStore(t, Config{})
	w := create(t, s, "a")
	big := event.Warning{Message: strings.Repeat("x", indexStep)}
	for seq := event.Seq(1); seq <= 5; seq++ {
		r := record(seq)
		if seq == 3 {
			r.Data = big // meta.json is written after it
		}
		must(t, w.Append(t.Context(), r))
		m, err := s.Meta(t.Context(), "a")
		if err != nil || m.Last != seq {
			t.Errorf("after %d: %+v, %v", seq, m, err)
		}
	}
	must(t, w.Close())
	clean(t, s, "a")
}
