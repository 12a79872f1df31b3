package llmtest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/anthropic"
)

func TestAnthropic_RefusesLikeTheAPI(t *testing.T) {
	const (
		user = `{"role":"user","content":"hi"}`
		call = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}`
		done = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}`
		f    = `"tools":[{"name":"f","input_schema":{"type":"object"}}]`
	)
	request := func(extra string, messages ...string) string {
		if extra != "" {
			extra = "," + extra
		}
		return `{"model":"m","max_tokens":5000` + extra + `,"messages":[` + strings.Join(messages, ",") + `]}`
	}
	tests := []struct{ name, body, want string }{
		{"valid", request(f, user, call, done), ""},
		{"no model", `{"max_tokens":1,"messages":[` + user + `]}`, "model"},
		{"no max_tokens", `{"model":"m","messages":[` + user + `]}`, "max_tokens"},
		{"no messages", request(""), "messages"},
		{"unknown field", request(`"foo":1`, user), "foo"},
		{"two users", request("", user, user), "messages.1"},
		{"unknown role", request("", `{"role":"tool","content":"x"}`), "messages.0.role"},
		{"empty content", request("", `{"role":"user","content":[]}`), "non-empty"},
		{"empty text", request("", `{"role":"user","content":[{"type":"text","text":""}]}`), "messages.0.content.0"},
		{"unanswered call", request(f, user, call, user), "without `tool_result`"},
		{"unanswered last call", request(f, user, call), "without `tool_result`"},
		{"unknown result", request("", done), "unexpected `tool_use_id`"},
		{"result twice", request(f, user, call, strings.Replace(done, "]}", `,{"type":"tool_result","tool_use_id":"a"}]}`, 1)), "single result"},
		{"result after text", request(f, user, call, strings.Replace(done, "[", `[{"type":"text","text":"x"},`, 1)), "before other content"},
		{"call id twice", request(f, user, call, done, call, done), "unique"},
		{"bad call id", request(f, user, strings.Replace(call, `"a"`, `"a b"`, 1)), "pattern"},
		{"input not an object", request(f, user, strings.Replace(call, `{}`, `"x"`, 1)), "input"},
		{"unknown member of a block", request("", `{"role":"user","content":[{"type":"text","text":"x","foo":1}]}`), "foo"},
		{"call in a user message", request("", strings.Replace(call, "assistant", "user", 1)), "not allowed"},
		{"bad image type", request("", `{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/bmp","data":"eA=="}}]}`), "media_type"},
		{"bad base64", request("", `{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"!"}}]}`), "base64"},
		{"unsigned thinking", request("", user, `{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":""}]}`), "signature"},
		{"bad tool name", request(`"tools":[{"name":"a b","input_schema":{"type":"object"}}]`, user), "tools.0"},
		{"bad schema", request(`"tools":[{"name":"a","input_schema":{"type":"string"}}]`, user), "input_schema"},
		{"tool twice", request(`"tools":[{"name":"f","input_schema":{"type":"object"}},{"name":"f","input_schema":{"type":"object"}}]`, user), "unique"},
		{"choice without tools", request(`"tool_choice":{"type":"auto"}`, user), "tool_choice"},
		{"choice of an unknown tool", request(f+`,"tool_choice":{"type":"tool","name":"g"}`, user), "not found"},
		{"small budget", request(`"thinking":{"type":"enabled","budget_tokens":100}`, user), "1024"},
		{"large budget", request(`"thinking":{"type":"enabled","budget_tokens":5000}`, user), "max_tokens"},
		{"thinking and temperature", request(`"thinking":{"type":"adaptive"},"temperature":0.5`, user), "temperature"},
		{"thinking and a forced tool", request(`"thinking":{"type":"adaptive"},"tool_choice":{"type":"any"},`+f, user), "forces"},
		{"thinking in a round without it", request(`"thinking":{"type":"enabled","budget_tokens":2000},`+f, user, call, done), "thinking"},
		{"too many breakpoints", request("", `{"role":"user","content":[`+strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"x","cache_control":{"type":"ephemeral"}},`, 5), ",")+`]}`), "maximum of 4"},
		{"bad effort", request(`"output_config":{"effort":"extreme"}`, user), "effort"},
		{"bad format", request(`"output_config":{"format":{"type":"json"}}`, user), "format"},
	}
	for _, tt := range tests {
		err := Validate(anthropic.Name, []byte(tt.body))
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got error %v, want one with %q", tt.name, err, tt.want)
		}
	}
}

// TestAnthropic_OddHistoriesMakeValidRequests encodes histories that an agent loop can produce.
func TestAnthropic_OddHistoriesMakeValidRequests(t *testing.T) {
	call := func(id string) llm.ToolCall { return llm.ToolCall{ID: id, Name: "f", Arguments: "not json"} }
	result := func(id string, parts ...llm.Part) llm.ToolResult { return llm.ToolResult{ID: id, Parts: parts} }
	assistant := func(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.RoleAssistant, Parts: parts} }
	hi := llm.UserText("hi")
	tests := map[string][]llm.Message{
		"neighbours":         {hi, hi, llm.AssistantText("a"), llm.AssistantText("b"), hi},
		"empty answer":       {hi, llm.AssistantText(""), hi},
		"steering":           {hi, assistant(call("a")), hi, llm.ToolResults(result("a")), hi},
		"results apart":      {hi, assistant(call("a"), call("b")), llm.ToolResults(result("b")), llm.ToolResults(result("a", llm.Text{}))},
		"empty error":        {hi, assistant(call("a|b")), llm.ToolResults(llm.ToolResult{ID: "a|b", IsError: true})},
		"foreign thinking":   {hi, assistant(llm.Thinking{Text: "x", State: llm.State{Dialect: "gemini", Data: []byte("x")}}, call("a")), llm.ToolResults(result("a"))},
		"media":              {{Role: llm.RoleUser, Parts: []llm.Part{llm.Image{Media: llm.Media{Data: []byte("\x89PNG\r\n\x1a\n")}}, llm.Audio{Media: llm.Media{Data: []byte("x")}}, llm.Document{Media: llm.Media{Data: []byte("\xff\xfe"), Name: "x.bin"}}}}},
		"a late instruction": {llm.SystemText("s"), hi, llm.AssistantText("a"), {Role: llm.RoleDeveloper, Parts: []llm.Part{llm.Text{Text: "d"}}}, hi},
	}
	for name, messages := range tests {
		for _, effort := range []string{"", "none", "low", "high"} {
			for _, model := range []string{"claude-haiku-4-5", "claude-opus-5-5", "claude-test"} {
				r := &llm.Request{Model: model, Effort: effort, Messages: messages}
				r.Tools = []llm.ToolDef{{Name: "f", Parameters: json.RawMessage(`{"type":"object"}`)}}
				if model == "claude-haiku-4-5" {
					r.Temperature = new(float64)
				}
				c, err := anthropic.NewDialect(anthropic.Config{}).Encode(r)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				if err := Validate(anthropic.Name, c.Body.Bytes()); err != nil {
					t.Errorf("%s, %s, effort %q: %v\n%s", model, name, effort, err, c.Body.Bytes())
				}
			}
		}
	}
}
