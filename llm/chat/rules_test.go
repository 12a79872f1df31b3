package chat

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/requests"
	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// ruled is a catalogue with models of several vendors.
const ruled = `{"models": [
	{"id":"kimi","provider":"moonshot","reasoning":true,"efforts":["low","high","max"],"rules":{"sampling":"changed","needs_thinking":true}},
	{"id":"kimi-old","provider":"moonshot","reasoning":true},
	{"id":"qwen","provider":"qwen","reasoning":true,"efforts":["low","medium","xhigh"]},
	{"id":"qwen-hybrid","provider":"qwen","reasoning":true,"efforts":["none","low","medium","xhigh"]},
	{"id":"qwen-old","provider":"qwen","reasoning":true},
	{"id":"minimax","provider":"minimax","reasoning":true,"efforts":["low","medium","high","xhigh","max"],"rules":{"budget":"always"}},
	{"id":"minimax-old","provider":"minimax","reasoning":true},
	{"id":"glm","provider":"zai","reasoning":true,"efforts":["low","high","max"]},
	{"id":"deepseek","provider":"deepseek","reasoning":true,"efforts":["low","high","max"]},
	{"id":"deepseek-other","provider":"deepseek","reasoning":true},
	{"id":"plain","provider":"deepseek"},
	{"id":"gpt","provider":"openai","reasoning":true,"efforts":["low","high"],"rules":{"chat_tools":"always","sampling":"always"}},
	{"id":"gpt-quiet","provider":"openai","reasoning":true,"efforts":["none","low"],"rules":{"chat_tools":"thinking"}},
	{"id":"gpt-silent","provider":"openai","reasoning":true,"efforts":["none","low"],"rules":{"chat_tools":"thinking","default_effort":"none"}},
	{"id":"gpt-old","provider":"openai","reasoning":true},
	{"id":"anthropic/claude","provider":"openrouter","reasoning":true,"efforts":["low","high"],"rules":{"cache":"cache_control","cache_ttls":["5m","1h"]}},
	{"id":"alias-of-claude","provider":"openrouter","rules":{"cache":"cache_control","cache_ttls":["5m"]}},
	{"id":"google/gemini","provider":"openrouter","reasoning":true}],
	"families": [{"provider":"openai","prefix":"gpt-","like":"gpt"}]}`

var hosts = map[string]string{
	"moonshot": "https://api.moonshot.ai/v1", "qwen": "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
	"minimax": "https://api.minimax.io/v1", "zai": "https://api.z.ai/api/paas/v4", "deepseek": "https://api.deepseek.com",
	"openai": "https://api.openai.com/v1", "openrouter": "https://openrouter.ai/api/v1", "groq": "https://api.groq.com/openai/v1",
	"local": "http://localhost:8000/v1",
}

func ruledDialect(t *testing.T, vendor string) wire.Dialect {
	t.Helper()
	c, err := llm.ReadCatalogue(strings.NewReader(ruled))
	if err != nil {
		t.Fatal(err)
	}
	return New(Config{Endpoint: llm.Endpoint{Name: vendor, BaseURL: hosts[vendor]}, Catalogue: c}).(*provider).dialect
}

func TestEncode_EffortReachesEveryVendor(t *testing.T) {
	for _, c := range []struct {
		provider, model, effort string
		want                    string // the members before the messages, without the model
	}{
		{"moonshot", "kimi", "low", `"reasoning_effort":"low"`},
		{"moonshot", "kimi", "medium", `"reasoning_effort":"high"`},
		{"moonshot", "kimi", "none", `"reasoning_effort":"low"`},
		{"moonshot", "kimi", "", ``},
		{"moonshot", "kimi-old", "high", `"thinking":{"type":"enabled"}`},
		{"moonshot", "kimi-old", "none", `"thinking":{"type":"disabled"}`},
		{"qwen", "qwen", "xhigh", `"reasoning_effort":"xhigh"`},
		{"qwen", "qwen", "none", `"reasoning_effort":"low"`},
		{"qwen", "qwen-hybrid", "none", `"enable_thinking":false`},
		{"qwen", "qwen-hybrid", "low", `"reasoning_effort":"low"`},
		{"qwen", "qwen-old", "high", `"enable_thinking":true`},
		{"minimax", "minimax", "max", `"reasoning_effort":"max","reasoning_split":true`},
		{"minimax", "minimax", "none", `"reasoning_effort":"low","reasoning_split":true`},
		{"minimax", "minimax-old", "none", `"thinking":{"type":"disabled"},"reasoning_split":true`},
		{"minimax", "minimax-old", "high", `"thinking":{"type":"adaptive"},"reasoning_split":true`},
		{"zai", "glm", "medium", `"thinking":{"type":"enabled"},"reasoning_effort":"high"`},
		{"zai", "glm", "xhigh", `"thinking":{"type":"enabled"},"reasoning_effort":"max"`},
		{"deepseek", "deepseek", "medium", `"thinking":{"type":"enabled"},"reasoning_effort":"high"`},
		{"deepseek", "deepseek", "max", `"thinking":{"type":"enabled"},"reasoning_effort":"max"`},
		{"deepseek", "deepseek", "none", `"thinking":{"type":"disabled"}`},
		{"deepseek", "plain", "high", ``},
		{"openrouter", "google/gemini", "medium", `"reasoning":{"effort":"medium"}`},
		{"openrouter", "anthropic/claude", "medium", `"reasoning":{"effort":"high"},"cache_control":{"type":"ephemeral"}`},
		{"openai", "gpt", "none", `"reasoning_effort":"low"`},
		{"openai", "gpt-next", "none", `"reasoning_effort":"low"`},
		{"local", "qwen", "none", `"reasoning_effort":"low"`},
		{"local", "unknown", "minimal", `"reasoning_effort":"minimal"`},
	} {
		got := string(body(t, ruledDialect(t, c.provider), &llm.Request{Model: c.model, Effort: c.effort, Unary: true}))
		want := `{"model":"` + c.model + `",` + c.want
		if want = strings.TrimSuffix(want, ",") + `,"messages":[]}`; got != want {
			t.Errorf("%s %s:\n got %s\nwant %s", c.model, c.effort, got, want)
		}
	}
}

