package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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
	tools           string        // a digest
	digested        bool          // of the tools that the session has now
	object          bool          // it asked for structured output
	messages        []llm.Message // if hooks may change them
	changed         string        // why the next one will not continue it
}

// resumed takes over what the log knows of the last request.
func (l *sent) resumed(last event.ModelCallStart) {
	if last.Call == 0 {
		return
	}
	l.any, l.provider, l.model, l.effort, l.tools = true, last.Provider, last.Model, last.Effort, last.Tools
}

// watchCache says so when a request does not continue the one before it.
func (s *Session) watchCache(r *llm.Request) {
	l := &s.sent
	now := sent{
		any: true, provider: r.Provider, model: r.Model, effort: r.Effort, budget: r.ThinkingBudget,
		tools: l.tools, digested: true, object: r.Output != nil,
	}
	hooks := s.config.TransformContext != nil || len(s.config.BeforeModel) > 0
	if hooks {
		now.messages = r.Messages
	}
	if hooks || !l.digested {
		now.tools = digest(r.Tools)
	}
	if reason := l.breaks(now); reason != "" && l.any {
		s.record(event.CacheBroken{Reason: reason})
	}
	*l = now
}

// breaks says why a request does not continue the last one, or "".
func (l *sent) breaks(now sent) string {
	switch {
	case l.provider != now.provider || l.model != now.model:
		return "the model was changed"
	case l.changed != "":
		return l.changed
	case l.tools != now.tools && l.tools != "":
		return "the tools were changed"
	case l.object != now.object:
		return "structured output was switched on or off"
	case l.effort != now.effort || !equalInt(l.budget, now.budget):
		return "the effort was changed"
	case len(now.messages) < len(l.messages) || !slices.EqualFunc(l.messages, now.messages[:len(l.messages)], sameMessage):
		return "a hook changed messages that were sent before"
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

// sameMessage reports whether two messages are one: they may not change once they were sent.
func sameMessage(a, b llm.Message) bool {
	return a.Role == b.Role && len(a.Parts) == len(b.Parts) && (len(a.Parts) == 0 || &a.Parts[0] == &b.Parts[0])
}
