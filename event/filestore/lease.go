package filestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/reins-agent/reins/event"
)

// ErrEnding says that commands of a killed process are still being ended.
var ErrEnding = errors.New("commands of a killed process are still being ended")

// patience says how long to wait for what others hold.
type patience struct {
	// lock is for a session that is open elsewhere. A process that was killed may still hold the
	// lock for a moment: a child of it that was about to begin has all its files.
	lock time.Duration
	// lease is for what a killed process left behind, and notice is when to say so.
	lease, notice time.Duration
}

var usualPatience = patience{lock: time.Second, lease: time.Minute, notice: time.Second}

func (s *Store) leasePath(id string) string {
	return filepath.Join(s.dir, leasesName, event.FoldID(id))
}

// lock makes the caller the one who may change a session. It waits until nothing that a killed
// process started for the session is alive.
func (s *Store) lock(ctx context.Context, id string) (io.Closer, error) {
	if !s.claim(id) {
		return nil, fmt.Errorf("session %s %w", id, event.ErrLocked)
	}
	l, err := s.await(ctx, s.lockPath(id), s.patience.lock, nil)
	if errors.Is(err, ErrHeld) {
		err = fmt.Errorf("session %s %w", id, event.ErrLocked)
	} else if err != nil {
		err = fmt.Errorf("session %s cannot be written: %w", id, err)
	}
	if err == nil {
		if err = s.awaitLease(ctx, id); err != nil {
			err = errors.Join(err, l.Close())
		}
	}
	if err != nil {
		s.disclaim(id)
		return nil, err
	}
	return &claimed{l, s, id}, nil
}

// claim notes that this store has a session open. Only the locks of others are worth waiting for.
func (s *Store) claim(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.claims[event.FoldID(id)] {
		return false
	}
	s.claims[event.FoldID(id)] = true
	return true
}

func (s *Store) disclaim(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.claims, event.FoldID(id))
}

// claimed is the lock of a session.
type claimed struct {
	io.Closer
	store *Store
	id    string
}

func (c *claimed) Close() error {
	err := c.Closer.Close()
	c.store.disclaim(c.id)
	return err
}

// awaitLease waits until nobody has the lease of a session, which most sessions never had.
func (s *Store) awaitLease(ctx context.Context, id string) error {
	if _, err := s.files.Stat(s.leasePath(id)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var notice func()
	if s.waiting != nil {
		notice = func() { s.waiting(id) }
	}
	l, err := s.await(ctx, s.leasePath(id), s.patience.lease, notice)
	switch {
	case errors.Is(err, ErrHeld):
		return fmt.Errorf("session %s cannot be opened: %w, and have been for %v; end them, or try again later", id, ErrEnding, s.patience.lease)
	case err != nil:
		return fmt.Errorf("session %s cannot be opened: %w", id, err)
	}
	return l.Close()
}

// await takes a lock, for which it waits at most for the given time. The function is called if it
// takes long.
func (s *Store) await(ctx context.Context, name string, most time.Duration, notice func()) (io.Closer, error) {
	start := time.Now()
	for pause := time.Millisecond; ; pause = min(2*pause, 25*time.Millisecond) {
		l, err := s.files.Lock(name)
		waited := time.Since(start)
		if !errors.Is(err, ErrHeld) || waited >= most {
			return l, err
		}
		if notice != nil && waited >= s.patience.notice {
			notice()
			notice = nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(min(pause, most-waited)):
		}
	}
}

// Lease has h hold the lease of the session: a locked file, which others wait for when they open the
// session. See [event.Leaser].
func (w *Writer) Lease(h event.Holder) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(func(*event.Meta) error { return nil }, nil); err != nil || w.lease != nil {
		return err
	}
	l, err := w.store.files.Lock(w.store.leasePath(w.id))
	if err != nil {
		return fmt.Errorf("the lease of session %s cannot be taken: %w", w.id, err)
	}
	w.lease = l
	if file, ok := l.(heldLock); ok {
		w.release = h.Hold(file.File)
	}
	return nil
}

// endLease gives the lease back; w.mu is held.
func (w *Writer) endLease() error {
	if w.lease == nil {
		return nil
	}
	if w.release != nil {
		w.release()
	}
	return w.lease.Close()
}
