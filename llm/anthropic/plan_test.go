package anthropic

import (
	"encoding/json"
	"testing"

	"github.com/reins-agent/reins/llm"
)

// Thinking that the host asks for itself is sent whatever the conversation is.
func TestShape_IsHowThinkingIsAskedFor(t *testing.T) {
	call := llm.ToolCall{ID: "1", Name: "x", Arguments: "{}"}
	round := []llm.Message{llm.UserText("a"), {Role: llm.RoleAssistant, Parts: []llm.Part{call}}, llm.ToolResults(llm.TextResult(call, "x", false))}
	theirs := map[string]llm.Options{Name: {Body: map[string]json.RawMessage{"thinking": json.RawMessage(`{"type":"enabled","budget_tokens":2000}`)}}}
	d := NewDialect(Config{}).(llm.Shaper)
	for _, tt := range []struct {
		name    string
		model   string
		options map[string]llm.Options
		changes bool
	}{
		{"a budget", "claude-sonnet-4-5", nil, true},
		{"adaptive", "claude-opus-4-6", nil, false},
		{"the host's own", "claude-sonnet-4-5", theirs, false},
	} {
		shape := func(messages []llm.Message) string {
			return d.Shape(&llm.Request{Model: tt.model, Effort: "high", Options: tt.options, Messages: messages})
		}
		if first, then := shape(round[:1]), shape(round); (first != then) != tt.changes {
			t.Errorf("%s: %q, and after a call without thinking %q", tt.name, first, then)
		}
	}
}
