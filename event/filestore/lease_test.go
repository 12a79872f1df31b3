package filestore

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
)

// reluctant is a file system on which another process holds a lock for the first few attempts.
type reluctant struct {
	FS
	dir  string // substring of the lock path
	held io.Closer
	left int
}

func (r *reluctant) Lock(name string) (io.Closer, error) {
	if strings.Contains(name, r.dir) && r.held != nil {
		if r.left--; r.left < 0 {
			r.held.Close()
			r.held = nil
		}
	}
	return r.FS.Lock(name)
}

// elsewhere takes a lock like another process.
func elsewhere(t *testing.T, name string) io.Closer {
	t.Helper()
	l, err := OS{}.Lock(name)
	must(t, err)
	return l
}

func TestOpen_WaitsForALockThatAKilledProcessHoldsForAMoment(t *testing.T) {
	s := newStore(t, Config{})
	saved(t, s, "a", 1)
	s.files = &reluctant{FS: OS{}, dir: locksName, held: elsewhere(t, s.lockPath("a")), left: 3}
	s.waits.lock = time.Hour
	must(t, open(t, s, "a").Close())
	must(t, s.Delete(t.Context(), "a"))
}

func TestOpen_ReturnsErrLockedAfterATimeout(t *testing.T) {
	s := newStore(t, Config{})
	saved(t, s, "a", 1)
	defer elsewhere(t, s.lockPath("a")).Close()
	s.waits.lock = 5 * time.Millisecond
	if _, err := s.Open(t.Context(), "a"); !errors.Is(err, event.ErrLocked) {
		t.Errorf("open: %v", err)
	}
	if err := s.Delete(t.Context(), "a"); !errors.Is(err, event.ErrLocked) {
		t.Errorf("delete: %v", err)
	}
	s.waits.lock = time.Hour
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	if _, err := s.lock(ctx, "a"); !errors.Is(err, cause) {
		t.Errorf("lock: %v", err)
	}
	if !s.claim("a") {
		t.Error("the session is still claimed")
	}
}

func TestOpen_WaitsASecondForALockAndAMinuteForCommands(t *testing.T) {
	s := newStore(t, Config{})
	if got, want := s.waits, (waits{lock: time.Second, lease: time.Minute, notice: time.Second}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// holder keeps a copy of the file, like a child process.
type holder struct {
	copies   []*os.File
	released int
	dup      func(*os.File) *os.File
}

func (h *holder) Hold(f *os.File) (release func()) {
	h.copies = append(h.copies, h.dup(f))
	return func() { h.released++ }
}

func TestOpen_WaitsForCommandsOfAKilledProcess(t *testing.T) {
	s := newStore(t, Config{})
	saved(t, s, "a", 1)
	must(t, os.MkdirAll(s.dir+"/"+leasesName, dirPerm))
	held := elsewhere(t, s.leasePath("a"))
	told := 0
	s.waits.notice = time.Millisecond
	s.waiting = func(id string) {
		if told++; id != "a" {
			t.Errorf("Waiting got %q, want a", id)
		}
		held.Close()
	}
	must(t, open(t, s, "a").Close())
	if told != 1 {
		t.Errorf("Waiting was called %d times, want 1", told)
	}

	held = elsewhere(t, s.leasePath("a"))
	defer held.Close()
	s.waiting, s.waits.lease = nil, 5*time.Millisecond
	if _, err := s.Open(t.Context(), "a"); !errors.Is(err, ErrEnding) {
		t.Errorf("open: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.waits.lease = time.Hour
	if _, err := s.lock(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("lock: %v", err)
	}
}
