//go:build unix

package filestore

import (
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// inherited returns a holder whose copies share the lock, as child processes do.
func inherited(t *testing.T) *holder {
	return &holder{dup: func(f *os.File) *os.File {
		fd, err := unix.Dup(int(f.Fd()))
		must(t, err)
		return os.NewFile(uintptr(fd), "copy")
	}}
}

func TestLease_OutlivesAKilledProcess(t *testing.T) {
	s := newStore(t, Config{})
	w := create(t, s, "a")
	h := inherited(t)
	must(t, w.Lease(h))
	must(t, w.Lease(h)) // has no effect
	if len(h.copies) != 1 {
		t.Fatalf("got %d held files, want 1", len(h.copies))
	}
	// Killing the process closes its files without unlocking them.
	must(t, w.lease.(heldLock).File.Close())
	must(t, w.lock.(*claimed).Closer.(heldLock).File.Close())
	must(t, w.log.Close())

	again := newStore(t, Config{Dir: s.dir})
	again.waits.lease = time.Millisecond
	if _, err := again.Open(t.Context(), "a"); !errors.Is(err, ErrEnding) {
		t.Errorf("open: %v", err)
	}
	must(t, h.copies[0].Close())
	must(t, open(t, again, "a").Close())
}

func TestLease_EndsWithTheWriter(t *testing.T) {
	s := newStore(t, Config{})
	w := create(t, s, "a")
	h := inherited(t)
	must(t, w.Lease(h))
	must(t, w.Close())
	defer h.copies[0].Close()
	if h.released != 1 {
		t.Errorf("released %d times, want 1", h.released)
	}
	s.waits.lease = 0
	w = open(t, s, "a")
	must(t, w.Lease(h))
	must(t, w.Close())
	h.copies[1].Close()
	must(t, s.Delete(t.Context(), "a"))
	if _, err := os.Stat(s.leasePath("a")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the lease file remains: %v", err)
	}
}
