package event

import (
	"context"
	"errors"
	"sync"
	"time"
)

// SaveError says that a session could not be written to its store. What was acknowledged before is
// safe; the session is closed, and can be resumed when the cause is gone.
type SaveError struct{ Err error }

func (e *SaveError) Error() string {
	return "the work was stopped, because the session can no longer be saved: " + e.Err.Error()
}

func (e *SaveError) Unwrap() error { return e.Err }

// linger is how long a record waits for others to be saved with it, unless somebody waits for it.
const linger = 3 * time.Millisecond

// Journal is a log in a store. Readers see a durable record when it is safe, so that nobody
// has seen what a crash takes back. What is appended within a short time is saved together.
type Journal struct {
	*Log   // what is safe
	writer Writer

	mu    sync.Mutex
	moved sync.Cond // told when a batch is done
	queue []Record  // in order, what is transient too
	held  *Record   // what comes first, if anything else ever does
	last  Seq       // given out
	saved Seq
	timer *time.Timer // that will save what waits; nil if there is none
	busy  bool        // somebody is saving
	err   error
}

// NewJournal returns a journal that continues after the record last. The log holds the known records up
// to it. A journal without a writer lasts as long as the process.
func NewJournal(l *Log, w Writer, last Seq) *Journal {
	j := &Journal{Log: l, writer: w, last: last, saved: last}
	j.moved.L = &j.mu
	return j
}

// Hold keeps a record back until there is another one after it. Without one, the end of the session
// is not recorded either: who only looks leaves no trace.
func (j *Journal) Hold(r Record) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.held = &r
}

// Held reports whether a record is being kept back.
func (j *Journal) Held() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.held != nil
}

// Append adds a record and returns it with its number and time. It reports false if the record is not
// shown to anybody.
func (j *Journal) Append(r Record) (Record, bool) {
	if j.writer == nil {
		return j.Log.Append(r)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	transient := r.Kind().Transient()
	if j.held != nil && r.Kind() == KindSessionEnd {
		return r, false // nothing happened: nobody is told of an end that is not kept
	}
	if j.err != nil || transient && len(j.queue) == 0 && !j.busy {
		return r, j.Log.Show(r)
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

// enqueue lets a record wait, with its time and number; j.mu is held.
func (j *Journal) enqueue(r Record) Record {
	r.Time = time.Now()
	if !r.Kind().Transient() {
		j.last++
		r.Seq = j.last
	}
	j.queue = append(j.queue, r)
	return r
}

// schedule sees to it that what waits is saved soon; j.mu is held.
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

// flush saves what waits; j.mu is held, but not while the disk is at work.
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

// publish lets readers see what was saved. What was not they see only while they follow.
func (j *Journal) publish(batch []Record) {
	for _, r := range batch {
		switch {
		case j.err != nil || !r.Durable():
			j.Log.Show(r)
		default:
			j.Log.Append(r)
			j.saved = r.Seq
		}
	}
}

// Sync saves what waits itself if nobody else does.
func (j *Journal) Sync() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.reach(j.last)
	return j.err
}

// reach returns when the record of this number is safe, or none can be any more; j.mu is held.
func (j *Journal) reach(want Seq) {
	for j.saved < want && j.err == nil {
		if j.busy {
			j.moved.Wait()
		} else {
			j.flush()
		}
	}
}

// SetMeta describes the session to the store.
func (j *Journal) SetMeta(ctx context.Context, m Meta) error {
	if j.writer == nil {
		return nil
	}
	if err := j.writer.SetMeta(ctx, m); err != nil {
		return &SaveError{err}
	}
	return nil
}

// Close saves what waits, and releases the session.
func (j *Journal) Close() error {
	j.mu.Lock()
	j.reach(j.last)
	for len(j.queue) > 0 || j.busy { // what is transient, or came after a failure
		if j.busy {
			j.moved.Wait()
		} else {
			j.flush()
		}
	}
	err := j.err
	j.mu.Unlock()
	if j.writer != nil {
		err = errors.Join(err, j.writer.Close())
	}
	j.Log.Close()
	return err
}
