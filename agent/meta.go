package agent

import (
	"context"
	"strings"
	"time"

	"github.com/reins-agent/reins/llm"
)

// keep brings what the store tells about the session up to date, and returns when all that happened is
// safe there.
func (s *Session) keep(ctx context.Context) error {
	if err := s.describe(ctx); err != nil {
		return err
	}
	return s.log.Sync()
}

// describeEvery is how old what the store tells about a session may be while it works, so that
// others can watch it, and know about it if it is cut off.
const describeEvery = 5 * time.Second

// describeIfOld brings what the store tells up to date if it is old.
func (s *Session) describeIfOld(ctx context.Context) error {
	if time.Since(s.described) < describeEvery {
		return nil
	}
	return s.describe(ctx)
}

// describe brings what the store tells about the session up to date.
func (s *Session) describe(ctx context.Context) error {
	if s.config.Store == nil || s.depth > 0 {
		return nil
	}
	s.described = time.Now()
	total := s.Total()
	s.tree.mu.Lock()
	m, set := &s.meta, s.state.Setup()
	m.Provider, m.Model, m.Dir = set.Provider, set.Model, s.dir()
	m.Turns, m.Usage = s.state.Turns(), total.Usage
	m.Usage.Raw, m.Cost = nil, nil
	if total.Cost.Known {
		m.Cost = &total.Cost.Dollars
	}
	if m.Prompt == "" {
		m.Prompt = firstPrompt(s.state.Messages())
	}
	if text := s.state.Text(); text != "" {
		m.Summary = shorten(text, 200)
	}
	s.tree.mu.Unlock()
	return s.log.SetMeta(context.WithoutCancel(ctx), *m)
}

func firstPrompt(messages []llm.Message) string {
	for _, msg := range messages {
		if msg.Role == llm.RoleUser {
			return shorten(msg.Text(), 500)
		}
	}
	return ""
}

// shorten is the first line of a text, not longer than so many characters.
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
