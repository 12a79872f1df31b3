package step

import (
	"reflect"
	"slices"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// sent is the last request for an answer. The next request should continue it, so that the provider can use its prompt
// cache.
type sent struct {
	event.ModelCallStart
	budget   *int
	messages []llm.Message
	lost     bool // records have been lost since
}

// request applies the start of a call for an answer.
func (s *State) request(d event.ModelCallStart) {
	s.sent = sent{ModelCallStart: d, budget: s.setup.ThinkingBudget, messages: s.messages}
	s.rewritten = ""
	s.notes = nil
	s.summary = summary{failures: s.summary.failures}
}

// Breaks returns why a request does not continue the last request, or "". If hooks change requests, last holds the
// messages that were sent.
func (s *State) Breaks(now event.ModelCallStart, messages, last []llm.Message) string {
	l := s.sent
	if last == nil {
		last = l.messages
	}
	switch {
	case l.Call == 0:
		return ""
	case l.Provider != now.Provider || l.Model != now.Model:
		return "the model was changed"
	case l.lost:
		return "records of the session are lost"
	case l.Tools != now.Tools && l.Tools != "":
		return "the tools were changed"
	case l.Object != now.Object:
		return "structured output was switched on or off"
	case l.Effort != now.Effort || !reflect.DeepEqual(l.budget, s.setup.ThinkingBudget):
		return "the effort was changed"
	case l.Choice != now.Choice:
		return "the choice of tools was changed"
	case !extends(last, messages) && s.rewritten != "":
		return s.rewritten
	case !extends(last, messages):
		return "a hook changed messages that were sent before"
	case l.Shape != now.Shape:
		return "thinking is requested differently because of the conversation so far"
	}
	return ""
}

// extends reports whether a conversation continues another.
func extends(old, now []llm.Message) bool {
	if len(now) < len(old) {
		return false
	}
	if len(old) == 0 || &old[0] == &now[0] { // it only grows in place
		return true
	}
	return slices.EqualFunc(old, now[:len(old)], Same)
}

// Same reports whether two messages are equal. It is fast if they share their parts.
func Same(a, b llm.Message) bool {
	if a.Role != b.Role || len(a.Parts) != len(b.Parts) {
		return false
	}
	return len(a.Parts) == 0 || &a.Parts[0] == &b.Parts[0] || reflect.DeepEqual(a.Parts, b.Parts)
}
