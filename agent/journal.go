package agent

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// journal is where a tree of agents records what happens.
type journal interface {
	Append(event.Record) (event.Record, bool)
	Records(after event.Seq) []event.Record
	Events(ctx context.Context, after event.Seq) iter.Seq2[event.Record, error]
	Last() event.Seq
	// Sync returns when all that was appended is safe, or says why it is not.
	Sync() error
	Close() error
}

// record adds to the log and, if it is durable, to the state.
func (s *Session) record(d event.Data) {
	if d.Kind().Transient() {
		s.log.Append(event.Record{Session: s.id, Agent: s.path, Data: d})
		return
	}
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	s.note(d)
}

// note adds a durable fact to the log and to the state, which is the only way to change that; tree.mu is
// held, so that both see the records in the same order.
func (s *Session) note(d event.Data) {
	r, _ := s.log.Append(event.Record{Session: s.id, Agent: s.path, Data: d})
	s.tree.fold.Apply(r)
}

// SaveError says that a session could not be written to its store. What was acknowledged before is
// safe; the session is closed, and can be resumed when the cause is mended.
type SaveError struct{ Err error }

func (e *SaveError) Error() string {
	return "the work was stopped, because the session can no longer be saved: " + e.Err.Error()
}

func (e *SaveError) Unwrap() error { return e.Err }

// memoryLog is a journal that lasts as long as the process.
type memoryLog struct{ event.Log }

func (l *memoryLog) Sync() error { return nil }

func (l *memoryLog) Close() error {
	l.Log.Close()
	return nil
}

// linger is how long a record waits for others to be saved with it, unless somebody waits for it.
const linger = 3 * time.Millisecond

// savedLog is a journal in a store. Readers see a durable record when it is safe, so that nobody
// has seen what a crash takes back. What is appended within a short time is saved together.
type savedLog struct {
	*event.Log // what is safe
	writer     event.Writer

	mu    sync.Mutex
	moved sync.Cond      // told when a batch is done
	queue []event.Record // in order, what is transient too
	held  *event.Record  // what comes first, if anything else ever does
	last  event.Seq      // given out
	saved event.Seq
	timer *time.Timer // that will save what waits; nil if there is none
	busy  bool        // somebody is saving
	err   error
}

// newSavedLog goes on behind a record; those before it that are known are in the log.
func newSavedLog(l *event.Log, w event.Writer, last event.Seq) *savedLog {
	j := &savedLog{Log: l, writer: w, last: last, saved: last}
	j.moved.L = &j.mu
	return j
}

// Hold keeps a record back until there is another one behind it. Without one, the end of the session
// is not recorded either: who only looks leaves no trace.
func (j *savedLog) Hold(r event.Record) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.held = &r
}

func (j *savedLog) Append(r event.Record) (event.Record, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	transient := r.Kind().Transient()
	if j.held != nil && r.Kind() == event.KindSessionEnd {
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
func (j *savedLog) enqueue(r event.Record) event.Record {
	r.Time = time.Now()
	if !r.Kind().Transient() {
		j.last++
		r.Seq = j.last
	}
	j.queue = append(j.queue, r)
	return r
}

// schedule sees to it that what waits is saved soon; j.mu is held.
func (j *savedLog) schedule() {
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
func (j *savedLog) flush() {
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

func (j *savedLog) save(batch []event.Record) error {
	durable := make([]event.Record, 0, len(batch))
	for _, r := range batch {
		if r.Durable() {
			durable = append(durable, r)
		}
	}
	if len(durable) == 0 {
		return nil
	}
	if err := event.Save(context.Background(), j.writer, durable...); err != nil {
		return &SaveError{err}
	}
	return nil
}

// publish lets readers see what was saved. What was not they see only while they follow.
func (j *savedLog) publish(batch []event.Record) {
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
func (j *savedLog) Sync() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.reach(j.last)
	return j.err
}

// reach returns when the record of this number is safe, or none can be any more; j.mu is held.
func (j *savedLog) reach(want event.Seq) {
	for j.saved < want && j.err == nil {
		if j.busy {
			j.moved.Wait()
		} else {
			j.flush()
		}
	}
}

// Close saves what waits, and gives the session back to the store.
func (j *savedLog) Close() error {
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
	err = errors.Join(err, j.writer.Close())
	j.Log.Close()
	return err
}

// asEvent describes an error.
func asEvent(err error) event.Error {
	rec := event.Error{Class: string(llm.KindOf(err)), Message: err.Error()}
	var e *llm.Error
	if errors.As(err, &e) {
		rec.Retryable = e.Retryable()
	}
	var p *panicError
	if errors.As(err, &p) {
		rec.Class, rec.Stack = "panic", p.stack
	}
	var save *SaveError
	if errors.As(err, &save) {
		rec.Class = "save"
	}
	return rec
}
