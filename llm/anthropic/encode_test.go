package anthropic

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// testDialect returns a dialect with one model of each kind.
func testDialect(t testing.TB) *dialect {
	c, err := llm.NewCatalogue([]llm.Model{
		{ID: "adaptive", Provider: Name, MaxOutput: 64000, Reasoning: true, Thinking: "adaptive", Schema: true, Efforts: []string{"low", "medium", "high"}},
		{ID: "budget", Provider: Name, MaxOutput: 32000, Reasoning: true, Thinking: "budget"},
		{ID: "old", Provider: Name, MaxOutput: 4096},
	})
	if err != nil {
		t.Fatal(err)
	}
	return NewDialect(Config{Catalogue: c}).(*dialect)
}

func encode(t testing.TB, r *llm.Request) *llm.Call {
	t.Helper()
	call, err := testDialect(t).Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(call.Body.Bytes()) {
		t.Fatalf("the body is not JSON: %s", call.Body.Bytes())
	}
	return call
}

// A typo must not disable thinking.
func TestEncode_AnUnknownEffortIsAnErrorWhereItMeansABudget(t *testing.T) {
	for _, model := range []string{"budget", "nobody-knows-me"} {
		_, err := testDialect(t).Encode(&llm.Request{Model: model, Effort: "hihg", Messages: []llm.Message{llm.UserText("hi")}})
		if err == nil || !strings.Contains(err.Error(), `"hihg"; use none, minimal, low, medium, high, xhigh or max`) {
			t.Errorf("%s: %v", model, err)
		}
	}
}

func ptr[T any](v T) *T { return &v }