func TestEncode_RefusesSettingsThatTheModelOrServerRefuses(t *testing.T) {
	tool := []llm.ToolDef{{Name: "f"}}
	for _, c := range []struct {
		provider string
		request  llm.Request
		want     string // the error; "" for none
	}{
		{"moonshot", llm.Request{Model: "kimi", Temperature: new(0.5)}, "kimi accepts only the default temperature; do not set it"},
		{"moonshot", llm.Request{Model: "kimi", Temperature: new(1.0)}, ""},
		{"moonshot", llm.Request{Model: "kimi", TopK: new(5)}, ""},
		{"openai", llm.Request{Model: "gpt-next", TopP: new(0.5)}, "gpt-next does not accept top_p; set the effort instead"},
		{"minimax", llm.Request{Model: "minimax", ThinkingBudget: new(5)}, "minimax does not accept a thinking budget; set the effort instead"},
		{"openai", llm.Request{Model: "gpt"}, ""},
		{"openai", llm.Request{Model: "gpt", Tools: tool},
			"gpt does not accept tools over Chat Completions; use provider openai, which uses the Responses API"},
		{"openai", llm.Request{Model: "gpt-quiet", Tools: tool, Effort: "low"},
			"gpt-quiet accepts tools over Chat Completions only with effort none; use provider openai, which uses the Responses API"},
		{"openai", llm.Request{Model: "gpt-quiet", Tools: tool},
			"gpt-quiet accepts tools over Chat Completions only with effort none; use provider openai, which uses the Responses API"},
		{"openai", llm.Request{Model: "gpt-quiet", Tools: tool, Effort: "none"}, ""},
		{"openai", llm.Request{Model: "gpt-silent", Tools: tool}, ""},
		{"openai", llm.Request{Model: "gpt-silent", Tools: tool, Effort: "low"},
			"gpt-silent accepts tools over Chat Completions only with effort none; use provider openai, which uses the Responses API"},
		{"openai", llm.Request{Model: "gpt-old", Tools: tool}, ""},
		{"local", llm.Request{Model: "gpt", Tools: tool}, ""},
		{"openai", llm.Request{Model: "gpt", Tier: "flex"}, ""},
		{"groq", llm.Request{Model: "m", Tier: "flex"}, ""},
		{"deepseek", llm.Request{Model: "deepseek", Tier: "flex"}, `deepseek has no service tiers; leave out "flex"`},
		{"openrouter", llm.Request{Model: "anthropic/claude", CacheTTL: "1h"}, ""},
		{"openrouter", llm.Request{Model: "alias-of-claude", CacheTTL: "1h"}, `alias-of-claude does not accept the cache lifetime "1h"; use 5m`},
		{"openrouter", llm.Request{Model: "google/gemini", CacheTTL: "1h"}, `google/gemini has no cache lifetime that can be set; leave out "1h"`},
		{"local", llm.Request{Model: "anthropic/claude", CacheTTL: "1h"}, `anthropic/claude has no cache lifetime that can be set; leave out "1h"`},
	} {
		_, err := ruledDialect(t, c.provider).Encode(&c.request)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s %s: got %v, want no error", c.provider, c.request.Model, err)
			}
			continue
		}
		if e, ok := err.(*llm.Error); !ok || e.Kind != llm.ErrConfiguration || e.Message != c.want {
			t.Errorf("%s %s: got %v, want a configuration error: %s", c.provider, c.request.Model, err, c.want)
		}
	}
	got := string(body(t, ruledDialect(t, "groq"), &llm.Request{Model: "m", Tier: "flex", Unary: true}))
	if want := `{"model":"m","service_tier":"flex","messages":[]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestEncode_ToolCallsCarryTheirReasoningWhereItIsRequired(t *testing.T) {
	thought := func(dialect, model, data string) llm.Thinking {
		return llm.Thinking{Text: "hm", State: llm.State{Dialect: dialect, Model: model, Data: []byte(data)}}
	}
	const details = `{"reasoning_content":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm"}]}`
	call := llm.ToolCall{ID: "1", Name: "f", Arguments: "{}"}
	for name, c := range map[string]struct {
		provider, model string
		parts           []llm.Part
		want            string // the members between content and tool_calls
	}{
		"its own":                          {"deepseek", "deepseek", []llm.Part{thought(Name, "deepseek", `"reasoning_content"`), call}, `"reasoning_content":"hm",`},
		"another model of the provider":    {"deepseek", "deepseek", []llm.Part{thought(Name, "deepseek-other", `"reasoning_content"`), call}, `"reasoning_content":"hm",`},
		"a model of another provider":      {"deepseek", "deepseek", []llm.Part{thought(Name, "qwen", `"reasoning_content"`), call}, `"reasoning_content":"",`},
		"another dialect":                  {"deepseek", "deepseek", []llm.Part{thought("anthropic", "claude", "sig"), call}, `"reasoning_content":"",`},
		"thinking removed":                 {"deepseek", "deepseek", []llm.Part{call}, `"reasoning_content":"",`},
		"unknown model of the server":      {"deepseek", "new", []llm.Part{call}, `"reasoning_content":"",`},
		"required by the model's rules":    {"local", "kimi", []llm.Part{call}, `"reasoning_content":"",`},
		"not required":                     {"local", "qwen", []llm.Part{call}, ``},
		"not required, from another model": {"qwen", "qwen", []llm.Part{thought(Name, "qwen-old", `"reasoning_content"`), call}, ``},
		"kimi":                             {"moonshot", "kimi-old", []llm.Part{call}, `"reasoning_content":"",`},
		"minimax":                          {"minimax", "minimax", []llm.Part{call}, `"reasoning_content":"",`},
		"minimax with all its thinking": {"minimax", "minimax", []llm.Part{thought(Name, "minimax", details), call},
			`"reasoning_content":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm"}],`},
		"details for another model": {"minimax", "minimax", []llm.Part{thought(Name, "minimax-old", details), call}, `"reasoning_content":"",`},
		"openrouter's details": {"openrouter", "google/gemini", []llm.Part{thought(Name, "google/gemini", details), call},
			`"reasoning_content":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm"}],`},
	} {
		t.Run(name, func(t *testing.T) {
			r := &llm.Request{Model: c.model, Messages: []llm.Message{{Role: llm.RoleAssistant, Parts: c.parts}}}
			got := string(body(t, ruledDialect(t, c.provider), r))
			want := `"messages":[{"role":"assistant","content":null,` + c.want + `"tool_calls":[`
			if !strings.Contains(got, want) {
				t.Errorf("\n got %s\nwant %s", got, want)
			}
		})
	}
}

