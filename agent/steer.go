package agent

import (
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// Steer puts a message into the conversation before the next call of the model: after the tool
// round at hand, or with the next input if the session is idle.
func (s *Session) Steer(parts ...llm.Part) error { return s.queue(parts, false) }

// FollowUp gives input that is worked on after the input at hand, in the same Submit; if the
// session is idle, after the next one.
func (s *Session) FollowUp(parts ...llm.Part) error { return s.queue(parts, true) }

func (s *Session) queue(parts []llm.Part, followUp bool) error {
	msg := llm.Message{Role: llm.RoleUser, Parts: parts}
	s.mu.Lock()
	if s.state == Closed {
		s.mu.Unlock()
		return ErrClosed
	}
	if followUp {
		s.followUp = append(s.followUp, msg)
	} else {
		s.steering = append(s.steering, msg)
	}
	s.mu.Unlock()
	s.record(event.SteeringQueued{Message: msg, FollowUp: followUp})
	return nil
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
		s.inject(msg, "host")
	}
	if len(waiting) > 0 && s.m.halt != nil && s.m.halt.status == StatusDone {
		s.m.halt, s.m.question = nil, "" // there is something to do again
	}
}

func (s *Session) inject(msg llm.Message, source string) {
	s.record(event.SteeringInjected{Message: msg, Source: source})
	s.m.say(msg)
}

// nextFollowUp takes the next input that waits, if the work on the last one came to its end.
func (s *Session) nextFollowUp(out Outcome, err error) (llm.Message, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || out.Status != StatusDone || len(s.followUp) == 0 || s.state == Closed {
		return llm.Message{}, false
	}
	msg := s.followUp[0]
	s.followUp = s.followUp[1:]
	s.state = Processing
	return msg, true
}

// SetModel changes the model, and the provider if one is given, from the next call on.
func (s *Session) SetModel(provider, model string) {
	s.mu.Lock()
	if provider != "" {
		s.settings.provider = provider
	}
	s.settings.model = model
	s.mu.Unlock()
	s.record(event.Settings{Provider: provider, Model: model})
	s.record(event.CacheBroken{Reason: "the model was changed"})
}

// SetEffort changes how hard the model thinks, from the next call on; "" is the provider's default.
func (s *Session) SetEffort(effort string) {
	s.mu.Lock()
	s.settings.effort = effort
	s.mu.Unlock()
	s.record(event.Settings{Effort: effort})
}

// SetThinkingBudget changes how many tokens the model thinks, where the provider takes that; nil
// is the provider's default.
func (s *Session) SetThinkingBudget(tokens *int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings.budget = tokens
}
