package filestore

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
)

// faulty is a disk that fails on demand.
type faulty struct {
	OS
	mu     sync.Mutex
	writes error // for every write after space bytes
	space  int   // bytes that can be written before that
	syncs  error
	names  error // for every directory change
	undo   error // for truncating
}

func (f *faulty) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *faulty) err(which *error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return *which
}

func (f *faulty) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	if flag&os.O_CREATE != 0 {
		if err := f.err(&f.names); err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
	}
	file, err := f.OS.OpenFile(name, flag, perm)
	return &faultyFile{file, f}, err
}

func (f *faulty) MkdirAll(name string, perm fs.FileMode) error {
	if err := f.err(&f.names); err != nil {
		return &fs.PathError{Op: "mkdir", Path: name, Err: err}
	}
	return f.OS.MkdirAll(name, perm)
}

func (f *faulty) Lock(name string) (io.Closer, error) {
	if err := f.err(&f.names); err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return f.OS.Lock(name)
}

func (f *faulty) Rename(from, to string) error {
	return errors.Join(f.err(&f.names), f.OS.Rename(from, to))
}

type faultyFile struct {
	File
	disk *faulty
}

// allowed returns the part of a write that succeeds, and the error for the rest.
func (f *faultyFile) allowed(b []byte) ([]byte, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.writes == nil {
		return b, nil
	}
	if f.disk.space >= len(b) {
		f.disk.space -= len(b)
		return b, nil
	}
	b = b[:f.disk.space]
	f.disk.space = 0
	return b, f.disk.writes
}

func (f *faultyFile) Write(b []byte) (int, error) {
	b, fail := f.allowed(b)
	n, err := f.File.Write(b)
	return n, errors.Join(fail, err)
}

func (f *faultyFile) WriteAt(b []byte, off int64) (int, error) {
	b, fail := f.allowed(b)
	n, err := f.File.WriteAt(b, off)
	return n, errors.Join(fail, err)
}

func (f *faultyFile) Sync() error { return errors.Join(f.disk.err(&f.disk.syncs), f.File.Sync()) }

func (f *faultyFile) Truncate(size int64) error {
	if err := f.disk.err(&f.disk.undo); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

func TestAppend_FullDiskLosesNothingAcknowledged(t *testing.T) {
	for _, undo := range []error{nil, syscall.EIO} {
		for space := 0; space < 245; space += 7 {
			disk := &faulty{}
			s := newStore(t, Config{FS: disk})
			w := create(t, s, "a")
			must(t, w.Append(t.Context(), recordsUpTo(3)...))
			disk.set(func() { disk.writes, disk.space, disk.undo = syscall.ENOSPC, space, undo })
			err := w.Append(t.Context(), record(4), record(5))
			if err == nil {
				t.Fatalf("two records fit into %d bytes", space)
			}
			if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "cannot save session a") {
				t.Fatalf("got error %v, want ENOSPC for session a", err)
			}
			holdsAtLeast(t, s, 3, undo == nil)
			if err := w.Append(t.Context(), record(4)); !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("after a failure, Append returns %v, want ENOSPC", err)
			}
			must(t, w.Close())
			disk.set(func() { disk.writes, disk.undo = nil, nil })
			continues(t, s)
		}
	}
}

// holdsAtLeast checks that the session has n records or, unless exact, more.
func holdsAtLeast(t *testing.T, s *Store, n int, exact bool) {
	t.Helper()
	records, damage := load(t, s, "a", 0)
	if len(records) < n || exact && len(records) != n || damage != nil {
		t.Fatalf("%d records, want %d; damage %v", len(records), n, damage)
	}
}

// continues opens the session and writes to it.
func continues(t *testing.T, s *Store) {
	t.Helper()
	w := open(t, s, "a")
	m, err := s.Meta(t.Context(), "a")
	must(t, err)
	must(t, w.Append(t.Context(), record(m.Last+1)))
	must(t, w.Close())
	holds(t, s, "a", m.Last+1)
	clean(t, s, "a")
}

