package bedrock

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
)

var hi = llm.UserText("hi")

func encode(t *testing.T, r *llm.Request) string {
	t.Helper()
	call, err := NewDialect(Config{}).Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	body := call.Body.Bytes()
	if !json.Valid(body) {
		t.Fatalf("invalid JSON: %s", body)
	}
	return string(body)
}

func TestEncode_EverySetting(t *testing.T) {
	half := 0.5
	call := llm.ToolCall{ID: "a|b", Name: "f", Arguments: "not JSON"}
	assistant := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{call}}
	result := llm.ToolResults(llm.ToolResult{ID: "a|b", IsError: true})
	tools := []llm.ToolDef{{Name: "f", Description: "d", Parameters: json.RawMessage(`{"type":"object","x":1}`)}, {Name: "g", Freeform: &llm.Freeform{}}}
	const messages = `"messages":[{"role":"user","content":[{"text":"hi"}]}]}`
	for _, tt := range []struct {
		name    string
		request llm.Request
		want    string
	}{
		{"limits", llm.Request{MaxTokens: 5, Temperature: &half, TopP: &half, Stop: []string{"x"}, Messages: []llm.Message{hi}},
			`{"inferenceConfig":{"maxTokens":5,"temperature":0.5,"topP":0.5,"stopSequences":["x"]},` + messages},
		{"instructions", llm.Request{Messages: []llm.Message{llm.SystemText("s"), hi, {Role: llm.RoleDeveloper, Parts: []llm.Part{llm.Text{Text: "d"}, llm.Text{Text: " "}}}}},
			`{"system":[{"text":"s"},{"text":"d"}],` + messages},
		{"tools", llm.Request{Tools: tools, ToolChoice: llm.ToolChoice{Mode: llm.ToolNamed, Name: "f"}, Messages: []llm.Message{hi}},
			`{"toolConfig":{"tools":[{"toolSpec":{"name":"f","description":"d","inputSchema":{"json":{"type":"object","x":1}}}},` +
				`{"toolSpec":{"name":"g","inputSchema":{"json":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}}}}],"toolChoice":{"tool":{"name":"f"}}},` + messages},
		{"required", llm.Request{Tools: tools[:1], ToolChoice: llm.ToolChoice{Mode: llm.ToolRequired}, Messages: []llm.Message{hi}}, `"toolChoice":{"any":{}}}`},
		{"no tools", llm.Request{Tools: tools, ToolChoice: llm.ToolChoice{Mode: llm.ToolNone}, Messages: []llm.Message{hi}}, `{` + messages},
		{"history of calls without tools", llm.Request{Messages: []llm.Message{hi, assistant, result, hi}},
			`{"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object"}}}}]},"messages":[{"role":"user","content":[{"text":"hi"}]},` +
				`{"role":"assistant","content":[{"toolUse":{"toolUseId":"a_b_` + "%s" + `","name":"f","input":{"_raw":"not JSON"}}}]},` +
				`{"role":"user","content":[{"toolResult":{"toolUseId":"a_b_` + "%s" + `","content":[{"text":"[no output]"}],"status":"error"}},{"text":"hi"}]}]}`},
		{"effort of Nova", llm.Request{Model: "us.amazon.nova-2-lite-v1:0", Effort: "max", Messages: []llm.Message{hi}},
			`{"additionalModelRequestFields":{"reasoningConfig":{"type":"enabled","maxReasoningEffort":"high"}},` + messages},
		{"no effort of Nova", llm.Request{Model: "amazon.nova-2-lite-v1:0", Effort: "none", Messages: []llm.Message{hi}}, `"reasoningConfig":{"type":"disabled"}`},
		{"effort of gpt-oss", llm.Request{Model: "openai.gpt-oss-120b-1:0", Effort: "minimal", Messages: []llm.Message{hi}}, `{"additionalModelRequestFields":{"reasoning_effort":"low"},` + messages},
		{"effort of others", llm.Request{Model: "meta.llama", Effort: "high", Messages: []llm.Message{hi}}, `{` + messages},
		{"JSON", llm.Request{Output: &llm.OutputFormat{Schema: json.RawMessage(`{"type":"object"}`)}, Messages: []llm.Message{hi}}, `JSON Schema: {\"type\":\"object\"}"}],` + messages},
		{"options", llm.Request{MaxTokens: 5, Options: map[string]llm.Options{Name: {Body: map[string]json.RawMessage{"inferenceConfig": json.RawMessage("null"), "guardrailConfig": json.RawMessage("{}")}}}, Messages: []llm.Message{hi}},
			`{"guardrailConfig":{},` + messages},
		{"media", llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{
			llm.Image{Media: llm.Media{Data: []byte("\x89PNG\r\n\x1a\n")}}, llm.Image{Media: llm.Media{URL: "https://x/y.png"}}, llm.Image{Media: llm.Media{MIME: "image/bmp", Data: []byte("BMx")}},
			llm.Document{Media: llm.Media{MIME: "application/pdf", Data: []byte("x"), Name: "a_b (1).pdf"}}, llm.Document{Media: llm.Media{MIME: "a/b", Data: []byte("x"), Name: "n"}}, llm.Audio{}}}}},
			`{"messages":[{"role":"user","content":[{"image":{"format":"png","source":{"bytes":"iVBORw0KGgo="}}},{"text":"[image at https://x/y.png]"},{"text":"[image of type image/bmp: not supported]"},` +
				`{"document":{"format":"pdf","name":"a-b-(1)","source":{"bytes":"eA=="}}},{"text":"[document n of type a/b: not supported]"},{"text":"[audio: not supported]"}]}]}`},
	} {
		if tt.request.Model == "" {
			tt.request.Model = "m"
		}
		got := encode(t, &tt.request)
		want := strings.ReplaceAll(tt.want, "%s", strings.TrimPrefix(plainID("a|b"), "a_b_"))
		if got != want && !(want[0] == '"' || strings.HasPrefix(want, "JSON")) || !strings.Contains(got, want) {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, want)
		}
	}
	if _, err := NewDialect(Config{}).Encode(&llm.Request{}); err == nil {
		t.Error("a request without a model was encoded")
	}
}