var (
	hi      = llm.UserText("hi")
	weather = llm.ToolDef{Name: "weather", Description: "Looks out of the window.", Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)}
	schema  = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`)
)

func signed(text, model string) llm.Thinking {
	return llm.Thinking{Text: text, State: llm.State{Dialect: Name, Model: model, Data: []byte(`{"signature":"sig-` + text + `"}`)}}
}

func TestEncode_Request(t *testing.T) {
	user := `"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]`
	tests := []struct {
		name string
		r    llm.Request
		want string // body members beside those that every request here has
	}{
		{"max tokens come from the catalogue", llm.Request{Model: "old"}, `"model":"old","max_tokens":4096`},
		{"max tokens of an unknown model", llm.Request{Model: "new"}, `"model":"new","max_tokens":32000`},
		{"max tokens that were asked for", llm.Request{Model: "old", MaxTokens: 10}, `"model":"old","max_tokens":10`},
		{"a Bedrock name is found in the catalogue", llm.Request{Model: "us.anthropic.old-20250101-v1:0"}, `"model":"us.anthropic.old-20250101-v1:0","max_tokens":4096`},
		{"effort is adaptive thinking", llm.Request{Model: "adaptive", Effort: "high"},
			`"model":"adaptive","max_tokens":64000,"thinking":{"type":"adaptive"},"output_config":{"effort":"high"}`},
		{"effort that the model does not list", llm.Request{Model: "adaptive", Effort: "max"},
			`"model":"adaptive","max_tokens":64000,"thinking":{"type":"adaptive"},"output_config":{"effort":"high"}`},
		{"the least effort", llm.Request{Model: "adaptive", Effort: "minimal"},
			`"model":"adaptive","max_tokens":64000,"thinking":{"type":"adaptive"},"output_config":{"effort":"low"}`},
		{"no effort", llm.Request{Model: "adaptive", Effort: "none"}, `"model":"adaptive","max_tokens":64000,"thinking":{"type":"disabled"}`},
		{"effort is a budget elsewhere", llm.Request{Model: "budget", Effort: "medium"},
			`"model":"budget","max_tokens":32000,"thinking":{"type":"enabled","budget_tokens":10240}`},
		{"a budget is less than max tokens", llm.Request{Model: "budget", Effort: "high", MaxTokens: 8000},
			`"model":"budget","max_tokens":8000,"thinking":{"type":"enabled","budget_tokens":6000}`},
		{"no room for a budget", llm.Request{Model: "budget", Effort: "high", MaxTokens: 1000}, `"model":"budget","max_tokens":1000`},
		{"a budget in tokens", llm.Request{Model: "budget", ThinkingBudget: ptr(2000)},
			`"model":"budget","max_tokens":32000,"thinking":{"type":"enabled","budget_tokens":2000}`},
		{"a model that does not think", llm.Request{Model: "old", Effort: "high"}, `"model":"old","max_tokens":4096`},
		{"sampling", llm.Request{Model: "old", Temperature: ptr(0.5), TopK: ptr(3), Stop: []string{"END"}},
			`"model":"old","max_tokens":4096,"temperature":0.5,"top_k":3,"stop_sequences":["END"]`},
		{"sampling beside thinking", llm.Request{Model: "budget", Effort: "low", Temperature: ptr(0.5), TopK: ptr(3)},
			`"model":"budget","max_tokens":32000,"thinking":{"type":"enabled","budget_tokens":4096}`},
		{"temperature before top_p", llm.Request{Model: "old", Temperature: ptr(0.5), TopP: ptr(0.9)}, `"model":"old","max_tokens":4096,"temperature":0.5`},
		{"a schema, natively", llm.Request{Model: "adaptive", Output: &llm.OutputFormat{Schema: schema}},
			`"model":"adaptive","max_tokens":64000,"output_config":{"format":{"type":"json_schema","schema":` + string(schema) + `}}`},
		{"a schema by a forced tool, which goes without thinking", llm.Request{Model: "budget", Effort: "high", Output: &llm.OutputFormat{Schema: schema}},
			`"model":"budget","max_tokens":32000,"tool_choice":{"type":"tool","name":"reins_json_output","disable_parallel_tool_use":true},` +
				`"tools":[{"name":"reins_json_output","description":"Call this tool to return the answer.","input_schema":` + string(schema) + `}]`},
		{"options win and are merged", llm.Request{Model: "adaptive", Effort: "low", Options: map[string]llm.Options{Name: {Body: map[string]json.RawMessage{
			"thinking": json.RawMessage(`{"display":"omitted"}`), "output_config": json.RawMessage(`{"effort":"max"}`), "metadata": json.RawMessage(`{"user_id":"u"}`), "max_tokens": json.RawMessage(`5`)}}}},
			`"model":"adaptive","max_tokens":5,"thinking":{"type":"adaptive","display":"omitted"},"output_config":{"effort":"max"},"metadata":{"user_id":"u"}`},
		{"tool choice", llm.Request{Model: "old", Tools: []llm.ToolDef{weather}, ToolChoice: llm.ToolChoice{Mode: llm.ToolNamed, Name: "weather"}, ParallelTools: ptr(false)},
			`"model":"old","max_tokens":4096,"tool_choice":{"type":"tool","name":"weather","disable_parallel_tool_use":true},"tools":[` + weatherJSON + `]`},
		{"no tool may be called", llm.Request{Model: "old", Tools: []llm.ToolDef{weather}, ToolChoice: llm.ToolChoice{Mode: llm.ToolNone}, ParallelTools: ptr(true)},
			`"model":"old","max_tokens":4096,"tool_choice":{"type":"none"},"tools":[` + weatherJSON + `]`},
		{"a freeform tool is a function of one string", llm.Request{Model: "old", Tools: []llm.ToolDef{{Name: "patch", Description: "d", Freeform: &llm.Freeform{}}}},
			`"model":"old","max_tokens":4096,"tools":[{"name":"patch","description":"d","input_schema":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}}]`},
		{"hosted tools of this dialect only", llm.Request{Model: "old", Tools: []llm.ToolDef{
			{Hosted: llm.State{Dialect: Name, Data: []byte(`{"type":"web_search_20250305","name":"web_search"}`)}},
			{Hosted: llm.State{Dialect: "gemini", Data: []byte(`{"googleSearch":{}}`)}}}},
			`"model":"old","max_tokens":4096,"tools":[{"type":"web_search_20250305","name":"web_search"}]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.r.Messages, tt.r.NoCache, tt.r.Unary = []llm.Message{hi}, true, true
			call := encode(t, &tt.r)
			if want := "{" + tt.want + "," + user + "}"; !sameJSON(call.Body.Bytes(), []byte(want)) {
				t.Errorf("got  %s\nwant %s", call.Body.Bytes(), want)
			}
		})
	}
}

const weatherJSON = `{"name":"weather","description":"Looks out of the window.","input_schema":{"type":"object","properties":{"city":{"type":"string"}}}}`

func TestEncode_Messages(t *testing.T) {
	call := func(id string) llm.ToolCall {
		return llm.ToolCall{ID: id, Name: "weather", Arguments: `{"city":"Rome"}`}
	}
	result := func(id, text string) llm.ToolResult {
		return llm.ToolResult{ID: id, Parts: []llm.Part{llm.Text{Text: text}}}
	}
	assistant := func(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.RoleAssistant, Parts: parts} }
	user := func(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.RoleUser, Parts: parts} }
	const (
		textHi  = `{"type":"text","text":"hi"}`
		useA    = `{"type":"tool_use","id":"a","name":"weather","input":{"city":"Rome"}}`
		useB    = `{"type":"tool_use","id":"b","name":"weather","input":{"city":"Rome"}}`
		resultA = `{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"sun"}]}`
		resultB = `{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"rain"}]}`
	)
	tests := []struct {
		name     string
		messages []llm.Message
		want     string // the messages
	}{
		{"neighbours are merged", []llm.Message{hi, hi, llm.AssistantText("a"), llm.AssistantText("b"), hi},
			`[{"role":"user","content":[` + textHi + `,` + textHi + `]},{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},{"role":"user","content":[` + textHi + `]}]`},
		{"empty messages do not keep neighbours apart", []llm.Message{hi, llm.AssistantText(""), hi}, `[{"role":"user","content":[` + textHi + `,` + textHi + `]}]`},
		{"tool results stand first", []llm.Message{hi, assistant(call("a"), call("b")), llm.ToolResults(result("a", "sun")), hi, llm.ToolResults(result("b", "rain"))},
			`[{"role":"user","content":[` + textHi + `]},{"role":"assistant","content":[` + useA + `,` + useB + `]},{"role":"user","content":[` + resultA + `,` + resultB + `,` + textHi + `]}]`},
		{"arguments are always an object", []llm.Message{assistant(
			llm.ToolCall{ID: "a", Name: "f"}, llm.ToolCall{ID: "b", Name: "f", Arguments: "{oops"}, llm.ToolCall{ID: "c", Name: "f", Arguments: "text", Custom: true}, llm.ToolCall{ID: "d|e", Name: "f", Arguments: "[1]"})},
			`[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"b","name":"f","input":{"_raw":"{oops"}},` +
				`{"type":"tool_use","id":"c","name":"f","input":{"input":"text"}},{"type":"tool_use","id":"d_e_yoJJGPRNosg","name":"f","input":{"_raw":"[1]"}}]}]`},
		{"errors and empty results", []llm.Message{llm.ToolResults(llm.ToolResult{ID: "a", IsError: true}, llm.ToolResult{ID: "b"}, llm.ToolResult{ID: "c", IsError: true, Parts: []llm.Part{llm.Text{Text: "no"}}})},
			`[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","is_error":true,"content":[{"type":"text","text":"error"}]},{"type":"tool_result","tool_use_id":"b"},` +
				`{"type":"tool_result","tool_use_id":"c","is_error":true,"content":[{"type":"text","text":"no"}]}]}]`},
		{"thinking goes back to its model only", []llm.Message{hi, assistant(signed("x", "old"), signed("y", "other"), llm.Thinking{Text: "unsigned"},
			llm.Thinking{Redacted: true, State: llm.State{Dialect: Name, Model: "old", Data: []byte(`{"data":"zzz"}`)}}, llm.Thinking{Text: "o", State: llm.State{Dialect: "gemini", Data: []byte(`{}`)}}, llm.Text{Text: "a"})},
			`[{"role":"user","content":[` + textHi + `]},{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"sig-x"},{"type":"redacted_thinking","data":"zzz"},{"type":"text","text":"a"}]}]`},
		{"opaque blocks go back whole", []llm.Message{assistant(
			llm.Opaque{Kind: "server_tool_use", State: llm.State{Dialect: Name, Model: "old", Data: []byte(`{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`)}},
			llm.Opaque{Kind: "reasoning", State: llm.State{Dialect: "openai-responses", Data: []byte(`{"type":"reasoning"}`)}},
			llm.Text{Text: "a", State: llm.State{Dialect: Name, Model: "old", Data: []byte(`{"citations":[{"n":1}]}`)}})},
			`[{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{}},{"type":"text","text":"a","citations":[{"n":1}]}]}]`},
		{"media", []llm.Message{user(
			llm.Image{Media: llm.Media{MIME: "image/png", Data: []byte("png")}}, llm.Image{Media: llm.Media{URL: "https://x/y.png"}},
			llm.Document{Media: llm.Media{MIME: "application/pdf", Data: []byte("pdf"), Name: "a.pdf"}}, llm.Document{Media: llm.Media{MIME: "text/markdown", Data: []byte("# x")}},
			llm.Image{Media: llm.Media{MIME: "image/tiff", Data: []byte("t")}}, llm.Audio{Media: llm.Media{MIME: "audio/wav", Data: []byte("w")}}),
			assistant(llm.Image{Media: llm.Media{URL: "https://x/y.png"}})},
			`[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cG5n"}},{"type":"image","source":{"type":"url","url":"https://x/y.png"}},` +
				`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"cGRm"},"title":"a.pdf"},{"type":"document","source":{"type":"text","media_type":"text/plain","data":"# x"}},` +
				`{"type":"text","text":"[image of type image/tiff: not supported]"},{"type":"text","text":"[audio: not supported]"}]},{"role":"assistant","content":[{"type":"text","text":"[image]"}]}]`},
		{"an image as a tool result", []llm.Message{llm.ToolResults(llm.ToolResult{ID: "a", Parts: []llm.Part{llm.Image{Media: llm.Media{MIME: "image/png", Data: []byte("png")}}}})},
			`[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cG5n"}}]}]}]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := encode(t, &llm.Request{Model: "old", NoCache: true, Messages: tt.messages}).Body.Bytes()
			if got := wire.Value(body).Get("messages"); !sameJSON(got, []byte(tt.want)) {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestEncode_SystemAndDeveloperMakeTheSystemBlocks(t *testing.T) {
	r := &llm.Request{Model: "old", NoCache: true, Messages: []llm.Message{
		llm.SystemText("one"), hi, llm.AssistantText("a"), {Role: llm.RoleDeveloper, Parts: []llm.Part{llm.Text{Text: "two"}}}, hi}}
	body := wire.Value(encode(t, r).Body.Bytes())
	if got, want := string(body.Get("system")), `[{"type":"text","text":"one"},{"type":"text","text":"two"}]`; got != want {
		t.Errorf("system is %s, want %s", got, want)
	}
	if n := strings.Count(string(body.Get("messages")), `"role"`); n != 3 {
		t.Errorf("there are %d messages, want 3", n)
	}
}

func TestEncode_ThinkingStaysOffInAToolRoundWithoutIt(t *testing.T) {
	call, result := llm.ToolCall{ID: "a", Name: "f"}, llm.ToolResults(llm.ToolResult{ID: "a"})
	assistant := func(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.RoleAssistant, Parts: parts} }
	tests := []struct {
		name     string
		messages []llm.Message
		want     bool
	}{
		{"a new conversation", []llm.Message{hi}, true},
		{"a round that began with thinking", []llm.Message{hi, assistant(signed("x", "budget"), call), result, assistant(call), result}, true},
		{"a round of another model", []llm.Message{hi, assistant(signed("x", "other"), call), result}, false},
		{"steering in the round", []llm.Message{hi, assistant(call), result, hi}, false},
		{"the round is over", []llm.Message{hi, assistant(call), result, llm.AssistantText("done"), hi}, true},
	}
	for _, tt := range tests {
		body := wire.Value(encode(t, &llm.Request{Model: "budget", Effort: "low", Messages: tt.messages}).Body.Bytes())
		if got := body.Get("thinking").Exists(); got != tt.want {
			t.Errorf("%s: thinking is %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestEncode_ReusesTheLastAnswersContainer(t *testing.T) {
	in := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: "a"},
		llm.Opaque{Kind: containerKind, State: llm.State{Dialect: Name, Model: "old", Data: []byte(`{"id":"c1","expires_at":"x"}`)}}}}
	body := wire.Value(encode(t, &llm.Request{Model: "old", Messages: []llm.Message{hi, in, hi}}).Body.Bytes())
	if !body.Get("container").Is("c1") {
		t.Errorf("container is %s", body.Get("container"))
	}
	body = wire.Value(encode(t, &llm.Request{Model: "old", Messages: []llm.Message{hi, in, hi, llm.AssistantText("b"), hi}}).Body.Bytes())
	if body.Get("container").Exists() {
		t.Errorf("the container of an older answer is used: %s", body.Get("container"))
	}
}

func TestEncode_HeadersAndKeys(t *testing.T) {
	call := encode(t, &llm.Request{Model: "old", Messages: []llm.Message{hi}, Options: map[string]llm.Options{Name: {
		Betas: []string{"one", "two"}, Header: map[string]string{"anthropic-beta": "three", "x-extra": "1"}}}})
	if got := call.Header.Get("anthropic-beta"); got != "one,two,three" {
		t.Errorf("anthropic-beta is %q", got)
	}
	if call.Header.Get("anthropic-version") != "2023-06-01" || call.Header.Get("X-Extra") != "1" || call.Path != "/v1/messages" || !call.Stream {
		t.Errorf("the call is %+v", call)
	}
	h := http.Header{}
	(&dialect{}).Authorize(h, "k")
	(&dialect{bearer: true}).Authorize(h, "t")
	if h.Get("x-api-key") != "k" || h.Get("Authorization") != "Bearer t" {
		t.Errorf("the headers are %v", h)
	}
}

func TestEncode_RefusesUnsupportedRequests(t *testing.T) {
	for name, r := range map[string]*llm.Request{
		"no model":        {Messages: []llm.Message{hi}},
		"bad schema":      {Model: "m", Tools: []llm.ToolDef{{Name: "f", Parameters: json.RawMessage("{")}}},
		"reserved name":   {Model: "m", Tools: []llm.ToolDef{{Name: outputTool}}},
		"bad hosted tool": {Model: "m", Tools: []llm.ToolDef{{Hosted: llm.State{Dialect: Name, Data: []byte("x")}}}},
		"missing file":    {Model: "m", Messages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{llm.Image{Media: llm.Media{Path: "no/such/file.png"}}}}}},
	} {
		if _, err := testDialect(t).Encode(r); err == nil {
			t.Errorf("%s: there is no error", name)
		}
	}
}

// Thinking in the options does not depend on the conversation.
func TestShape_IsTheRequestedThinking(t *testing.T) {
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

func TestEffort_HasThisBudget(t *testing.T) {
	for effort, want := range map[string]string{
		"minimal": `{"type":"enabled","budget_tokens":1024}`, "low": `{"type":"enabled","budget_tokens":4096}`,
		"medium": `{"type":"enabled","budget_tokens":10240}`, "high": `{"type":"enabled","budget_tokens":24576}`,
		"xhigh": `{"type":"enabled","budget_tokens":32768}`, "max": `{"type":"enabled","budget_tokens":65536}`, "none": "",
	} {
		r := &llm.Request{Model: "budget", Effort: effort, MaxTokens: 200000}
		if got := testDialect(t).Shape(r); got != want {
			t.Errorf("%s: got %s, want %s", effort, got, want)
		}
	}
}
