package event

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"sync"
	"time"
)

// Memory is a store in memory, for tests and sessions that need not outlive the process. The zero value is an empty
// store.
type Memory struct {
	mu       sync.Mutex
	sessions map[string]*memorySession // by folded id
}

type memorySession struct {
	meta    Meta
	records []Record
	blobs   map[string][]byte
	locked  bool
}

var _ Store = (*Memory)(nil)

// Create creates a session.
func (s *Memory) Create(ctx context.Context, m Meta) (Writer, error) {
	if err := cmp.Or(context.Cause(ctx), CheckID(m.ID)); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[FoldID(m.ID)] != nil {
		return nil, fmt.Errorf("session %s %w", m.ID, ErrExists)
	}
	if s.sessions == nil {
		s.sessions = make(map[string]*memorySession)
	}
	m.Last, m.Updated = 0, time.Now()
	if m.Created.IsZero() {
		m.Created = m.Updated
	}
	session := &memorySession{meta: m.Clone(), blobs: make(map[string][]byte), locked: true}
	s.sessions[FoldID(m.ID)] = session
	return &memoryWriter{store: s, session: session}, nil
}

// Open opens a session for writing.
func (s *Memory) Open(ctx context.Context, id string) (Writer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	session, err := s.find(ctx, id)
	if err != nil {
		return nil, err
	}
	if session.locked {
		return nil, fmt.Errorf("session %s %w", id, ErrLocked)
	}
	session.locked = true
	return &memoryWriter{store: s, session: session}, nil
}

func (s *Memory) find(ctx context.Context, id string) (*memorySession, error) {
	if err := cmp.Or(context.Cause(ctx), CheckID(id)); err != nil {
		return nil, err
	}
	session := s.sessions[FoldID(id)]
	if session == nil || session.meta.ID != id {
		return nil, fmt.Errorf("session %s %w", id, ErrNotFound)
	}
	return session, nil
}

// Load yields the records that a session has now.
func (s *Memory) Load(ctx context.Context, id string, after Seq) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		s.mu.Lock()
		session, err := s.find(ctx, id)
		var records []Record
		if err == nil {
			records = session.records
		}
		s.mu.Unlock()
		if err != nil {
			yield(Record{}, err)
			return
		}
		yieldAll(ctx, records[min(after, Seq(len(records))):], yield)
	}
}

// yieldAll yields values until ctx is done.
func yieldAll[T any](ctx context.Context, values []T, yield func(T, error) bool) {
	for _, v := range values {
		if err := context.Cause(ctx); err != nil {
			var none T
			yield(none, err)
			return
		}
		if !yield(v, nil) {
			return
		}
	}
}

// Meta describes a session. It returns ErrNotFound if the session does not exist.
func (s *Memory) Meta(ctx context.Context, id string) (Meta, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	session, err := s.find(ctx, id)
	if err != nil {
		return Meta{}, err
	}
	return session.meta.Clone(), nil
}

// List describes all sessions, most recently written first.
func (s *Memory) List(ctx context.Context) iter.Seq2[Meta, error] {
	return func(yield func(Meta, error) bool) {
		s.mu.Lock()
		metas := make([]Meta, 0, len(s.sessions))
		for _, session := range s.sessions {
			metas = append(metas, session.meta.Clone())
		}
		s.mu.Unlock()
		slices.SortFunc(metas, Meta.Compare)
		yieldAll(ctx, metas, yield)
	}
}

// OpenBlob opens a blob of a session for reading. The caller closes it.
func (s *Memory) OpenBlob(ctx context.Context, id, hash string) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	session, err := s.find(ctx, id)
	if err != nil {
		return nil, err
	}
	data, ok := session.blobs[hash]
	if !ok {
		return nil, fmt.Errorf("session %s has no blob %q: %w", id, hash, fs.ErrNotExist)
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

// Delete removes a session.
func (s *Memory) Delete(ctx context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	session, err := s.find(ctx, id)
	if err != nil {
		return err
	}
	if session.locked {
		return fmt.Errorf("session %s %w", id, ErrLocked)
	}
	delete(s.sessions, FoldID(id))
	return nil
}

type memoryWriter struct {
	store   *Memory
	session *memorySession
	closed  bool
}

// update runs f with the store locked, unless the writer cannot write.
func (w *memoryWriter) update(ctx context.Context, f func(*memorySession) error) error {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if w.closed {
		return fmt.Errorf("cannot save session %s: %w", w.session.meta.ID, fs.ErrClosed)
	}
	return f(w.session)
}

func (w *memoryWriter) Append(ctx context.Context, records ...Record) error {
	return w.update(ctx, func(s *memorySession) error {
		m := s.meta
		for _, r := range records {
			if err := m.Advance(r); err != nil {
				return err
			}
		}
		s.meta, s.records = m, append(s.records, records...)
		return nil
	})
}

func (w *memoryWriter) PutBlob(ctx context.Context, data io.Reader) (string, int64, error) {
	b, err := io.ReadAll(data)
	if err != nil {
		return "", 0, err
	}
	sum := sha256.Sum256(b)
	hash := hex.EncodeToString(sum[:])
	err = w.update(ctx, func(s *memorySession) error {
		s.blobs[hash] = b
		return nil
	})
	return hash, int64(len(b)), err
}

func (w *memoryWriter) SetMeta(ctx context.Context, m Meta) error {
	return w.update(ctx, func(s *memorySession) error {
		s.meta = s.meta.Replace(m)
		return nil
	})
}

func (w *memoryWriter) Close() error {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	if !w.closed {
		w.closed, w.session.locked = true, false
	}
	return nil
}
