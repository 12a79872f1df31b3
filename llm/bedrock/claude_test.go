package bedrock

import (
	"errors"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/object"
)

// claudes has one model of each kind of thinking.
const claudes = `{"models": [
	{"id": "claude-new-9", "provider": "anthropic", "name": "New", "thinking": "adaptive", "efforts": ["low", "medium", "high"],
		"rules": {"thinking_types": ["adaptive"], "thinks": true, "hides": true, "forced_tools": "always", "sampling": "always", "budget": "always", "prefix_check": true}},
	{"id": "claude-small-9", "provider": "anthropic", "name": "Small", "thinking": "adaptive", "efforts": ["low", "medium", "high"],
		"rules": {"thinking_types": ["adaptive", "disabled"], "thinks": true, "hides": true, "forced_tools": "thinking", "sampling": "changed", "budget": "always"}},
	{"id": "claude-quiet-4", "provider": "anthropic", "name": "Quiet", "thinking": "adaptive", "efforts": ["low", "high"],
		"rules": {"thinking_types": ["adaptive", "enabled", "disabled"], "forced_tools": "thinking", "sampling": "thinking"}},
	{"id": "claude-old-4", "provider": "anthropic", "name": "Old", "thinking": "budget", "rules": {"thinking_types": ["enabled", "disabled"]}}
], "families": [{"provider": "anthropic", "prefix": "claude-", "like": "claude-new-9"}]}`

func claudeDialect(t *testing.T) wire.Dialect {
	t.Helper()
	c, err := llm.ReadCatalogue(strings.NewReader(claudes))
	if err != nil {
		t.Fatal(err)
	}
	return NewDialect(Config{Catalogue: c})
}