func TestEncode_ClaudeCacheControl(t *testing.T) {
	messages := []llm.Message{llm.SystemText("s"), llm.UserText("u"), llm.SystemText("later")}
	const plain = `{"role":"user","content":"u"},{"role":"system","content":"later"}]}`
	for name, c := range map[string]struct {
		provider string
		request  llm.Request
		want     string
	}{
		"default": {"openrouter", llm.Request{Model: "anthropic/claude"},
			`"cache_control":{"type":"ephemeral"},"messages":[{"role":"system","content":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}]},` + plain},
		"lifetime": {"openrouter", llm.Request{Model: "anthropic/claude", CacheTTL: "1h"},
			`"cache_control":{"type":"ephemeral","ttl":"1h"},"messages":[{"role":"system","content":[{"type":"text","text":"s","cache_control":{"type":"ephemeral","ttl":"1h"}}]},` + plain},
		"not in the catalogue": {"openrouter", llm.Request{Model: "anthropic/claude-next"},
			`"cache_control":{"type":"ephemeral"},"messages":[{"role":"system","content":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}]},` + plain},
		"another name": {"openrouter", llm.Request{Model: "alias-of-claude"},
			`"cache_control":{"type":"ephemeral"},"messages":[{"role":"system","content":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}]},` + plain},
		"no cache":       {"openrouter", llm.Request{Model: "anthropic/claude", NoCache: true}, `{"model":"anthropic/claude","messages":[{"role":"system","content":"s"},` + plain},
		"other models":   {"openrouter", llm.Request{Model: "google/gemini"}, `{"model":"google/gemini","messages":[{"role":"system","content":"s"},` + plain},
		"another server": {"groq", llm.Request{Model: "anthropic/claude"}, `{"model":"anthropic/claude","messages":[{"role":"system","content":"s"},` + plain},
	} {
		t.Run(name, func(t *testing.T) {
			c.request.Messages, c.request.Unary = messages, true
			if got := string(body(t, ruledDialect(t, c.provider), &c.request)); !strings.HasSuffix(got, c.want) {
				t.Errorf("\n got %s\nwant …%s", got, c.want)
			}
		})
	}
}

