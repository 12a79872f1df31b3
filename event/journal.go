package event

import (
	"context"
	"errors"
	"sync"
	"time"
)

// SaveError reports that a session could not be saved. Everything acknowledged before is safe. The session is closed,
// and can be resumed when the problem is fixed.
type SaveError struct{ Err error }

func (e *SaveError) Error() string {
	return "work stopped: " + e.Err.Error()
}

func (e *SaveError) Unwrap() error { return e.Err }

// linger is how long a record waits for others to be saved with it, unless Sync is called.
const linger = 3 * time.Millisecond

// Journal is a log that is saved in a store. Its methods may be called concurrently.
//
// Readers see a durable record once it is saved, so a crash loses nothing that a reader has seen. Records appended
// within a short time are saved together; [Journal.Sync] saves them at once. The first failed save is final: records
// appended later are shown to current readers only, and Sync returns a [*SaveError].
type Journal struct {
	*Log   // saved records
	writer Writer

	mu    sync.Mutex
	moved sync.Cond // signalled when a batch is done
	queue []Record  // durable and transient, in order
	held  *Record   // saved before the next record
	last  Seq       // last number assigned
	saved Seq
	timer *time.Timer // saves the queue; nil if it is not set
	busy  bool        // a batch is being saved
	err   error
}

// NewJournal returns a journal that continues after record last. l holds the known records up to it. Without a writer,
// the journal lasts as long as the process.
func NewJournal(l *Log, w Writer, last Seq) *Journal {
	j := &Journal{Log: l, writer: w, last: last, saved: last}
	j.moved.L = &j.mu
	return j
}

// Hold delays a record until another record is appended. If that is a SessionEnd, both are dropped, so that opening and
// closing a session does not change it.
func (j *Journal) Hold(r Record) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.held = &r
}

// Held reports whether a record is delayed.
func (j *Journal) Held() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.held != nil
}

// Append adds a record and returns it with its number and time. It does not wait until the record is saved. It reports
// false if no reader will see the record.
func (j *Journal) Append(r Record) (Record, bool) {
	if j.writer == nil {
		return j.Log.Append(r)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	transient := r.Kind().Transient()
	if j.held != nil && r.Kind() == KindSessionEnd {
		return r, false
	}
	if j.err != nil || transient && len(j.queue) == 0 && !j.busy {
		return r, j.Log.show(r)
	}
	if j.held != nil && !transient {
		first := *j.held
		j.held = nil
		j.enqueue(first)
	}
	r = j.enqueue(r)
	j.schedule()
	return r, true
}

// enqueue queues a record with its time and number; j.mu is held.
func (j *Journal) enqueue(r Record) Record {
	r.Time = time.Now()
	if !r.Kind().Transient() {
		j.last++
		r.Seq = j.last
	}
	j.queue = append(j.queue, r)
	return r
}

// schedule starts the timer that saves the queue; j.mu is held.
func (j *Journal) schedule() {
	if j.timer == nil && !j.busy && len(j.queue) > 0 {
		j.timer = time.AfterFunc(linger, func() {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.timer = nil
			if !j.busy {
				j.flush()
			}
		})
	}
}

// flush saves the queue; j.mu is held, but released while saving.
func (j *Journal) flush() {
	if j.timer != nil {
		j.timer.Stop()
		j.timer = nil
	}
	batch := j.queue
	j.queue, j.busy = nil, true
	if j.err == nil {
		j.mu.Unlock()
		err := j.save(batch)
		j.mu.Lock()
		j.err = err
	}
	j.publish(batch)
	j.busy = false
	j.moved.Broadcast()
	j.schedule()
}

func (j *Journal) save(batch []Record) error {
	durable := make([]Record, 0, len(batch))
	for _, r := range batch {
		if r.Durable() {
			durable = append(durable, r)
		}
	}
	if len(durable) == 0 {
		return nil
	}
	if err := Save(context.Background(), j.writer, durable...); err != nil {
		return &SaveError{err}
	}
	return nil
}

// publish shows a batch to readers. Records that could not be saved are shown to current readers only.
func (j *Journal) publish(batch []Record) {
	for _, r := range batch {
		switch {
		case j.err != nil || !r.Durable():
			j.Log.show(r)
		default:
			j.Log.Append(r)
			j.saved = r.Seq
		}
	}
}

// Sync saves all records appended so far, without delay.
func (j *Journal) Sync() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	last := j.last
	j.saveUntil(func() bool { return j.saved >= last || j.err != nil })
	return j.err
}

// saveUntil saves batches until done reports true; j.mu is held.
func (j *Journal) saveUntil(done func() bool) {
	for !done() {
		if j.busy {
			j.moved.Wait()
		} else {
			j.flush()
		}
	}
}

// SetMeta changes the session's description in the store.
func (j *Journal) SetMeta(ctx context.Context, m Meta) error {
	if j.writer == nil {
		return nil
	}
	if err := j.writer.SetMeta(ctx, m); err != nil {
		return &SaveError{err}
	}
	return nil
}

// Close saves the queue and closes the log and the writer.
func (j *Journal) Close() error {
	j.mu.Lock()
	j.saveUntil(func() bool { return len(j.queue) == 0 && !j.busy })
	err := j.err
	j.mu.Unlock()
	if j.writer != nil {
		err = errors.Join(err, j.writer.Close())
	}
	j.Log.Close()
	return err
}
