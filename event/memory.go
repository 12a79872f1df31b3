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

// Memory is a store that lasts as long as the process. The zero value is ready.
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

// Create begins a session.
func (s *Memory) Create(ctx context.Context, m Meta) (Writer, error) {
	if err := cmp.Or(context.Cause(ctx), CheckID(m.ID)); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[FoldID(m.ID)] != nil {
		return nil, fmt.Errorf("%w: %s", ErrExists, m.ID)
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

// Open gives the writer of a session.
func (s *Memory) Open(ctx context.Context, id string) (Writer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	session, err := s.find(ctx, id)
	if err != nil {
		return nil, err
	}
	if session.locked {
		return nil, fmt.Errorf("%w: %s", ErrLocked, id)
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
		return nil, fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	return session, nil
}

// Load reads the records that a session has now.
func (s *Memory) Load(ctx context.Context, id string, after Seq) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		records, err := s.records(ctx, id)
		if err != nil {
			yield(Record{}, err)
			return
		}
		for _, r := range records[min(after, Seq(len(records))):] {
			if err := context.Cause(ctx); err != nil {
				yield(Record{}, err)
				return
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

func (s *Memory) records(ctx context.Context, id string) ([]Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	session, err := s.find(ctx, id)
	if err != nil {
		return nil, err
	}
	return slices.Clip(session.records), nil
}

// Meta describes a session.
func (s *Memory) Meta(ctx context.Context, id string) (Meta, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	session, err := s.find(ctx, id)
	if err != nil {
		return Meta{}, err
	}
	return session.meta.Clone(), nil
}

// List describes the sessions, the one written last first.
func (s *Memory) List(ctx context.Context) iter.Seq2[Meta, error] {
	return func(yield func(Meta, error) bool) {
		for _, m := range s.metas() {
			if err := context.Cause(ctx); err != nil {
				yield(Meta{}, err)
				return
			}
			if !yield(m, nil) {
				return
			}
		}
	}
}

func (s *Memory) metas() []Meta {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Meta, 0, len(s.sessions))
	for _, session := range s.sessions {
		out = append(out, session.meta.Clone())
	}
	slices.SortFunc(out, Meta.Compare)
	return out
}

// OpenBlob reads a blob.
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
		return fmt.Errorf("%w: %s", ErrLocked, id)
	}
	delete(s.sessions, FoldID(id))
	return nil
}

type memoryWriter struct {
	store   *Memory
	session *memorySession
	closed  bool
}

// check says whether the writer may write; the store is locked.
func (w *memoryWriter) check(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if w.closed {
		return fmt.Errorf("the writer of session %s is closed: %w", w.session.meta.ID, fs.ErrClosed)
	}
	return nil
}

func (w *memoryWriter) Append(ctx context.Context, records ...Record) error {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	if err := w.check(ctx); err != nil {
		return err
	}
	m := w.session.meta
	for _, r := range records {
		if err := m.Advance(r); err != nil {
			return err
		}
	}
	w.session.meta = m
	w.session.records = append(w.session.records, records...)
	return nil
}

func (w *memoryWriter) PutBlob(ctx context.Context, data io.Reader) (string, int64, error) {
	b, err := io.ReadAll(data)
	if err != nil {
		return "", 0, err
	}
	sum := sha256.Sum256(b)
	hash := hex.EncodeToString(sum[:])
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	if err := w.check(ctx); err != nil {
		return "", 0, err
	}
	w.session.blobs[hash] = b
	return hash, int64(len(b)), nil
}

func (w *memoryWriter) SetMeta(ctx context.Context, m Meta) error {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	if err := w.check(ctx); err != nil {
		return err
	}
	w.session.meta = w.session.meta.Replace(m)
	return nil
}

func (w *memoryWriter) Close() error {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	if !w.closed {
		w.closed, w.session.locked = true, false
	}
	return nil
}
