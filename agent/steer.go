package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/media"
	"github.com/reins-agent/reins/llm"
)

// Queued is a message that is not in the conversation yet.
type Queued = step.Queued

// Steer adds a message to the conversation before the next model call: after the current tool round, or with the next
// input if the session is idle. If the model is done by then, it continues with the message. Steer returns when the
// message is saved. It never waits for the work, and may be called from tools and hooks.
func (s *Session) Steer(parts ...llm.Part) error { return s.queue(parts, event.SteeringQueued{}) }

// FollowUp queues input to work on after the current input, in the same Submit or, if the session is idle, after the
// next input. It returns when the message is saved.
func (s *Session) FollowUp(parts ...llm.Part) error {
	return s.queue(parts, event.SteeringQueued{FollowUp: true})
}

// Sender sends messages that the user did not write, or not alone.
type Sender struct {
	session *Session
	origin  event.Origin
}

// From returns a sender whose messages are recorded with an origin. They give the agent no permissions.
func (s *Session) From(o event.Origin) Sender { return Sender{s, o} }

// Submit is [Session.Submit] with the sender's origin.
func (f Sender) Submit(ctx context.Context, input ...llm.Part) (Outcome, error) {
	return f.session.submit(ctx, input, event.UserInput{Origin: &f.origin})
}

// SubmitFormat is [Session.SubmitFormat] with the sender's origin.
func (f Sender) SubmitFormat(ctx context.Context, format llm.OutputFormat, input ...llm.Part) (Outcome, error) {
	return f.session.submit(ctx, input, event.UserInput{Origin: &f.origin, Output: &format})
}

// Steer is [Session.Steer] with the sender's origin.
func (f Sender) Steer(parts ...llm.Part) error {
	return f.session.queue(parts, event.SteeringQueued{Origin: &f.origin})
}

// FollowUp is [Session.FollowUp] with the sender's origin.
func (f Sender) FollowUp(parts ...llm.Part) error {
	return f.session.queue(parts, event.SteeringQueued{Origin: &f.origin, FollowUp: true})
}

// Queue lists the queued messages: steering first, then follow-ups.
func (s *Session) Queue() []Queued {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return s.state.Queue()
}

// Withdraw removes a message from the queue, by number. It fails if the message is no longer queued.
func (s *Session) Withdraw(seq event.Seq) error {
	return s.commit(func() error {
		if !slices.ContainsFunc(s.state.Queue(), func(q Queued) bool { return q.Seq == seq }) {
			return fmt.Errorf("message %d is not waiting: it was delivered or withdrawn", seq)
		}
		s.note(event.SteeringWithdrawn{Queued: seq})
		return nil
	})
}

// Requeue replaces waiting messages as one change: it withdraws the messages with the given numbers and queues the new
// ones in their place, in order. A message with parts has new content; without parts it keeps its content. Requeue fails,
// and changes nothing, if one of the messages is no longer queued.
func (s *Session) Requeue(list ...Requeued) error {
	for i := range list {
		if len(list[i].Parts) == 0 {
			continue
		}
		msg, err := message(list[i].Parts)
		if err != nil {
			return err
		}
		list[i].Parts = msg.Parts
	}
	return s.commit(func() error {
		waiting := s.state.Queue()
		var again []event.SteeringQueued
		for _, m := range list {
			i := slices.IndexFunc(waiting, func(q Queued) bool { return q.Seq == m.Seq })
			if i < 0 {
				return fmt.Errorf("message %d is not waiting: it was delivered or withdrawn", m.Seq)
			}
			q := waiting[i]
			if waiting = slices.Delete(waiting, i, i+1); len(m.Parts) > 0 {
				q.Message.Parts = m.Parts
			}
			again = append(again, event.SteeringQueued{Message: q.Message, FollowUp: q.FollowUp && !m.Now, Origin: q.Origin})
		}
		for _, m := range list {
			s.note(event.SteeringWithdrawn{Queued: m.Seq})
		}
		for _, d := range again {
			s.note(d)
		}
		return nil
	})
}

// Requeued is a waiting message that [Session.Requeue] queues anew.
type Requeued struct {
	Seq   event.Seq // of the message that waits
	Parts []llm.Part
	Now   bool // a follow-up becomes a steering message: it enters the conversation with the next model call
}

// message returns a user message with files read and images scaled.
func message(parts []llm.Part) (llm.Message, error) {
	msg := llm.Message{Role: llm.RoleUser, Parts: parts}
	if empty(msg) {
		return msg, ErrNoInput
	}
	var err error
	msg.Parts, err = media.Ingest(parts)
	return msg, err
}

// empty reports whether a message has no content.
func empty(msg llm.Message) bool {
	return !slices.ContainsFunc(msg.Parts, func(p llm.Part) bool {
		t, ok := p.(llm.Text)
		return !ok || t.Text != ""
	})
}

// queue queues parts with q's origin.
func (s *Session) queue(parts []llm.Part, q event.SteeringQueued) error {
	msg, err := message(parts)
	if err != nil {
		return err
	}
	if err := s.submitHooks(context.Background(), msg); err != nil {
		return err
	}
	return s.commit(func() error {
		q.Message = msg
		s.note(q)
		return nil
	})
}

// steered returns a channel that is closed when a message for the conversation is queued.
func (s *Session) steered() <-chan struct{} {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	if s.steering == nil {
		s.steering = make(chan struct{})
	}
	c := s.steering
	s.wakeSteered()
	return c
}

// wakeSteered wakes waiting tools if a message is queued; tree.mu is held.
func (s *Session) wakeSteered() {
	if s.steering != nil && s.state.Steered() {
		close(s.steering)
		s.steering = nil
	}
}

// steerIfBusy queues a message if the session is working, and reports whether it is.
func (s *Session) steerIfBusy(msg llm.Message, o *event.Origin) bool {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	if s.work == nil || s.closing {
		return false
	}
	s.note(event.SteeringQueued{Message: msg, Origin: o})
	return true
}
