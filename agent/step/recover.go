package step

import (
	"slices"

	"github.com/reins-agent/reins/compact"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// attempts records what was tried for one answer.
type attempts struct{ compacted, quarantined bool }

// recover retries a failed model call with a smaller conversation, without the refused item, or with another
// model. Otherwise the work fails.
func (s *State) recover() Action {
	e := s.failure
	kind := llm.ErrorKind(e.Class)
	switch {
	case kind == llm.ErrContextLength && s.setup.Rules.CompactAt > 0 && !s.tried.compacted:
		if a, _ := s.shrink(event.CompactionContextLength); a != nil {
			return a
		}
	case kind == llm.ErrInvalidRequest && !s.tried.quarantined:
		if d, ok := s.quarantine(e); ok {
			return Append{d}
		}
	case e.Retryable || kind == llm.ErrQuota || kind == llm.ErrNotFound || kind == llm.ErrContentFilter:
		if d, ok := s.fallback(e); ok {
			return Append{d}
		}
	}
	if kind == llm.ErrContextLength && !s.warned {
		return Append{
			event.Warning{
				Code:    event.WarningContextWindow,
				Message: "The conversation no longer fits into the model's context window; the session ends here.",
			},
		}
	}
	return Append{*e}
}

// Effective returns the setup with the fallback model in use, if any.
func (s *State) Effective() event.Setup {
	set := s.setup
	if i := s.standing(); i >= 0 {
		set.ModelSetup = set.Rules.Fallback[i]
	}
	return set
}

// standing returns the index of the fallback model in use, or -1.
func (s *State) standing() int {
	return slices.IndexFunc(s.setup.Rules.Fallback, func(m event.ModelSetup) bool {
		return s.standIn != nil && m.Model == s.standIn.To && m.Provider == s.standIn.Provider
	})
}

// fallback chooses the next fallback model, for the rest of the input.
func (s *State) fallback(e *event.Error) (event.ModelFallback, bool) {
	now := s.Effective()
	for _, m := range s.setup.Rules.Fallback[s.standing()+1:] {
		if m.Provider != now.Provider || m.Model != now.Model {
			return event.ModelFallback{From: now.Model, To: m.Model, Provider: m.Provider, Error: *e}, true
		}
	}
	return event.ModelFallback{}, false
}

// Alternative returns the fallback model that takes over if a call fails, or "".
func (s *State) Alternative() string {
	d, _ := s.fallback(&event.Error{})
	return d.To
}

// quarantine removes the refused item from the conversation, if possible.
func (s *State) quarantine(e *event.Error) (event.Quarantine, bool) {
	at := e.Item
	if at == nil || at.Message < 0 || at.Message >= len(s.messages) {
		return event.Quarantine{}, false
	}
	msg, what := compact.Without(s.messages[at.Message], *at)
	return event.Quarantine{Position: at.Message, What: what, Reason: e.Message, Message: msg}, what != ""
}

// quarantined replaces one message. If records are lost and the message is missing, nothing changes.
func (s *State) quarantined(d event.Quarantine) {
	s.failure, s.tried.quarantined = nil, true
	if d.Position < 0 || d.Position >= len(s.messages) || skeleton(s.messages[d.Position]) != skeleton(d.Message) {
		return
	}
	messages := slices.Clone(s.messages)
	messages[d.Position] = d.Message
	s.rewrite(messages, "content that the provider refused was removed")
}

// skeleton returns the parts of a message that must not change: its role, calls and results.
func skeleton(msg llm.Message) string {
	s := string(msg.Role)
	for _, p := range msg.Parts {
		switch p := p.(type) {
		case llm.ToolCall:
			s += "\x00call " + p.ID
		case llm.ToolResult:
			s += "\x00result " + p.ID
		}
	}
	return s
}
