package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// sent is what matters of the last request to whether the next one continues it, so that the
// provider finds in its cache what it has read already.
type sent struct {
	any             bool // there was one
	provider, model string
	effort          string
	budget          *int
	tools           string // a digest
	digested        bool   // of the tools that the session has now
	object          bool   // it asked for structured output
	choice          llm.ToolChoice
	shape           string        // how the provider is asked for what is not in the messages
	shaped          bool          // that, and the choice, is known
	messages        []llm.Message // nil if they are not known
	lost            bool          // records of the conversation are lost since
}

// watchCache says so when a request does not continue the one before it.
func (s *Session) watchCache(r *llm.Request) {
	l := &s.sent
	now := sent{
		any: true, provider: r.Provider, model: r.Model, effort: r.Effort, budget: r.ThinkingBudget,
		tools: l.tools, digested: true, object: r.Output != nil, messages: r.Messages,
		choice: r.ToolChoice, shape: s.shape(r), shaped: true,
	}
	if !l.shaped && l.messages != nil {
		last := *r
		last.Messages = l.messages
		l.choice, l.shape, l.shaped = r.ToolChoice, s.shape(&last), true
	}
	if s.hooked() || !l.digested {
		now.tools = digest(r.Tools)
	}
	if reason := l.breaks(now, s.m.rewritten); reason != "" && l.any {
		s.record(event.CacheBroken{Reason: reason})
	}
	*l, s.m.rewritten = now, ""
}

// shape is what the client tells of a request, if it knows.
func (s *Session) shape(r *llm.Request) (shape string) {
	if c, ok := s.config.Client.(llm.Shaper); ok {
		_ = guarded("the provider", func() error { shape = c.Shape(r); return nil })
	}
	return shape
}

// hooked reports whether requests may differ from the conversation.
func (s *Session) hooked() bool {
	return s.config.TransformContext != nil || len(s.config.BeforeModel) > 0
}

// breaks says why a request does not continue the last one, or "". The conversation was rewritten
// since for the reason given, if there is one.
func (l *sent) breaks(now sent, rewritten string) string {
	switch {
	case l.provider != now.provider || l.model != now.model:
		return "the model was changed"
	case l.lost:
		return "records of the session are lost"
	case l.tools != now.tools && l.tools != "":
		return "the tools were changed"
	case l.object != now.object:
		return "structured output was switched on or off"
	case l.effort != now.effort || !equalInt(l.budget, now.budget):
		return "the effort was changed"
	case l.choice != now.choice && l.shaped:
		return "the choice of tools was changed"
	case !extends(l.messages, now.messages):
		return first(rewritten, "a hook changed messages that were sent before")
	case l.shape != now.shape && l.shaped:
		return "thinking is asked for in another way, because of what the conversation has come to"
	}
	return ""
}

func equalInt(a, b *int) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// digest is short and the same for the same tools.
func digest(tools []llm.ToolDef) string {
	b, err := json.Marshal(tools)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// extends reports whether a conversation goes on behind all of another.
func extends(old, now []llm.Message) bool {
	if len(now) < len(old) {
		return false
	}
	if len(old) == 0 || &old[0] == &now[0] { // it only ever grows in its place
		return true
	}
	return slices.EqualFunc(old, now[:len(old)], sameMessage)
}

// sameMessage reports whether two messages say the same. Mostly they are one.
func sameMessage(a, b llm.Message) bool {
	if a.Role != b.Role || len(a.Parts) != len(b.Parts) {
		return false
	}
	return len(a.Parts) == 0 || &a.Parts[0] == &b.Parts[0] || reflect.DeepEqual(a.Parts, b.Parts)
}
