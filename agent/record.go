package agent

import (
	"errors"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

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
