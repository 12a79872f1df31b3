package step

import (
	"reflect"
	"slices"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// Sent is what matters of a request to whether the next one continues it, so that the provider finds
// in its cache what it has read already.
type Sent struct {
	any             bool
	provider, model string
	effort          string
	budget          *int
	tools           string
	object          bool
	choice          llm.ToolChoice
	shape           string
	messages        []llm.Message
	lost            bool // records of the conversation are lost since
}

// request takes in that the conversation is sent.
func (s *State) request(d event.ModelCallStart) {
	s.sent = s.Sent(d, s.messages)
	s.rewritten, s.notes, s.summary = "", nil, summary{failures: s.summary.failures}
}

// Sent describes a request by its record and its messages.
func (s *State) Sent(d event.ModelCallStart, messages []llm.Message) Sent {
	return Sent{
		any: true, provider: d.Provider, model: d.Model, effort: d.Effort, budget: s.setup.ThinkingBudget, tools: d.Tools,
		object: d.Object, choice: d.Choice, shape: d.Shape, messages: messages,
	}
}

// Breaks says why a request does not continue the last one, or "". Where hooks change requests, last has
// the messages as they were sent.
func (s *State) Breaks(now Sent, last []llm.Message) string {
	l := s.sent
	if last != nil {
		l.messages = last
	}
	switch {
	case !l.any:
		return ""
	case l.provider != now.provider || l.model != now.model:
		return "the model was changed"
	case l.lost:
		return "records of the session are lost"
	case l.tools != now.tools && l.tools != "":
		return "the tools were changed"
	case l.object != now.object:
		return "structured output was switched on or off"
	case l.effort != now.effort || !reflect.DeepEqual(l.budget, now.budget):
		return "the effort was changed"
	case l.choice != now.choice:
		return "the choice of tools was changed"
	case !extends(l.messages, now.messages) && s.rewritten != "":
		return s.rewritten
	case !extends(l.messages, now.messages):
		return "a hook changed messages that were sent before"
	case l.shape != now.shape:
		return "thinking is requested differently because of the conversation so far"
	}
	return ""
}

// extends reports whether a conversation continues all of another.
func extends(old, now []llm.Message) bool {
	if len(now) < len(old) {
		return false
	}
	if len(old) == 0 || &old[0] == &now[0] { // it only ever grows in place
		return true
	}
	return slices.EqualFunc(old, now[:len(old)], Same)
}

// Same reports whether two messages say the same. Mostly they are one.
func Same(a, b llm.Message) bool {
	if a.Role != b.Role || len(a.Parts) != len(b.Parts) {
		return false
	}
	return len(a.Parts) == 0 || &a.Parts[0] == &b.Parts[0] || reflect.DeepEqual(a.Parts, b.Parts)
}