func TestClaude_GetsOnlyAcceptedSettings(t *testing.T) {
	const (
		bound     = `"block_binding":{"prefix_mismatch_behavior":"drop_block"}`
		beta      = `"anthropic_beta":["thinking-binding-controls-2026-08-01"]`
		messages  = `"messages":[{"role":"user","content":[{"text":"hi"}]}]}`
		neu       = "global.anthropic.claude-new-9"
		small     = "us.anthropic.claude-small-9-v1:0"
		quiet     = "anthropic.claude-quiet-4"
		arnPrefix = "arn:aws:bedrock:us-east-1:1:inference-profile/"
	)
	fields := func(s string) string { return `{"additionalModelRequestFields":{` + s + `},` + messages }
	whole := fields(`"thinking":{"type":"adaptive","display":"summarized",` + bound + `},` + beta)
	for _, c := range []struct {
		name string
		r    llm.Request
		want string
	}{
		{"always thinks, and shows it", llm.Request{Model: neu}, whole},
		{"by its resource name", llm.Request{Model: arnPrefix + neu}, whole},
		{"an unknown model is like the newest", llm.Request{Model: "eu.anthropic.claude-opus-77"}, whole},
		{"omitted", llm.Request{Model: neu, Display: "omitted"},
			fields(`"thinking":{"type":"adaptive","display":"omitted",` + bound + `},` + beta)},
		{"updates need a beta", llm.Request{Model: small, Display: "updates"},
			fields(`"thinking":{"type":"adaptive","display":"updates"},"anthropic_beta":["thinking-display-updates-2026-08-18"]`)},
		{"effort", llm.Request{Model: small, Effort: "medium"},
			fields(`"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"medium"}`)},
		{"more effort than it has", llm.Request{Model: small, Effort: "max"},
			fields(`"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"high"}`)},
		{"less effort than it has", llm.Request{Model: neu, Effort: "none"},
			fields(`"thinking":{"type":"adaptive","display":"summarized",` + bound + `},"output_config":{"effort":"low"},` + beta)},
		{"no thinking", llm.Request{Model: small, Effort: "none"}, fields(`"thinking":{"type":"disabled"}`)},
		{"does not think by itself", llm.Request{Model: quiet}, `{` + messages},
		{"does not think by itself, and must not", llm.Request{Model: quiet, Effort: "none"}, `{` + messages},
		{"thinks on request", llm.Request{Model: quiet, Effort: "medium"},
			fields(`"thinking":{"type":"adaptive"},"output_config":{"effort":"high"}`)},
		{"budgets are not sent", llm.Request{Model: "anthropic.claude-old-4", Effort: "high"}, `{` + messages},
		{"tier", llm.Request{Model: quiet, Tier: "flex"}, `{"serviceTier":{"type":"flex"},` + messages},
		{"forced tool without thinking",
			llm.Request{Model: small, Effort: "none", Tools: []llm.ToolDef{{Name: "f"}}, ToolChoice: llm.ToolChoice{Mode: llm.ToolRequired}},
			`{"additionalModelRequestFields":{"thinking":{"type":"disabled"}},"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object"}}}}],"toolChoice":{"any":{}}},` + messages},
	} {
		c.r.Messages = []llm.Message{hi}
		call, err := claudeDialect(t).Encode(&c.r)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := string(call.Body.Bytes()); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestClaude_RefusedSettingsAreErrors(t *testing.T) {
	one, half, tokens := 1.0, 0.5, 2000
	const neu, small = "anthropic.claude-new-9", "anthropic.claude-small-9"
	for _, c := range []struct {
		name string
		r    llm.Request
		want string // "" for no error
	}{
		{"temperature", llm.Request{Model: neu, Temperature: &one}, "does not accept temperature; set the effort instead"},
		{"default temperature", llm.Request{Model: small, Temperature: &one}, ""},
		{"changed temperature", llm.Request{Model: small, Temperature: &half}, "accepts only the default temperature; do not set it"},
		{"budget", llm.Request{Model: neu, ThinkingBudget: &tokens}, "does not accept a thinking budget; set the effort instead: low, medium, high"},
		{"forced tool", llm.Request{Model: neu, ToolChoice: llm.ToolChoice{Mode: llm.ToolNamed, Name: "f"}},
			"does not accept a forced tool; use the tool choice auto"},
		{"forced tool while thinking", llm.Request{Model: small, ToolChoice: llm.ToolChoice{Mode: llm.ToolRequired}}, "does not accept a forced tool"},
		{"forced tool of a model that does not think",
			llm.Request{Model: "anthropic.claude-quiet-4", ToolChoice: llm.ToolChoice{Mode: llm.ToolRequired}}, ""},
		{"tier", llm.Request{Model: neu, Tier: "fast"}, `no service tier "fast"; use default, flex, priority or reserved`},
		{"cache", llm.Request{Model: neu, CacheTTL: "1h"},
			"a cache lifetime cannot be sent through Converse; leave it unset, or use the Messages API of Bedrock for Claude"},
		{"compaction", llm.Request{Model: neu, Compact: "be brief"}, "or use the Messages API of Bedrock for Claude"},
	} {
		c.r.Messages = []llm.Message{hi}
		_, err := claudeDialect(t).Encode(&c.r)
		var e *llm.Error
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (!errors.As(err, &e) || e.Kind != llm.ErrConfiguration || !strings.Contains(e.Message, c.want)):
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

// A schema is requested in words: a forced tool is refused by models that always think.
func TestClaude_StructuredOutputForcesNoTool(t *testing.T) {
	f, err := object.FormOf[struct{ Answer int }]()
	if err != nil {
		t.Fatal(err)
	}
	output := f.Output()
	call, err := claudeDialect(t).Encode(&llm.Request{Model: "anthropic.claude-new-9", Messages: []llm.Message{hi}, Tools: []llm.ToolDef{{Name: "f"}}, Output: &output})
	if err != nil {
		t.Fatal(err)
	}
	body := string(call.Body.Bytes())
	if strings.Contains(body, "toolChoice") || strings.Contains(body, `"name":"answer"`) || !strings.Contains(body, "It must match this JSON Schema") {
		t.Error(body)
	}
}

func TestClaude_ThinkingGoesBackUnchanged(t *testing.T) {
	const model = "anthropic.claude-new-9"
	state := func(data string) llm.State { return llm.State{Dialect: Name, Model: model, Data: []byte(data)} }
	messages := []llm.Message{hi, {Role: llm.RoleAssistant, Parts: []llm.Part{
		llm.Thinking{State: state(`{"signature":"a+/="}`)}, llm.Thinking{Text: " kept \n", State: state(`{"signature":"b"}`)}, llm.Text{Text: "x"}}}, hi}
	want := `"content":[{"reasoningContent":{"reasoningText":{"text":"","signature":"a+/="}}},{"reasoningContent":{"reasoningText":{"text":" kept \n","signature":"b"}}},{"text":"x"}]`
	for name, found := range map[string]bool{model: true, "anthropic.claude-small-9": false} {
		call, err := claudeDialect(t).Encode(&llm.Request{Model: name, Messages: messages})
		if err != nil {
			t.Fatal(err)
		}
		if body := string(call.Body.Bytes()); strings.Contains(body, want) != found || strings.Contains(body, "reasoningContent") != found {
			t.Errorf("%s: %s", name, body)
		}
	}
}

func TestUsage_HasTheServiceTier(t *testing.T) {
	body := `{"output":{"message":{"role":"assistant","content":[{"text":"x"}]}},"stopReason":"end_turn","usage":{"inputTokens":3,"outputTokens":1},"serviceTier":{"type":"priority"}}`
	a := wire.NewAssembler(Name, "m", func(llm.StreamEvent) bool { return true })
	if err := NewDialect(Config{}).Decode([]byte(body), a); err != nil {
		t.Fatal(err)
	}
	if u := a.Response().Usage; u.Tier != "priority" || u.Input != 3 {
		t.Errorf("whole: %+v", u)
	}
	a = wire.NewAssembler(Name, "m", func(llm.StreamEvent) bool { return true })
	d := NewDialect(Config{}).NewDecoder(a)
	for _, ev := range []struct{ name, data string }{
		{"messageStart", `{"role":"assistant"}`}, {"messageStop", `{"stopReason":"end_turn"}`},
		{"metadata", `{"usage":{"inputTokens":3,"outputTokens":1},"serviceTier":{"type":"flex"}}`},
	} {
		if err := d.Event(wire.Event{Name: []byte(ev.name), Data: []byte(ev.data)}); err != nil {
			t.Fatal(err)
		}
	}
	if u := a.Response().Usage; u.Tier != "flex" {
		t.Errorf("streamed: %+v", u)
	}
}
