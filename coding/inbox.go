package coding

import (
	"context"
	"errors"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/llm"
)

// Inbox gives a session messages that do not come from its user, such as those of scheduled jobs and webhooks. They
// give the agent no permissions: what it does is judged as always.
type Inbox struct {
	session *agent.Session
	wake    chan struct{}
	done    func(agent.Outcome, error)
}

// NewInbox returns the inbox of a session. done, if not nil, is called with the outcome of each work that a message
// started.
func NewInbox(s *agent.Session, done func(agent.Outcome, error)) *Inbox {
	return &Inbox{session: s, wake: make(chan struct{}, 1), done: done}
}

// Deliver queues a message, and returns when it is saved. The agent works on it after its current work.
func (i *Inbox) Deliver(text string) error {
	if err := i.session.FollowUp(llm.Text{Text: text}); err != nil {
		return err
	}
	select {
	case i.wake <- struct{}{}:
	default: // it will look anyway
	}
	return nil
}

// Run has the session work on messages while it is idle, until ctx ends or the session can no longer work.
func (i *Inbox) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-i.wake:
		}
		out, err := i.session.Continue(ctx)
		switch {
		case errors.Is(err, agent.ErrBusy), errors.Is(err, agent.ErrNothingToContinue): // the current work includes it
			continue
		case errors.Is(err, agent.ErrClosed):
			return err
		}
		if i.done != nil {
			i.done(out, err)
		}
	}
}
