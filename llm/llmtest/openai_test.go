package llmtest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/corpus"
	"github.com/reins-agent/reins/llm/openai"
)

func TestOpenAI_RefusesLikeTheAPI(t *testing.T) {
	user := `{"role":"user","content":"hi"}`
	call := `{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}`
	answer := `{"type":"function_call_output","call_id":"c","output":"ok"}`
	reasoning := `{"type":"reasoning","id":"r","summary":[],"encrypted_content":"x"}`
	input := func(items ...string) string { return `{"model":"m","input":[` + strings.Join(items, ",") + `]}` }
	tool := func(t string) string { return `{"model":"m","input":"x","tools":[` + t + `]}` }
	for body, want := range map[string]string{
		`{`:                                  "parsed",
		`[]`:                                 "not a JSON object",
		`{"input":"x"}`:                      "'model'",
		`{"model":"m"}`:                      "'input'",
		`{"model":"m","input":[]}`:           "must be provided",
		`{"model":"m","input":"x","stop":1}`: "'stop'",
		`{"model":"m","input":"x","stream":"yes"}`:                                                                               "'stream'",
		`{"model":"m","input":"x","max_output_tokens":4}`:                                                                        "max_output_tokens",
		`{"model":"m","input":"x","temperature":3}`:                                                                              "temperature",
		`{"model":"m","input":"x","reasoning":{"effort":"x"}}`:                                                                   "reasoning.effort",
		`{"model":"m","input":"x","stream_options":{}}`:                                                                          "stream_options",
		`{"model":"m","input":"x","tool_choice":"required"}`:                                                                     "'tools'",
		`{"model":"m","input":"x","text":{"format":{"type":""}}}`:                                                                "text.format.type",
		`{"model":"m","input":"x","tool_choice":{"type":"function","name":"f"}}`:                                                 "'f' not found",
		`{"model":"m","input":"x","text":{"format":{"type":"json_schema","name":"a b","schema":{}}}}`:                            "text.format.name",
		`{"model":"m","input":"x","text":{"format":{"type":"json_schema","name":"a","schema":{"type":"object"},"strict":true}}}`: "additionalProperties",
		tool(`{"name":"f"}`): "tools[0].type",
		tool(`{"type":"function","name":"a b","parameters":{"type":"object"}}`):                                  "tools[0].name",
		tool(`{"type":"function","name":"f"}`):                                                                   "'f'",
		tool(`{"type":"function","name":"f","parameters":{"type":"object","properties":{"a":{"type":"text"}}}}`): "/properties/a",
		tool(`{"type":"function","name":"f","parameters":{"type":"object"}},{"type":"custom","name":"f"}`):       "duplicate tool",
		input(`1`):                             "input[0]",
		input(`{"type":"thing"}`):              "input[0].type",
		input(`{"role":"tool","content":"x"}`): "input[0].role",
		input(`{"role":"user"}`):               "input[0].content",
		input(`{"role":"user","content":[]}`):  "empty array",
		input(`{"role":"user","content":[{"type":"output_text","text":"x"}]}`):                            "input[0].content[0].type",
		input(`{"role":"assistant","content":[{"type":"input_text","text":"x"}]}`):                        "output_text",
		input(`{"role":"user","content":[{"type":"input_text"}]}`):                                        "content[0].text",
		input(`{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,%"}]}`): "base64",
		input(`{"role":"user","content":[{"type":"input_file","file_data":"data:a/b;base64,AA=="}]}`):     "filename",
		input(user, call):                 "no tool output found for function call c",
		input(user, answer):               "no tool call found",
		input(user, answer, call):         "no tool call found",
		input(user, call, user, answer):   "no tool output found",
		input(user, call, answer, answer): "answered twice",
		input(user, call, call, answer):   "duplicate call",
		input(user, call, `{"type":"custom_tool_call_output","call_id":"c","output":""}`): "no tool call found",
		input(user, reasoning):                    "without its required following item",
		input(user, reasoning, user):              "without its required following item",
		input(reasoning, reasoning, call, answer): "duplicate item",
		`{"model":"m","store":false,"input":[{"type":"reasoning","id":"r","summary":[]}]}`: "not persisted",
		input(user, reasoning, call, answer):                                               "",
		input(user, call, `{"role":"assistant","content":"wait"}`, answer, user):           "",
		`{"model":"m","previous_response_id":"r","input":[` + answer + `]}`:                "",
	} {
		err := Validate(openai.Name, []byte(body))
		if want == "" && err == nil {
			continue
		}
		if err == nil || want == "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %q", body, err, want)
		}
	}
}

// TestOpenAI_AcceptsRecordedRequests validates recorded requests.
func TestOpenAI_AcceptsRecordedRequests(t *testing.T) {
	foreign := map[string]string{ // accepted by other servers only
		"c20067e10d11f783": "OpenRouter accepts a parameter 'provider'",
		"12a700daf84342b6": "OpenRouter accepts a parameter 'provider'",
		"5dd38952e444a6f1": "xAI gives several items the same id",
	}
	accepted := 0
	type exchange struct {
		ID       string
		Request  struct{ Body json.RawMessage }
		Response struct{ Status int }
	}
	for _, x := range corpus.Traffic[exchange](t, openai.Name) {
		body := []byte(x.Request.Body)
		var text string
		if json.Unmarshal(body, &text) == nil && text != "" {
			body = []byte(text)
		}
		if x.Response.Status != 200 || len(body) == 0 || body[0] != '{' {
			continue
		}
		if err := Validate(openai.Name, body); err != nil && foreign[x.ID] == "" {
			t.Errorf("%s: %v", x.ID, err)
		}
		accepted++
	}
	if accepted == 0 {
		t.Error("no request was validated")
	}
}
