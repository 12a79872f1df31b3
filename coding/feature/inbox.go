package feature

import (
	"context"
	"errors"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// Inbox delivers messages to a session that do not come from its user, such as those of scheduled jobs and webhooks.
// They do not give the agent any permissions.
type Inbox struct {
	session *agent.Session
	wake    chan struct{}
	done    func(agent.Outcome, error)
}

// NewInbox returns the inbox of a session. done, if not nil, is called with the outcome whenever messages started work.
func NewInbox(s *agent.Session, done func(agent.Outcome, error)) *Inbox {
	return &Inbox{session: s, wake: make(chan struct{}, 1), done: done}
}

// Deliver queues a message, and returns when it is saved. The agent handles it after its current work.
func (i *Inbox) Deliver(from event.Origin, text string) error {
	if err := i.session.From(from).FollowUp(llm.Text{Text: text}); err != nil {
		return err
	}
	select {
	case i.wake <- struct{}{}:
	default: // Run will see it anyway
	}
	return nil
}

// Run makes the session handle messages while it is idle, until ctx is done or the session is closed.
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
