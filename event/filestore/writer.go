package filestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"github.com/reins-agent/reins/event"
)

const (
	// indexStep is how much a log grows before meta.json is written again. It limits how much must be read to list a
	// session whose writer was killed.
	indexStep = 256 << 10
	// maxBuffer is the largest buffer that a writer keeps between calls.
	maxBuffer = 128 << 10
)

// writer writes a session. Its methods may be called concurrently. Once writing has failed, every call returns the same
// error: the session must be opened again to find out which records were saved.
type writer struct {
	store *Store
	id    string
	log   File
	lock  io.Closer

	mu      sync.Mutex
	disk    index // state on disk
	indexed int64 // log bytes that meta.json covers
	buffer  []byte
	err     error // first failure
	closed  bool
	blobs   int            // blobs started
	saving  sync.WaitGroup // blobs being written

	lease   io.Closer // nil if there is none
	release func()    // ends the holder's part of the lease
}

// Append adds records and returns when they are on disk.
func (w *writer) Append(ctx context.Context, records ...event.Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(ctx); err != nil || len(records) == 0 {
		return err
	}
	data, m := w.buffer[:0], w.disk.Meta
	for _, r := range records {
		start := len(data)
		var err error
		if data, err = event.AppendRecord(data, r); err == nil {
			data, err = endLine(data, start)
		}
		if err != nil {
			return w.explain(err)
		}
		if err := m.Advance(r); err != nil {
			return err
		}
	}
	if cap(data) <= maxBuffer {
		w.buffer = data
	}
	return w.commit(data, len(records), m)
}

// SetMeta changes the session description, and returns when it is on disk.
func (w *writer) SetMeta(ctx context.Context, m event.Meta) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(ctx); err != nil {
		return err
	}
	m = w.disk.Meta.Replace(m)
	data, err := appendJSON(nil, description{m})
	if err != nil {
		return w.explain(err)
	}
	return w.commit(data, 1, m)
}

// begin writes the log header and the description.
func (w *writer) begin() error {
	data, err := appendJSON(nil, header{format, w.id})
	if err == nil {
		data, err = appendJSON(data, description{w.disk.Meta})
	}
	if err != nil {
		return err
	}
	return w.commit(data, 2, w.disk.Meta)
}

func (w *writer) usable(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case w.err != nil:
		return w.err
	case w.closed:
		return w.explain(fs.ErrClosed)
	}
	return nil
}

func (w *writer) explain(err error) error { return fmt.Errorf("cannot save session %s: %w", w.id, err) }

// commit adds lines to the log, all or none of them.
func (w *writer) commit(data []byte, lines int, m event.Meta) error {
	_, err := w.log.WriteAt(data, w.disk.Size)
	if err == nil {
		err = w.log.Sync()
	}
	if err != nil {
		if undo := errors.Join(w.log.Truncate(w.disk.Size), w.log.Sync()); undo != nil {
			err = fmt.Errorf("%w; incomplete data could not be removed: %w", err, undo)
		}
		w.err = w.explain(err)
		return w.err
	}
	w.disk.Size += int64(len(data))
	w.disk.Lines += lines
	w.disk.Meta = m
	if w.disk.Size-w.indexed >= indexStep {
		w.saveIndex()
	}
	return nil
}

// saveIndex writes meta.json. It ignores errors, because the log contains everything.
func (w *writer) saveIndex() {
	if w.store.writeIndex(w.store.path(w.id), w.disk) == nil {
		w.indexed = w.disk.Size
	}
}

// Close waits for blobs being written and unlocks the session.
func (w *writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	w.closed = true
	w.saving.Wait()
	if w.err == nil && w.disk.Size != w.indexed {
		w.saveIndex()
	}
	return errors.Join(w.log.Close(), w.endLease(), w.lock.Close())
}
