package agent

import (
	"context"
	"errors"
	"iter"

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
// safe; the session is closed, and can be resumed when the cause is gone.
type SaveError = event.SaveError

// memoryLog is a journal that lasts as long as the process.
type memoryLog struct{ event.Log }

func (l *memoryLog) Sync() error { return nil }

func (l *memoryLog) Close() error {
	l.Log.Close()
	return nil
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
