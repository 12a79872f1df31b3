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

// ErrEnding means that commands of a killed process are still being stopped.
var ErrEnding = errors.New("commands of a killed process are still being stopped")

// waits are maximum waiting times.
type waits struct {
	// lock limits the wait for a session lock. A killed process's child, between fork and exec, may still hold it for a
	// moment.
	lock time.Duration
	// lease limits the wait for a killed process's commands; after notice, Config.Waiting is called.
	lease, notice time.Duration
}

var defaultWaits = waits{lock: time.Second, lease: time.Minute, notice: time.Second}

func (s *Store) lockPath(id string) string { return filepath.Join(s.dir, locksName, event.FoldID(id)) }

func (s *Store) leasePath(id string) string {
	return filepath.Join(s.dir, leasesName, event.FoldID(id))
}

// lock locks a session for writing. It waits until all commands started by a killed writer have ended.
func (s *Store) lock(ctx context.Context, id string) (io.Closer, error) {
	if !s.claim(id) {
		return nil, fmt.Errorf("session %s %w", id, event.ErrLocked)
	}
	l, err := s.await(ctx, s.lockPath(id), s.waits.lock, nil)
	if errors.Is(err, ErrHeld) {
		err = fmt.Errorf("session %s %w", id, event.ErrLocked)
	} else if err != nil {
		err = fmt.Errorf("cannot open session %s: %w", id, err)
	}
	if err == nil {
		if err = s.awaitLease(ctx, id); err != nil {
			err = errors.Join(err, l.Close())
		}
	}
	if err != nil {
		s.unclaim(id)
		return nil, err
	}
	return &claimed{l, s, id}, nil
}

// claim marks a session as open in this store. It reports false if the session already is open: waiting would be
// pointless.
func (s *Store) claim(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.claims[event.FoldID(id)] {
		return false
	}
	s.claims[event.FoldID(id)] = true
	return true
}

func (s *Store) unclaim(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.claims, event.FoldID(id))
}

// claimed is a session lock that ends its claim.
type claimed struct {
	io.Closer
	store *Store
	id    string
}

func (c *claimed) Close() error {
	err := c.Closer.Close()
	c.store.unclaim(c.id)
	return err
}

// awaitLease waits until the session lease is free.
func (s *Store) awaitLease(ctx context.Context, id string) error {
	if _, err := s.files.Stat(s.leasePath(id)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var notice func()
	if s.waiting != nil {
		notice = func() { s.waiting(id) }
	}
	l, err := s.await(ctx, s.leasePath(id), s.waits.lease, notice)
	switch {
	case errors.Is(err, ErrHeld):
		return fmt.Errorf("cannot open session %s: %w after %v; end them or try again later", id, ErrEnding, s.waits.lease)
	case err != nil:
		return fmt.Errorf("cannot open session %s: %w", id, err)
	}
	return l.Close()
}

// await takes a lock. It waits no longer than timeout, and calls notice if it takes long.
func (s *Store) await(ctx context.Context, name string, timeout time.Duration, notice func()) (io.Closer, error) {
	start := time.Now()
	for pause := time.Millisecond; ; pause = min(2*pause, 25*time.Millisecond) {
		l, err := s.files.Lock(name)
		waited := time.Since(start)
		if !errors.Is(err, ErrHeld) || waited >= timeout {
			return l, err
		}
		if notice != nil && waited >= s.waits.notice {
			notice()
			notice = nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(min(pause, timeout-waited)):
		}
	}
}

// Lease makes h hold a locked file. Opening the session waits for that lock. See [event.Leaser].
func (w *writer) Lease(h event.Holder) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(context.Background()); err != nil || w.lease != nil {
		return err
	}
	l, err := w.store.files.Lock(w.store.leasePath(w.id))
	if err != nil {
		return fmt.Errorf("cannot lease session %s: %w", w.id, err)
	}
	w.lease = l
	if file, ok := l.(heldLock); ok {
		w.release = h.Hold(file.File)
	}
	return nil
}

// endLease ends the lease; w.mu is held.
func (w *writer) endLease() error {
	if w.lease == nil {
		return nil
	}
	if w.release != nil {
		w.release()
	}
	return w.lease.Close()
}
