package anthropic

import (
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// talk is a conversation with a model that binds its thinking.
type talk struct {
	t *testing.T
	r llm.Request
	n int
}

func newTalk(t *testing.T) *talk {
	return &talk{t: t, r: llm.Request{Model: "claude-opus-5-5", Tools: []llm.ToolDef{weather}, Cache: new(llm.Cache), Messages: []llm.Message{llm.SystemText("s")}}}
}

// send encodes the request and returns its body and what completes the answer.
func (k *talk) send() (string, func(*llm.Message)) {
	k.t.Helper()
	call, err := NewDialect(Config{}).Encode(&k.r)
	if err != nil {
		k.t.Fatal(err)
	}
	return string(call.Body.Bytes()), call.Seal
}

// ask adds a question and an answer with thinking around a call.
func (k *talk) ask() {
	k.t.Helper()
	k.n++
	id := string(rune('a' + k.n - 1))
	k.r.Messages = append(k.r.Messages, llm.UserText("question "+id))
	_, seal := k.send()
	answer := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
		signed(id+"1", k.r.Model), llm.ToolCall{ID: id, Name: "weather", Arguments: "{}"}, signed(id+"2", k.r.Model), llm.Text{Text: "answer " + id},
	}}
	seal(&answer)
	k.r.Messages = append(k.r.Messages, answer, llm.ToolResults(llm.ToolResult{ID: id, Parts: []llm.Part{llm.Text{Text: "sun"}}}))
}

// thoughts lists the thinking in the next request.
func (k *talk) thoughts() string {
	k.t.Helper()
	body, _ := k.send()
	if strings.Contains(body, boundKey) {
		k.t.Errorf("%s is sent: %s", boundKey, body)
	}
	var found []string
	for it := wire.Value(body).Get("messages").Elements(); it.Next(); {
		for b := it.Value.Get("content").Elements(); b.Next(); {
			if b.Value.Get("type").Is("thinking") {
				found = append(found, b.Value.Get("thinking").Str())
			}
		}
	}
	return strings.Join(found, " ")
}

// copied returns a copy of message i, which may be changed.
func (k *talk) copied(i int) *llm.Message {
	k.r.Messages = append([]llm.Message(nil), k.r.Messages...)
	m := &k.r.Messages[i]
	m.Parts = append([]llm.Part(nil), m.Parts...)
	return m
}

