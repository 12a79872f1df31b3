package anthropic

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

const (
	drops      = `"block_binding":{"prefix_mismatch_behavior":"drop_block"}`
	summarized = `{"type":"adaptive","display":"summarized"}`
	bound      = `{"type":"adaptive","display":"summarized",` + drops + `}`
)

// The rows follow the vendor's model table: which thinking each model accepts, and its default.
func TestRules_ThinkingByModel(t *testing.T) {
	for _, tt := range []struct {
		model, effort, thinking, output, betas string
	}{
		{"claude-fable-5-2", "", bound, "", betaBinding},
		{"claude-mythos-5-2", "", bound, "", betaBinding},
		{"claude-fable-5-1", "max", bound, `{"effort":"max"}`, betaBinding},
		{"claude-opus-5-5", "", bound, "", betaBinding},
		{"claude-opus-5-5", "none", bound, `{"effort":"low"}`, betaBinding}, // it cannot stop thinking
		{"claude-opus-5-5", "minimal", bound, `{"effort":"low"}`, betaBinding},
		{"claude-sonnet-5-5", "xhigh", bound, `{"effort":"xhigh"}`, betaBinding},
		{"claude-haiku-5-5", "", bound, "", betaBinding},
		{"claude-haiku-5-5", "none", `{"type":"disabled"}`, "", ""}, // without block_binding, which is refused there
		{"claude-opus-5", "", summarized, "", ""},
		{"claude-opus-5", "none", `{"type":"disabled"}`, "", ""},
		{"claude-sonnet-5", "high", summarized, `{"effort":"high"}`, ""},
		{"claude-opus-4-8", "", "", "", ""},
		{"claude-opus-4-8", "high", summarized, `{"effort":"high"}`, ""},
		{"claude-opus-4-6", "", "", "", ""},
		{"claude-opus-4-6", "high", `{"type":"adaptive"}`, `{"effort":"high"}`, ""},
		{"claude-haiku-4-5", "high", `{"type":"enabled","budget_tokens":24576}`, "", ""},
		{"claude-opus-7", "", bound, "", betaBinding}, // unknown models follow the newest rules
		{"claude-next", "", bound, "", betaBinding},
		{"anthropic.claude-sonnet-5-5", "", bound, "", betaBinding}, // on Bedrock
		{"us.anthropic.claude-opus-5-5-v1:0", "", bound, "", betaBinding},
		{"kimi-k3", "high", `{"type":"enabled","budget_tokens":24000}`, "", ""}, // no Claude model
	} {
		call, err := NewDialect(Config{}).Encode(&llm.Request{Model: tt.model, Effort: tt.effort, Messages: []llm.Message{hi}})
		if err != nil {
			t.Errorf("%s, effort %q: %v", tt.model, tt.effort, err)
			continue
		}
		body := wire.Value(call.Body.Bytes())
		if got := string(body.Get("thinking")); got != tt.thinking {
			t.Errorf("%s, effort %q: got thinking %s, want %s", tt.model, tt.effort, got, tt.thinking)
		}
		if got := string(body.Get("output_config")); got != tt.output {
			t.Errorf("%s, effort %q: got output_config %s, want %s", tt.model, tt.effort, got, tt.output)
		}
		if got := call.Header.Get("Anthropic-Beta"); got != tt.betas {
			t.Errorf("%s, effort %q: got betas %q, want %q", tt.model, tt.effort, got, tt.betas)
		}
	}
}