func TestAppend_FailedFlushRemovesTheRecords(t *testing.T) {
	disk := &faulty{}
	s := newStore(t, Config{FS: disk})
	w := create(t, s, "a")
	must(t, w.Append(t.Context(), recordsUpTo(3)...))
	disk.set(func() { disk.syncs = syscall.EIO })
	for range 2 {
		if err := w.Append(t.Context(), record(4), record(5)); !errors.Is(err, syscall.EIO) {
			t.Errorf("append: %v, want EIO", err)
		}
	}
	must(t, w.Close())
	holds(t, s, "a", 3)
	disk.set(func() { disk.syncs = nil })
	continues(t, s)
}

func TestStore_ReadOnlyDirectoryCanBeRead(t *testing.T) {
	disk := &faulty{}
	s := newStore(t, Config{FS: disk})
	saved(t, s, "a", 3)
	w := create(t, s, "b")
	disk.set(func() { disk.names, disk.writes = syscall.EROFS, syscall.EROFS })
	holds(t, s, "a", 3)
	clean(t, s, "a")
	if err := w.Append(t.Context(), record(1)); !errors.Is(err, syscall.EROFS) {
		t.Errorf("append: %v", err)
	}
	_, err := s.Open(t.Context(), "a")
	if !errors.Is(err, syscall.EROFS) || !strings.Contains(err.Error(), "cannot open session a") {
		t.Errorf("open: %v", err)
	}
	if _, err := s.Create(t.Context(), event.Meta{ID: "c"}); !errors.Is(err, syscall.EROFS) {
		t.Errorf("create: %v", err)
	}
	if err := s.Delete(t.Context(), "a"); !errors.Is(err, syscall.EROFS) {
		t.Errorf("delete: %v", err)
	}
	must(t, w.Close())
	disk.set(func() { disk.names, disk.writes = nil, nil })
	continues(t, s)
}

func TestCreate_CanBeRetriedAfterAFailure(t *testing.T) {
	for space := range 200 {
		disk := &faulty{writes: syscall.ENOSPC, space: space}
		if space%2 == 0 {
			disk.undo = syscall.EIO
		}
		s := newStore(t, Config{FS: disk})
		if _, err := s.Create(t.Context(), event.Meta{ID: "a"}); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("%d bytes: %v", space, err)
		}
		disk.set(func() { disk.writes, disk.undo = nil, nil })
		if w, err := s.Create(t.Context(), event.Meta{ID: "a"}); err == nil {
			must(t, w.Close())
		} else if !errors.Is(err, event.ErrExists) || disk.space != 0 {
			t.Fatalf("%d bytes: %v", space, err)
		}
		continues(t, s)
	}
}

func TestPutBlob_LeavesNothingAfterAFailure(t *testing.T) {
	disk := &faulty{}
	s := newStore(t, Config{FS: disk})
	w := create(t, s, "a")
	disk.set(func() { disk.writes, disk.space = syscall.ENOSPC, 3 })
	if _, _, err := w.PutBlob(t.Context(), strings.NewReader("four")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("full: %v", err)
	}
	disk.set(func() { disk.writes, disk.syncs = nil, syscall.EIO })
	if _, _, err := w.PutBlob(t.Context(), strings.NewReader("four")); !errors.Is(err, syscall.EIO) {
		t.Errorf("flush: %v", err)
	}
	disk.set(func() { disk.syncs = nil })
	if r := clean(t, s, "a"); r.Blobs != 0 {
		t.Errorf("got %d blobs, want none", r.Blobs)
	}
	must(t, w.Append(t.Context(), record(1)))
	must(t, w.Close())
}

func TestMeta_ClockGoingBackwardsDoesNotChangeUpdated(t *testing.T) {
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	s := newStore(t, Config{Now: func() time.Time { return now }})
	w := create(t, s, "a")
	before, err := s.Meta(t.Context(), "a")
	must(t, err)
	now = now.Add(-24 * time.Hour)
	must(t, w.SetMeta(t.Context(), event.Meta{Title: "t"}))
	must(t, w.Append(t.Context(), recordsUpTo(3)...)) // which are older still
	must(t, w.Close())
	after, err := s.Meta(t.Context(), "a")
	must(t, err)
	if !after.Updated.Equal(before.Updated) || !after.Created.Equal(before.Created) || after.Title != "t" {
		t.Errorf("%+v became %+v", before, after)
	}
	continues(t, s)
}
