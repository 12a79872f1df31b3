package gemini

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/requests"
	"github.com/reins-agent/reins/llm"
)

func TestParse_ReadsEveryRequestField(t *testing.T) {
	body := `{
		"system_instruction": {"role": "user", "parts": [{"text": "be brief"}]},
		"tools": [{"function_declarations": [{"name": "f", "description": "d", "parameters": {"type": "OBJECT", "properties": {"n": {"type": "INTEGER", "nullable": true}, "s": {"type": "ARRAY", "items": {"type": "STRING"}, "minItems": "1"}}}, "response": {}}]}, {"google_search": {}}],
		"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}, "retrievalConfig": {}},
		"generationConfig": {"max_output_tokens": 9, "temperature": 0.25, "topP": 1, "topK": 4, "stopSequences": ["x"], "seed": 7,
			"thinkingConfig": {"includeThoughts": true, "thinkingBudget": 128}, "responseMimeType": "application/json", "responseJsonSchema": {"type": "object"}},
		"safetySettings": [],
		"contents": [
			{"parts": [{"text": "q"}, {"inline_data": {"mime_type": "image/png", "data": "_-8"}}]},
			{"role": "model", "parts": [{"text": "t", "thought": true}, {"functionCall": {"name": "f", "args": {"n": 1}}, "thoughtSignature": "S"}, {"functionCall": {"name": "f"}}]},
			{"role": "function", "parts": [{"functionResponse": {"name": "f", "response": {"result": "one"}}}, {"functionResponse": {"name": "f", "response": {"x": 2}, "scheduling": "SILENT"}}, {"text": "go on"}]}
		]}`
	r, dropped, err := requests.Parse(NewDialect(Config{}), []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	own := func(s string) llm.State { return state("", s) }
	want := &llm.Request{
		Messages: []llm.Message{
			llm.SystemText("be brief"),
			{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "q"}, llm.Image{Media: llm.Media{MIME: "image/png", Data: []byte{0xff, 0xef}}}}},
			{Role: llm.RoleAssistant, Parts: []llm.Part{
				llm.Thinking{Text: "t", State: own(unsigned)},
				llm.ToolCall{ID: callIDPrefix + "1", Name: "f", Arguments: `{"n": 1}`, State: own("S")},
				llm.ToolCall{ID: callIDPrefix + "2", Name: "f"}}},
			{Role: llm.RoleTool, Parts: []llm.Part{
				llm.ToolResult{ID: callIDPrefix + "1", Name: "f", Parts: []llm.Part{llm.Text{Text: "one"}}},
				llm.ToolResult{ID: callIDPrefix + "2", Name: "f", Parts: []llm.Part{llm.Text{Text: `{"x": 2}`, State: own(`{"x": 2}`)}}}}},
			llm.UserText("go on"),
		},
		Tools: []llm.ToolDef{
			{Name: "f", Description: "d", Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":["integer","null"]},"s":{"type":"array","items":{"type":"string"},"minItems":1}}}`)},
			{Hosted: own(`{"googleSearch":{}}`)}},
		ToolChoice: llm.ToolChoice{Mode: llm.ToolNamed, Name: "f"},
		MaxTokens:  9, Temperature: ptr(0.25), TopP: ptr(1.0), TopK: ptr(4), Stop: []string{"x"}, ThinkingBudget: ptr(128),
		Output: &llm.OutputFormat{Schema: json.RawMessage(`{"type": "object"}`)},
		Options: map[string]llm.Options{Name: {Body: map[string]json.RawMessage{
			"generationConfig": json.RawMessage(`{"seed":7}`), "toolConfig": json.RawMessage(`{"retrievalConfig":{}}`), "safetySettings": json.RawMessage(`[]`)}}},
	}
	if !reflect.DeepEqual(r, want) {
		got, _ := json.MarshalIndent(r, "", " ")
		wanted, _ := json.MarshalIndent(want, "", " ")
		t.Errorf("got %s\nwant %s", got, wanted)
	}
	if want := []string{"tools[0].functionDeclarations[0].response", "systemInstruction.role", "contents[2].parts[1].functionResponse.scheduling"}; !reflect.DeepEqual(dropped, want) {
		t.Errorf("dropped %q, want %q", dropped, want)
	}
}

// What ToolChoice and Effort cannot represent exactly must still be encoded exactly.
func TestParse_RoughValuesAreKeptExactlyInTheOptions(t *testing.T) {
	const tools = `"tools":[{"functionDeclarations":[{"name":"f","description":"","parametersJsonSchema":{}}]}]`
	for _, c := range []struct {
		body   string
		choice llm.ToolMode
		effort string
	}{
		{`{"toolConfig":{"functionCallingConfig":{"mode":"VALIDATED"}},` + tools + `,"contents":[]}`, llm.ToolAuto, ""},
		{`{"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["f","g"]}},` + tools + `,"contents":[]}`, llm.ToolRequired, ""},
		{`{"toolConfig":{"functionCallingConfig":{"mode":"any"}},` + tools + `,"contents":[]}`, llm.ToolRequired, ""},
		{`{"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}},"contents":[]}`, llm.ToolAuto, ""},
		{`{"generationConfig":{"thinkingConfig":{"thinkingLevel":"HIGH"}},"contents":[]}`, "", "high"},
		{`{"generationConfig":{"thinkingConfig":{"thinkingLevel":"low","includeThoughts":true}},"contents":[]}`, "", "low"},
		{`{"generationConfig":{"thinkingConfig":{"includeThoughts":true}},"contents":[]}`, "", ""},
		{`{"generationConfig":{"responseMimeType":"application/json","responseSchema":{"type":"OBJECT"}},"contents":[]}`, "", ""},
		{`{"generationConfig":{"responseMimeType":"text/x.enum","topK":1.5},"contents":[]}`, "", ""},
		{`{"generationConfig":{},"contents":[]}`, "", ""},
	} {
		r, dropped, err := requests.Parse(NewDialect(Config{}), []byte(c.body))
		if err != nil || len(dropped) > 0 {
			t.Fatal(err, dropped)
		}
		if r.ToolChoice.Mode != c.choice || r.Effort != c.effort {
			t.Errorf("%s: choice %q, effort %q", c.body, r.ToolChoice.Mode, r.Effort)
		}
		if got := leaves(decodeJSON([]byte(encoded(t, r)))); !reflect.DeepEqual(got, leaves(decodeJSON([]byte(c.body)))) {
			t.Errorf("%s became %s", c.body, encoded(t, r))
		}
	}
}

func TestParse_RefusesInvalidRequests(t *testing.T) {
	for _, body := range []string{"", "[]", "7", `{"contents":`} {
		if _, _, err := requests.Parse(NewDialect(Config{}), []byte(body)); err == nil || strings.Contains(err.Error(), "panic") {
			t.Errorf("%q: error %v", body, err)
		}
	}
}
