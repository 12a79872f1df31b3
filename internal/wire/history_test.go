package wire_test

import (
	"testing"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

func TestHistory_RecognizesEncodedMessages(t *testing.T) {
	a, b, c := llm.UserText("a"), llm.AssistantText("b"), llm.UserText("c")
	same := llm.UserText("a") // the same words, another message
	longer := llm.Message{Role: b.Role, Parts: append(b.Parts[:1:1], llm.Text{Text: "more"})}
	other := llm.Message{Role: llm.RoleDeveloper, Parts: a.Parts}
	empty := llm.Message{Role: llm.RoleUser}
	steps := []struct {
		name     string
		key      string
		messages []llm.Message
		known    int
	}{
		{"at first nothing is known", "k", []llm.Message{a, b}, 0},
		{"the same again", "k", []llm.Message{a, b}, 2},
		{"grown", "k", []llm.Message{a, b, c}, 2},
		{"the same, grown", "k", []llm.Message{a, b, c}, 3},
		{"shorter", "k", []llm.Message{a, b}, 0},
		{"grown after that", "k", []llm.Message{a, b, c}, 2},
		{"another key", "l", []llm.Message{a, b, c}, 0},
		{"a copy is another message", "l", []llm.Message{same, b, c}, 0},
		{"a message with more parts", "l", []llm.Message{same, longer, c}, 0},
		{"another role", "l", []llm.Message{other, longer, c}, 0},
		{"a message without parts", "l", []llm.Message{empty}, 0},
		{"is known as well", "l", []llm.Message{empty, a}, 1},
		{"no messages", "l", nil, 0},
	}
	var h wire.History
	for _, s := range steps {
		if got := h.Pending(s.key, s.messages); got != s.known {
			t.Errorf("%s: %d are known, want %d", s.name, got, s.known)
		}
	}
	h.Pending("k", []llm.Message{a})
	h.Forget()
	if got := h.Pending("k", []llm.Message{a}); got != 0 {
		t.Errorf("%d messages were not forgotten", got)
	}
}

func TestHistory_KnownHistoryCostsNothing(t *testing.T) {
	messages := make([]llm.Message, 200)
	for i := range messages {
		messages[i] = llm.UserText("x")
	}
	var h wire.History
	h.Pending("k", messages)
	if n := testing.AllocsPerRun(10, func() { h.Pending("k", messages) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
