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

// indexStep is how much a log grows before meta.json is written anew, and so about how much of a
// log is read at most to list a session whose writer was killed.
const indexStep = 256 << 10

// spareSize bounds the buffer that a writer keeps, for many are idle.
const spareSize = 128 << 10

// Writer writes one session. Its methods may be called concurrently. When writing has failed once
// the writer gives the same error again and again: what is safe is known only by opening the
// session anew.
type Writer struct {
	store *Store
	id    string
	log   File
	lock  io.Closer
	torn  int64

	lease   io.Closer // nil if there is none
	release func()    // takes it from its holder

	mu     sync.Mutex
	idle   sync.Cond  // told when busy ends
	meta   event.Meta // as it will be when all that is queued is on the disk
	queue  *batch     // what waits for the disk
	spare  []byte     // a buffer to use again
	busy   bool       // a goroutine is writing
	err    error      // the first failure
	closed bool
	blobs  int            // how many were begun
	saving sync.WaitGroup // of blobs

	// The following belong to the goroutine that is writing, or to nobody.
	disk    index // what is on the disk
	indexed int64 // how much of that meta.json covers
}

// batch is what goes to the disk together.
type batch struct {
	data  []byte
	lines int
	meta  event.Meta
	done  chan struct{} // closed when err is known
	err   error
}

func newWriter(s *Store, log File, lock io.Closer, x index) *Writer {
	w := &Writer{store: s, id: x.Meta.ID, log: log, lock: lock, meta: x.Meta, disk: x}
	w.idle.L = &w.mu
	return w
}

// Torn is the size of the unfinished line that a crash had left at the end of the log and that
// opening it moved to torn.jsonl.
func (w *Writer) Torn() int64 { return w.torn }

// Append adds records and returns when they are on the disk. It can be cancelled before they are
// on their way, not after.
func (w *Writer) Append(ctx context.Context, records ...event.Record) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return w.add(records, true)()
}

// Queue adds records without waiting for the disk, in the order of the calls. The function that it
// returns waits until they are safe; it may be called any number of times, or not at all.
func (w *Writer) Queue(records ...event.Record) (wait func() error) { return w.add(records, false) }

// add is Queue, or the first half of Append.
func (w *Writer) add(records []event.Record, waits bool) (wait func() error) {
	if len(records) == 0 {
		return func() error { return nil }
	}
	data := w.buffer()
	for _, r := range records {
		start := len(data)
		var err error
		data, err = event.AppendRecord(data, r)
		if err == nil {
			data, err = endLine(data, start)
		}
		if err != nil {
			err = w.explain(err)
			return func() error { return err }
		}
	}
	return w.push(data, len(records), waits, func(m *event.Meta) error {
		for _, r := range records {
			if err := m.Advance(r); err != nil {
				return err
			}
		}
		return nil
	})
}

// buffer is an empty one, perhaps to use again.
func (w *Writer) buffer() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := w.spare
	w.spare = nil
	return b[:0]
}

// SetMeta changes the description of the session, and returns when it is on the disk.
func (w *Writer) SetMeta(ctx context.Context, m event.Meta) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	w.mu.Lock()
	m = w.meta.Replace(m)
	w.mu.Unlock()
	data, err := appendJSON(nil, description{m})
	if err != nil {
		return w.explain(err)
	}
	return w.push(data, 1, true, func(now *event.Meta) error {
		*now = now.Replace(m)
		return nil
	})()
}

// begin writes the header of the log, and the description if there is one.
func (w *Writer) begin(m event.Meta) error {
	data, err := appendJSON(nil, header{w.store.formats.current(), w.id})
	lines := 1
	if err == nil && m.ID != "" {
		data, err = appendJSON(data, description{m})
		lines++
	}
	if err != nil {
		return err
	}
	return w.push(data, lines, true, func(*event.Meta) error { return nil })()
}

// push adds lines, whose buffer it takes, to the next batch, and has that written. The caller says
// if it waits at once: then it may be the one who writes.
func (w *Writer) push(data []byte, lines int, waits bool, change func(*event.Meta) error) (wait func() error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.meta
	if err := w.usable(change, &m); err != nil {
		return func() error { return err }
	}
	if w.queue == nil {
		w.queue = &batch{data: data, done: make(chan struct{})}
	} else {
		w.queue.data = append(w.queue.data, data...)
	}
	b := w.queue
	b.lines += lines
	b.meta, w.meta = m, m
	write := func() {}
	if !w.busy {
		w.busy = true
		if waits {
			write = w.write
		} else {
			go w.run()
		}
	}
	return func() error {
		write()
		<-b.done
		return b.err
	}
}

// usable says why a change cannot be made.
func (w *Writer) usable(change func(*event.Meta) error, m *event.Meta) error {
	switch {
	case w.err != nil:
		return w.err
	case w.closed:
		return w.explain(fs.ErrClosed)
	}
	return change(m)
}

func (w *Writer) explain(err error) error {
	return fmt.Errorf("session %s was not saved: %w", w.id, err)
}

// write writes what is queued, and leaves what else there is to do to another goroutine.
func (w *Writer) write() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next()
	if w.queue != nil || w.unindexed() {
		go w.run()
		return
	}
	w.rest()
}

// run does what there is to do until there is nothing.
func (w *Writer) run() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		if w.unindexed() {
			w.mu.Unlock()
			w.saveIndex()
			w.mu.Lock()
		}
		if w.queue == nil {
			break
		}
		w.next()
	}
	w.rest()
}

// next writes what is queued. The mutex is held, but not while the disk is busy.
func (w *Writer) next() {
	b := w.queue
	w.queue = nil
	if w.err == nil {
		w.mu.Unlock()
		err := w.commit(b)
		w.mu.Lock()
		w.err = err
	}
	b.err = w.err
	close(b.done)
	if cap(b.data) <= spareSize {
		w.spare = b.data
	}
}

// unindexed reports whether meta.json is to be written anew.
func (w *Writer) unindexed() bool { return w.err == nil && w.disk.Size-w.indexed >= indexStep }

// rest ends the writing.
func (w *Writer) rest() {
	w.busy = false
	w.idle.Broadcast()
}

// commit puts a batch on the disk, whole or not at all.
func (w *Writer) commit(b *batch) error {
	_, err := w.log.WriteAt(b.data, w.disk.Size)
	if err == nil {
		err = w.log.Sync()
	}
	if err != nil {
		if undo := errors.Join(w.log.Truncate(w.disk.Size), w.log.Sync()); undo != nil {
			err = fmt.Errorf("%w; what was written of it could not be taken back: %w", err, undo)
		}
		return w.explain(err)
	}
	w.disk.Size += int64(len(b.data))
	w.disk.Lines += b.lines
	w.disk.Meta = b.meta
	return nil
}

// saveIndex writes meta.json. If that fails the log is still there to be read instead.
func (w *Writer) saveIndex() {
	if w.store.writeIndex(w.store.path(w.id), w.disk) == nil {
		w.indexed = w.disk.Size
	}
}

// Close waits for what is queued and gives the session back.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	w.closed = true
	w.settle()
	if w.err == nil && w.disk.Size != w.indexed {
		w.saveIndex()
	}
	return errors.Join(w.log.Close(), w.endLease(), w.lock.Close())
}

// settle waits, with the mutex held, until nothing is on its way.
func (w *Writer) settle() {
	for w.busy {
		w.idle.Wait()
	}
	w.mu.Unlock()
	w.saving.Wait()
	w.mu.Lock()
}