func TestEncode_CacheControlOnlyAppends(t *testing.T) {
	d, cache := ruledDialect(t, "openrouter"), new(llm.Cache)
	messages := longTalk(6, "anthropic/claude")
	var before []byte
	for n := 1; n <= len(messages); n++ {
		now := body(t, d, &llm.Request{Model: "anthropic/claude", Messages: messages[:n:n], Cache: cache})
		if !bytes.HasPrefix(now, bytes.TrimSuffix(before, []byte("]}"))) {
			t.Fatalf("request %d does not continue the previous one:\n%s\n%s", n, before, now)
		}
		before = now
	}
	other := &llm.Request{Model: "anthropic/claude", Messages: messages, Cache: cache, CacheTTL: "1h"}
	cached := body(t, d, other)
	if other.Cache = nil; !bytes.Equal(cached, body(t, d, other)) {
		t.Error("another lifetime got the encoded messages of the first")
	}
}

func TestEncode_ToolChangesAreNotMessages(t *testing.T) {
	change := llm.ToolChange{Add: []llm.ToolDef{{Name: "f"}}}
	r := &llm.Request{Model: "m", Unary: true, Messages: []llm.Message{
		llm.UserText("a"), {Role: llm.RoleSystem, Parts: []llm.Part{change}}, {Role: llm.RoleSystem, Parts: []llm.Part{llm.Text{Text: "t"}, change}}}}
	got := string(body(t, NewDialect(Config{}), r))
	if want := `{"model":"m","messages":[{"role":"user","content":"a"},{"role":"system","content":"t"}]}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestDecode_TierAndCacheWrites(t *testing.T) {
	const usage = `"service_tier":"priority","usage":{"prompt_tokens":90,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":50,"cache_write_tokens":30}}`
	for name, c := range map[string]struct {
		body   string
		stream bool
	}{
		"unary":  {`{"id":"1","model":"m",` + usage + `,"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`, false},
		"stream": {"data: {\"id\":\"1\",\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: {" + usage + ",\"choices\":[]}\n\ndata: [DONE]\n\n", true},
	} {
		a := wire.NewAssembler(Name, "m", func(llm.StreamEvent) bool { return true })
		if err := wire.Read(NewDialect(Config{}), wire.Answer{Status: 200, Body: strings.NewReader(c.body), Stream: c.stream}, a); err != nil {
			t.Fatal(err)
		}
		u := a.Response().Usage
		u.Raw = nil
		if want := (llm.Usage{Input: 90, Output: 2, CacheRead: 50, CacheWrite: 30, Tier: "priority"}); !reflect.DeepEqual(u, want) {
			t.Errorf("%s: got %+v, want %+v", name, u, want)
		}
	}
}

func TestParse_RequestsWithACacheAreEncodedAsTheyWere(t *testing.T) {
	d := ruledDialect(t, "openrouter")
	for _, want := range []string{
		`{"model":"anthropic/claude","messages":[{"role":"system","content":"s"}]}`,
		`{"model":"anthropic/claude","cache_control":{"type":"ephemeral","ttl":"1h"},"messages":[{"role":"system","content":"s"}]}`,
		`{"model":"anthropic/claude","messages":[{"role":"system","content":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}]}]}`,
	} {
		r, _, err := requests.Parse(d, []byte(want))
		if err != nil {
			t.Fatal(err)
		}
		if got := body(t, d, r); !requests.Equal(got, json.RawMessage(want)) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestEncode_ABudgetSwitchesThinkingOn(t *testing.T) {
	for _, c := range []struct {
		model, effort string
		want          string
	}{
		{"qwen-hybrid", "low", `"enable_thinking":true,"thinking_budget":2000,"reasoning_effort":"low"`},
		{"qwen-old", "", `"enable_thinking":true,"thinking_budget":2000`},
	} {
		got := string(body(t, ruledDialect(t, "qwen"), &llm.Request{Model: c.model, Effort: c.effort, ThinkingBudget: new(2000), Unary: true}))
		if want := `{"model":"` + c.model + `",` + c.want + `,"messages":[]}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