func TestRules_UnsupportedSettingsAreErrorsBeforeTheRequest(t *testing.T) {
	tools := []llm.ToolDef{weather}
	forced := llm.ToolChoice{Mode: llm.ToolRequired}
	for _, tt := range []struct {
		name  string
		r     llm.Request
		error string // "" means that it is sent
	}{
		{"temperature", llm.Request{Model: "claude-opus-5-5", Temperature: ptr(1.0)}, "claude-opus-5-5 does not accept temperature; set the effort instead"},
		{"top_p", llm.Request{Model: "claude-haiku-5-5", TopP: ptr(0.9)}, "does not accept top_p"},
		{"top_k", llm.Request{Model: "claude-sonnet-5", TopK: ptr(3)}, "accepts only the default top_k"},
		{"temperature that is the default", llm.Request{Model: "claude-opus-5", Temperature: ptr(1.0)}, ""},
		{"temperature of an older model", llm.Request{Model: "claude-haiku-4-5", Temperature: ptr(0.5)}, ""},
		{"budget", llm.Request{Model: "claude-sonnet-5-5", ThinkingBudget: ptr(2000)}, "claude-sonnet-5-5 does not support a thinking budget; use effort low, medium, high, xhigh or max"},
		{"budget of an older model", llm.Request{Model: "claude-haiku-4-5", ThinkingBudget: ptr(2000)}, ""},
		{"forced tool", llm.Request{Model: "claude-fable-5-2", Tools: tools, ToolChoice: forced}, `claude-fable-5-2 does not accept a forced tool; use the tool choice "auto"`},
		{"named tool", llm.Request{Model: "claude-opus-5-5", Tools: tools, ToolChoice: llm.ToolChoice{Mode: llm.ToolNamed, Name: "weather"}}, "does not accept a forced tool"},
		{"forced tool where it is accepted", llm.Request{Model: "claude-haiku-5-5", Tools: tools, ToolChoice: forced}, ""},
		{"forced tool without thinking", llm.Request{Model: "claude-opus-5", Tools: tools, ToolChoice: forced}, ""},
		{"cache lifetime", llm.Request{Model: "claude-opus-5-5", CacheTTL: "12h"}, `claude-opus-5-5 does not accept the cache lifetime "12h"; use 5m or 1h`},
		{"tier", llm.Request{Model: "claude-opus-5-5", Tier: "flex"}, `claude-opus-5-5 does not support the service tier "flex"; use auto or standard_only`},
		{"prefill", llm.Request{Model: "claude-sonnet-5-5", Messages: []llm.Message{hi, llm.AssistantText("He")}}, "claude-sonnet-5-5 does not continue an answer"},
		{"prefill of an older model", llm.Request{Model: "claude-haiku-4-5", Messages: []llm.Message{hi, llm.AssistantText("He")}}, ""},
		{"compaction", llm.Request{Model: "claude-haiku-4-5", Compact: "Be brief."}, "the server does not summarise conversations for claude-haiku-4-5"},
	} {
		if tt.r.Messages == nil {
			tt.r.Messages = []llm.Message{hi}
		}
		_, err := NewDialect(Config{}).Encode(&tt.r)
		switch {
		case tt.error == "" && err != nil:
			t.Errorf("%s: got the error %v", tt.name, err)
		case tt.error != "" && (err == nil || !strings.Contains(err.Error(), tt.error) || llm.KindOf(err) != llm.ErrConfiguration):
			t.Errorf("%s: got the error %v, want a configuration error with %q", tt.name, err, tt.error)
		}
	}
}

func TestRules_SettingsOnTheWire(t *testing.T) {
	tools := []llm.ToolDef{weather}
	for _, tt := range []struct {
		name          string
		r             llm.Request
		member, value string
		betas         string
	}{
		{"hidden thinking counts its tokens", llm.Request{Model: "claude-opus-5", Display: "omitted"}, "thinking", `{"type":"adaptive","display":"omitted"}`, betaCount},
		{"updates", llm.Request{Model: "claude-opus-5", Display: "updates"}, "thinking", `{"type":"adaptive","display":"updates"}`, betaUpdates},
		{"tier", llm.Request{Model: "claude-opus-5", Tier: "standard_only"}, "service_tier", `"standard_only"`, ""},
		{"compaction", llm.Request{Model: "claude-opus-5-5", Compact: "Be brief."}, "compaction", `{"type":"summarize","instructions":"Be brief."}`, betaBinding + "," + betaCompaction},
		{"a forced tool turns thinking off", llm.Request{Model: "claude-opus-5", Tools: tools, ToolChoice: llm.ToolChoice{Mode: llm.ToolRequired}}, "thinking", `{"type":"disabled"}`, ""},
		{"JSON without a schema does not force a tool", llm.Request{Model: "claude-opus-5-5", Output: &llm.OutputFormat{}}, "tool_choice", `{"type":"auto","disable_parallel_tool_use":true}`, betaBinding},
		{"a schema", llm.Request{Model: "claude-opus-5-5", Output: &llm.OutputFormat{Schema: schema}}, "tool_choice", "", betaBinding},
	} {
		tt.r.Messages = []llm.Message{hi}
		call, err := NewDialect(Config{}).Encode(&tt.r)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := string(wire.Value(call.Body.Bytes()).Get(tt.member)); got != tt.value {
			t.Errorf("%s: got %s %s, want %s", tt.name, tt.member, got, tt.value)
		}
		if got := call.Header.Get("Anthropic-Beta"); got != tt.betas {
			t.Errorf("%s: got betas %q, want %q", tt.name, got, tt.betas)
		}
	}
}

func TestRules_CacheLifetimeIsAtEachBreakpoint(t *testing.T) {
	r := &llm.Request{Model: "claude-opus-5-5", CacheTTL: "1h", Messages: []llm.Message{llm.SystemText("s"), hi, llm.AssistantText("a"), hi}}
	call, err := NewDialect(Config{}).Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	body := string(call.Body.Bytes())
	if n := strings.Count(body, `"cache_control":{"type":"ephemeral","ttl":"1h"}`); n != 3 || strings.Count(body, "cache_control") != n {
		t.Errorf("got %d breakpoints with the lifetime, want 3: %s", n, body)
	}
}

