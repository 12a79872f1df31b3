package coding

import (
	"context"
	"errors"
	"iter"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// Run opens a session, works on a task until there is an outcome, and closes the session. The error is that of [Open],
// Submit or Close. Outcome.Refused lists what the agent was not allowed to do.
func Run(ctx context.Context, c Config, task string) (agent.Outcome, error) {
	s, err := Open(ctx, c)
	if err != nil {
		return agent.Outcome{}, err
	}
	out, err := s.Submit(ctx, llm.NewText(task))
	return out, errors.Join(err, s.Close())
}

// OpenOrResume resumes the session with an ID, or creates it if there is none.
func OpenOrResume(ctx context.Context, id string, c Config) (*agent.Session, error) {
	if id == "" || c.Resume != "" || c.Session.ID != "" {
		return nil, llm.Errorf(llm.ErrConfiguration, "", "OpenOrResume needs an ID, and Config.Resume and Config.Session.ID must be empty")
	}
	created := c
	created.Session.ID = id
	c.Resume = id
	s, err := Open(ctx, c)
	if !errors.Is(err, event.ErrNotFound) {
		return s, err
	}
	s, err = Open(ctx, created)
	if errors.Is(err, event.ErrExists) { // another process was faster
		return Open(ctx, c)
	}
	return s, err
}

// Stream is [Run] as a sequence: it opens a session, yields the records of its work on a task, and closes it. An error is
// yielded last. Breaking out of the loop interrupts the work.
func Stream(ctx context.Context, c Config, task string) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		s, err := Open(ctx, c)
		if err != nil {
			yield(event.Record{}, err)
			return
		}
		more := true
		defer func() {
			if err := s.Close(); err != nil && more {
				yield(event.Record{}, err)
			}
		}()
		for r, err := range s.Stream(ctx, llm.NewText(task)) {
			if more = yield(r, err) && err == nil; !more {
				return
			}
		}
	}
}