// The messages are: system, question a, answer a, result a, question b, answer b, result b, question c, …
func TestPrefix_OmitsThinkingAfterAChange(t *testing.T) {
	const all = "a1 a2 b1 b2 c1 c2"
	for _, tt := range []struct {
		name   string
		change func(k *talk)
		want   string
	}{
		{"nothing", func(*talk) {}, all},
		{"a new message", func(k *talk) { k.r.Messages = append(k.r.Messages, llm.UserText("more")) }, all},
		{"other settings", func(k *talk) { k.r.Effort, k.r.MaxTokens, k.r.NoCache = "low", 9, true }, all},
		{"a late instruction", func(k *talk) { k.r.Messages = append(k.r.Messages, llm.SystemText("more")) }, all},
		{"the system prompt", func(k *talk) { k.r.Messages[0] = llm.SystemText("t") }, ""},
		{"the tools", func(k *talk) { k.r.Tools = append(k.r.Tools, llm.ToolDef{Name: "more"}) }, ""},
		{"the first question", func(k *talk) { k.copied(1).Parts[0] = llm.Text{Text: "other"} }, ""},
		{"a result", func(k *talk) {
			k.copied(3).Parts[0] = llm.ToolResult{ID: "a", Parts: []llm.Part{llm.Text{Text: "[cleared]"}}}
		}, "a1 a2"},
		{"arguments", func(k *talk) { k.copied(5).Parts[1] = llm.ToolCall{ID: "b", Name: "weather", Arguments: `{"x":1}`} }, "a1 a2 b1"},
		{"a removed message", func(k *talk) { k.r.Messages = append(k.r.Messages[:4:4], k.r.Messages[7:]...) }, "a1 a2"},
		{"a removed start", func(k *talk) { k.r.Messages = append(k.r.Messages[:1:1], k.r.Messages[4:]...) }, ""},
		{"the first thinking", func(k *talk) { m := k.copied(2); m.Parts = m.Parts[1:] }, "a2 b1 b2 c1 c2"}, // from the start, that is fine
		{"thinking in the middle", func(k *talk) { m := k.copied(5); m.Parts = m.Parts[1:] }, "a1 a2"},
		{"moved thinking", func(k *talk) { m := k.copied(5); m.Parts[0], m.Parts[2] = m.Parts[2], m.Parts[0] }, "a1 a2"},
		{"another model", func(k *talk) { k.r.Model = "claude-sonnet-5-5" }, ""},
		{"unbound thinking", func(k *talk) { k.copied(8).Parts[0] = signed("x", k.r.Model) }, "a1 a2 b1 b2"},
	} {
		k := newTalk(t)
		k.ask()
		k.ask()
		k.ask()
		tt.change(k)
		if got := k.thoughts(); got != tt.want {
			t.Errorf("%s: got the thinking %q, want %q", tt.name, got, tt.want)
		}
		k.r.Cache = nil
		if got := k.thoughts(); got != tt.want {
			t.Errorf("%s, without a cache: got the thinking %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestPrefix_ThinkingAfterAChangeStays(t *testing.T) {
	k := newTalk(t)
	k.ask()
	k.ask()
	k.copied(3).Parts[0] = llm.ToolResult{ID: "a", Parts: []llm.Part{llm.Text{Text: "[cleared]"}}}
	k.ask()
	if got := k.thoughts(); got != "a1 a2 c1 c2" {
		t.Errorf("got %q", got)
	}
	k.copied(3).Parts[0] = llm.ToolResult{ID: "a", Parts: []llm.Part{llm.Text{Text: "sun"}}} // as it was
	if got := k.thoughts(); got != "a1 a2 b1 b2" {
		t.Errorf("after the change was undone: got %q, want what was written before", got)
	}
}

func TestPrefix_OtherModelsKeepTheirThinking(t *testing.T) {
	k := newTalk(t)
	k.r.Model = "claude-opus-5"
	_, seal := k.send()
	if seal != nil {
		t.Error("the answers of a model without the check are bound")
	}
	k.r.Messages = append(k.r.Messages, hi, llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{signed("x", k.r.Model), llm.Text{Text: "y"}}}, hi)
	if got := k.thoughts(); got != "x" {
		t.Errorf("got %q, want x", got)
	}
}

func TestPrefix_ManualBreakpointsMayMove(t *testing.T) {
	k := newTalk(t)
	mark := llm.State{Dialect: Name, Data: []byte(`{"cache_control":{"type":"ephemeral"}}`)}
	k.r.Messages = append(k.r.Messages, llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "marked", State: mark}}})
	k.ask()
	k.copied(1).Parts[0] = llm.Text{Text: "marked"}
	if got := k.thoughts(); got != "a1 a2" {
		t.Errorf("got %q, want the thinking", got)
	}
}

// A compaction represents the messages it replaces, while system prompt and tools stay the same.
func TestPrefix_CompactionKeepsLaterThinking(t *testing.T) {
	k := newTalk(t)
	k.ask()
	k.ask()
	full := k.r.Messages
	k.r.Messages, k.r.Compact = full[:5:5], "Be brief."
	_, seal := k.send()
	block := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Opaque{Kind: "compaction", State: llm.State{
		Dialect: Name, Model: k.r.Model, Data: []byte(`{"type":"compaction","content":"it was sunny","encrypted_content":null,"signature":"s"}`)}}}}
	seal(&block)
	summary, ok := block.Parts[0].(llm.Text)
	if !ok || summary.Text != "it was sunny" {
		t.Fatalf("got %+v, want the summary as a text with state", block.Parts[0])
	}
	k.r.Compact = ""
	k.r.Messages = append([]llm.Message{full[0], {Role: llm.RoleUser, Parts: []llm.Part{
		llm.Text{Text: "# Summary", State: summary.State}, llm.Text{Text: "it was sunny"}}}}, full[5:]...)
	if got := k.thoughts(); got != "b1 b2" {
		t.Errorf("got the thinking %q, want what followed the summarised part", got)
	}
	body, _ := k.send()
	start := `"messages":[{"role":"assistant","content":[{"type":"compaction","content":"it was sunny","encrypted_content":null,"signature":"s"},{"type":"thinking"`
	if !strings.Contains(body, start) || strings.Contains(body, "# Summary") {
		t.Errorf("the block is not sent first and alone: %s", body)
	}
	k.ask()
	if got := k.thoughts(); got != "b1 b2 c1 c2" {
		t.Errorf("after another question: got the thinking %q", got)
	}
	k.r.Messages[0] = llm.SystemText("t")
	if got := k.thoughts(); got != "" {
		t.Errorf("with another system prompt: got the thinking %q, want none", got)
	}
	k.r.Model = "claude-haiku-4-5"
	if body, _ := k.send(); !strings.Contains(body, "# Summary") || !strings.Contains(body, `{"type":"text","text":"it was sunny"}`) || strings.Contains(body, `"compaction"`) {
		t.Errorf("another model does not get the summary as text: %s", body)
	}
}