// System messages follow the user's words, and precede the answer, wherever they were in between.
func TestRules_LateSystemMessages(t *testing.T) {
	late := llm.SystemText("late")
	for _, tt := range []struct {
		name     string
		messages []llm.Message
		roles    string
	}{
		{"after the user", []llm.Message{llm.SystemText("s"), hi, late}, "user system"},
		{"before the user", []llm.Message{hi, llm.AssistantText("a"), late, hi}, "user assistant user system"},
		{"between the user's words", []llm.Message{hi, late, hi}, "user system"},
		{"before an answer", []llm.Message{hi, late, llm.AssistantText("a"), hi}, "user system assistant user"},
		{"two", []llm.Message{hi, late, late}, "user system"},
		{"after an answer", []llm.Message{hi, {Role: llm.RoleAssistant, Parts: []llm.Part{llm.Opaque{Kind: "x", State: llm.State{Dialect: Name, Data: []byte(`{"type":"x"}`)}}}}, late}, "user assistant user"},
	} {
		call, err := NewDialect(Config{}).Encode(&llm.Request{Model: "claude-opus-5-5", Messages: tt.messages})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		body := wire.Value(call.Body.Bytes())
		var roles []string
		for it := body.Get("messages").Elements(); it.Next(); {
			roles = append(roles, it.Value.Get("role").Str())
		}
		if got := strings.Join(roles, " "); got != tt.roles || strings.Contains(string(body.Get("system")), "late") {
			t.Errorf("%s: got the roles %s and system %s, want %s", tt.name, got, body.Get("system"), tt.roles)
		}
		old, err := NewDialect(Config{}).Encode(&llm.Request{Model: "claude-haiku-4-5", Messages: tt.messages})
		if err == nil && !strings.Contains(string(wire.Value(old.Body.Bytes()).Get("system")), "late") {
			t.Errorf("%s: an older model does not get the instructions in its system prompt", tt.name)
		}
	}
}

func TestRules_ToolsChangeInPlace(t *testing.T) {
	other := llm.ToolDef{Name: "other", Parameters: json.RawMessage(`{"type":"object"}`)}
	added := llm.Message{Role: llm.RoleSystem, Parts: []llm.Part{llm.ToolChange{Add: []llm.ToolDef{other}}}}
	removed := llm.Message{Role: llm.RoleSystem, Parts: []llm.Part{llm.ToolChange{Remove: []llm.RemovedTool{{At: 1, Tool: other}}}}}
	blocks := `{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"other","input_schema":{"type":"object"}}}}`
	removal := `{"type":"tool_removal","tool":{"type":"tool_reference","name":"other"}}`
	for _, tt := range []struct {
		name           string
		model          string
		cloud          bool
		messages       []llm.Message
		tools          []llm.ToolDef
		names, content string
		betas          bool
	}{
		{"added", "claude-opus-5-5", false, []llm.Message{hi, added}, []llm.ToolDef{weather, other}, "weather", blocks, true},
		{"removed", "claude-opus-5-5", false, []llm.Message{hi, removed}, []llm.ToolDef{weather}, "weather other", removal, true},
		{"a cloud platform", "claude-opus-5-5", true, []llm.Message{hi, added}, []llm.ToolDef{weather, other}, "weather other", "", false},
		{"an older model", "claude-haiku-4-5", false, []llm.Message{hi, added}, []llm.ToolDef{weather, other}, "weather other", "", false},
		{"tools that do not fit", "claude-opus-5-5", false, []llm.Message{hi, added}, []llm.ToolDef{weather}, "weather", "", false},
		{"no user message to follow", "claude-opus-5-5", false, []llm.Message{hi, llm.AssistantText("a"), added, llm.AssistantText("b"), hi}, []llm.ToolDef{weather, other}, "weather other", "", false},
	} {
		call, err := NewDialect(Config{Cloud: tt.cloud}).Encode(&llm.Request{Model: tt.model, Messages: tt.messages, Tools: tt.tools, NoCache: true})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		body := wire.Value(call.Body.Bytes())
		var names []string
		for it := body.Get("tools").Elements(); it.Next(); {
			names = append(names, it.Value.Get("name").Str())
		}
		if got := strings.Join(names, " "); got != tt.names {
			t.Errorf("%s: got the tools %s, want %s", tt.name, got, tt.names)
		}
		messages := string(body.Get("messages"))
		if has := strings.Contains(messages, "tool_addition") || strings.Contains(messages, "tool_removal"); has != (tt.content != "") || !strings.Contains(messages, tt.content) {
			t.Errorf("%s: got %s, want %s in it", tt.name, messages, tt.content)
		}
		if got := strings.Contains(call.Header.Get("Anthropic-Beta"), betaInline); got != tt.betas {
			t.Errorf("%s: got betas %q", tt.name, call.Header.Get("Anthropic-Beta"))
		}
	}
}

func TestRules_ErrorsAreTextOnly(t *testing.T) {
	picture := llm.Image{Media: llm.Media{Data: []byte("\x89PNG\r\n\x1a\n")}}
	for _, failed := range []bool{false, true} {
		call := llm.ToolCall{ID: "a", Name: "f", Arguments: "{}"}
		result := llm.ToolResult{ID: "a", Parts: []llm.Part{llm.Text{Text: "no"}, picture}, IsError: failed}
		r := &llm.Request{Model: "claude-opus-5-5", Messages: []llm.Message{hi, {Role: llm.RoleAssistant, Parts: []llm.Part{call}}, llm.ToolResults(result)}}
		got, err := NewDialect(Config{}).Encode(r)
		if err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(string(got.Body.Bytes()), `"type":"image"`); has == failed {
			t.Errorf("an error: %v: an image is sent: %v", failed, has)
		}
	}
}
