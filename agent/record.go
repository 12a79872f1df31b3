package agent

import (
	"context"
	"errors"
	"iter"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// journal is where a tree of agents records what happens. An *event.Log is one.
type journal interface {
	Append(event.Record) (event.Record, bool)
	Records(after event.Seq) []event.Record
	Events(ctx context.Context, after event.Seq) iter.Seq2[event.Record, error]
	Last() event.Seq
	Close()
}

// record adds to the log.
func (s *Session) record(d event.Data) {
	s.log.Append(event.Record{Session: s.id, Agent: s.path, Data: d})
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
	return rec
}
