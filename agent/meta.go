package agent

import (
	"context"
	"strings"
	"time"

	"github.com/reins-agent/reins/llm"
)

// keep updates the description of the session in the store and returns when everything is saved.
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

// describe updates the description of the session in the store.
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

// shorten returns the first line of a text, truncated to a number of characters.
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
