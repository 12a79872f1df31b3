package agent

import (
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// Steer puts a message into the conversation before the next call of the model: after the tool
// round at hand, or with the next input if the session is idle. One that comes when the model is
// done makes it go on.
func (s *Session) Steer(parts ...llm.Part) error { return s.queue(parts, false) }

// FollowUp gives input that is worked on after the input at hand is done, in the same Submit; if
// the session is idle, after the next one.
//
// Both return when the message is safe in the session's store, if it has one.
func (s *Session) FollowUp(parts ...llm.Part) error { return s.queue(parts, true) }

func (s *Session) queue(parts []llm.Part, followUp bool) error {
	msg := llm.Message{Role: llm.RoleUser, Parts: parts}
	if empty(msg) {
		return ErrNoInput
	}
	var err error
	if msg.Parts, err = ingest(parts); err != nil {
		return err
	}
	if err := s.accepts(msg, followUp); err != nil {
		return err
	}
	return s.log.Sync()
}

func (s *Session) accepts(msg llm.Message, followUp bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return ErrClosed
	}
	s.enqueue(msg, followUp)
	return nil
}

// steerIfBusy steers a session that is at work, and reports whether it is.
func (s *Session) steerIfBusy(msg llm.Message) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.work == nil || s.closing {
		return false
	}
	s.enqueue(msg, false)
	return true
}

// enqueue lets a message wait; s.mu is held, which keeps the records in the order of the queue.
func (s *Session) enqueue(msg llm.Message, followUp bool) {
	if followUp {
		s.followUp = append(s.followUp, msg)
	} else {
		s.steering = append(s.steering, msg)
	}
	s.record(event.SteeringQueued{Message: msg, FollowUp: followUp})
}

// empty reports whether a message says nothing.
func empty(msg llm.Message) bool {
	for _, p := range msg.Parts {
		if t, ok := p.(llm.Text); !ok || t.Text != "" {
			return false
		}
	}
	return true
}

// drainSteering puts the messages that wait into the conversation, unless there are calls to be
// answered first.
func (s *Session) drainSteering() {
	if len(s.m.calls) > 0 {
		return
	}
	s.mu.Lock()
	waiting := s.steering
	s.steering = nil
	s.mu.Unlock()
	for _, msg := range waiting {
		s.inject(msg, sourceHost)
		s.m.goOn()
	}
}

// Where messages come from that are not input: the host, with Steer, or the session itself.
const (
	sourceHost   = "host"
	sourceLoop   = "loop_detection"
	sourceObject = "structured_output"
)

// inject puts a message into the conversation that is not the user's input.
func (s *Session) inject(msg llm.Message, source string) {
	s.record(event.SteeringInjected{Message: msg, Source: source})
	s.m.say(msg)
}

// waiting takes the next message to be worked on, if there is one: a steering message that came too
// late for the work that is just over, or else a follow-up. s.mu is held.
func (s *Session) waiting() (msg llm.Message, followUp, ok bool) {
	switch {
	case len(s.steering) > 0:
		msg, s.steering = s.steering[0], s.steering[1:]
	case len(s.followUp) > 0:
		msg, s.followUp = s.followUp[0], s.followUp[1:]
	default:
		return msg, false, false
	}
	return msg, true, true
}

func (s *Session) anyWaiting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.steering)+len(s.followUp) > 0
}
