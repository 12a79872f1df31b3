package agent

import (
	"context"
	"errors"
	"iter"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// journal is an *event.Journal, or one that tests have tampered with.
type journal interface {
	Append(event.Record) (event.Record, bool)
	Records(after event.Seq) []event.Record
	Events(ctx context.Context, after event.Seq) iter.Seq2[event.Record, error]
	Last() event.Seq
	Sync() error
	SetMeta(context.Context, event.Meta) error
	Close() error
}

// record appends to the log and, if the fact is durable, applies it to the state.
func (s *Session) record(d event.Data) {
	if d.Kind().Transient() {
		s.log.Append(event.Record{Session: s.id, Agent: s.path, Data: d})
		return
	}
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	s.note(d)
}

// note appends a durable fact to the log and applies it to the state, which nothing else changes. tree.mu
// is held, so that both see the records in the same order.
func (s *Session) note(d event.Data) {
	r, _ := s.log.Append(event.Record{Session: s.id, Agent: s.path, Data: d})
	s.tree.fold.Apply(r)
}

// SaveError says that a session could not be written to its store. What was acknowledged before is
// safe. The session is closed and can be resumed when the cause is gone.
type SaveError = event.SaveError

// asEvent returns the record of an error.
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
		rec.Class = event.ClassSave
	}
	return rec
}
