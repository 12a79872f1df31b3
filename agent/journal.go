package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// journal is an *event.Journal. Tests replace it to inject faults.
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
	if event.KindOf(d).Transient() {
		s.log.Append(event.Record{Session: s.id, Agent: s.path, Data: d})
		return
	}
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	s.note(d)
}

// note appends a durable fact to the log and applies it to the state, which nothing else changes. tree.mu is held, so
// that both see the records in the same order.
func (s *Session) note(d event.Data) {
	r, _ := s.log.Append(event.Record{Session: s.id, Agent: s.path, Data: d})
	s.tree.fold.Apply(r)
	s.wakeSteered()
}

// keep updates the session description in the store and returns when everything is saved.
func (s *Session) keep(ctx context.Context) error {
	if err := s.describe(ctx); err != nil {
		return err
	}
	return s.log.Sync()
}

// describeEvery is how often the description is updated during work, for others who list sessions.
const describeEvery = 5 * time.Second

func (s *Session) describeIfOld(ctx context.Context) error {
	if time.Since(s.described) < describeEvery {
		return nil
	}
	return s.describe(ctx)
}

// describe updates the session description in the store.
func (s *Session) describe(ctx context.Context) error {
	if s.config.Store == nil || s.depth > 0 {
		return nil
	}
	s.describing.Lock()
	defer s.describing.Unlock()
	s.described = time.Now()
	total := s.Total()
	s.tree.mu.Lock()
	m, set := &s.meta, s.state.Setup()
	m.Provider = set.Provider
	m.Model = set.Model
	m.Dir = s.dir()
	m.Turns, m.Usage = s.state.Turns(), total.Usage
	m.Usage.Raw, m.Cost = nil, nil
	if total.Cost.Known {
		m.Cost = &total.Cost.Dollars
	}
	if m.Prompt == "" {
		m.Prompt = userText(slices.All(s.state.Messages()), 500)
	}
	if text := s.state.Text(); text != "" {
		m.Summary = shorten(text, 200)
	}
	s.tree.mu.Unlock()
	return s.log.SetMeta(context.WithoutCancel(ctx), *m)
}

// Title returns the session's title, or else its first prompt.
func (s *Session) Title() string {
	s.describing.Lock()
	defer s.describing.Unlock()
	return cmp.Or(s.meta.Title, s.meta.Prompt)
}

// SetTitle sets the session's title in the store, or clears it with "". The session may be working.
func (s *Session) SetTitle(ctx context.Context, title string) error {
	s.describing.Lock()
	defer s.describing.Unlock()
	s.meta.Title = title
	return s.log.SetMeta(ctx, s.meta)
}

// userText returns the start of the user's first message.
func userText(messages iter.Seq2[int, llm.Message], limit int) string {
	for _, msg := range messages {
		if msg.Role == llm.RoleUser {
			return shorten(msg.Text(), limit)
		}
	}
	return ""
}

// shorten returns the first line, truncated to at most most characters.
func shorten(text string, most int) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	n := 0
	for i := range line {
		if n++; n > most {
			return line[:i] + "…"
		}
	}
	return line
}

// SaveError reports that a session could not be written to its store. Everything acknowledged before is safe.
// The session is closed and can be resumed when the problem is fixed.
type SaveError = event.SaveError

// asEvent returns the record for an error.
func asEvent(err error) event.Error {
	rec := event.Error{Class: string(llm.KindOf(err)), Message: err.Error()}
	var e *llm.Error
	if errors.As(err, &e) {
		rec.Retryable, rec.Window = e.Retryable(), e.Window
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

// panicError is a panic in a callback.
type panicError struct {
	who   string
	value any
	stack string
}

func (e *panicError) Error() string { return fmt.Sprintf("%s panicked: %v", e.who, e.value) }

// guarded calls f and turns a panic into an error.
func guarded(who string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{who, v, string(debug.Stack())}
		}
	}()
	return f()
}