func TestEncode_StateGoesBackToItsModelOnly(t *testing.T) {
	state := func(data string) llm.State { return llm.State{Dialect: Name, Model: "m", Data: []byte(data)} }
	messages := []llm.Message{hi, {Role: llm.RoleAssistant, Parts: []llm.Part{
		llm.Thinking{Text: "t", State: state(`{"signature":"s"}`)}, llm.Thinking{Redacted: true, State: state(`{"redactedContent":"r"}`)}, llm.Thinking{Text: "unsigned"},
		llm.Text{Text: "x", State: state(`{"citationsContent":{}}`)}, llm.Opaque{Kind: "toolResult", State: state(`{"toolResult":{}}`)}}}}
	want := `{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"t","signature":"s"}}},{"reasoningContent":{"redactedContent":"r"}},{"citationsContent":{}},{"toolResult":{}}]}`
	if got := encode(t, &llm.Request{Model: "m", Messages: messages}); !strings.Contains(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := encode(t, &llm.Request{Model: "other", Messages: messages}); !strings.Contains(got, `{"role":"assistant","content":[{"text":"x"}]}`) {
		t.Errorf("another model gets %s", got)
	}
}

func TestEncode_ConversationRequestsAreAppendOnly(t *testing.T) {
	r := &llm.Request{Model: "m", Cache: new(llm.Cache), Messages: []llm.Message{llm.SystemText("s"), hi}}
	before := []byte(encode(t, r))
	for _, m := range []llm.Message{hi, llm.AssistantText("a"), llm.AssistantText("b"), hi} {
		r.Messages = append(r.Messages, m)
		now := []byte(encode(t, r))
		if stem := bytes.TrimSuffix(before, []byte("]}]}")); !bytes.HasPrefix(now, stem) {
			t.Fatalf("got %s\nafter %s", now, before)
		}
		fresh := *r
		fresh.Cache = nil
		if whole := encode(t, &fresh); whole != string(now) {
			t.Fatalf("with a cache: %s\nwithout: %s", now, whole)
		}
		before = now
	}
}
