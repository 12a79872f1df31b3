package openai

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
)

type jsonRaw = json.RawMessage

func ptr[T any](v T) *T { return &v }

func mine(data string) llm.State { return llm.State{Dialect: Name, Model: model, Data: []byte(data)} }

func message(role llm.Role, parts ...llm.Part) llm.Message {
	return llm.Message{Role: role, Parts: parts}
}

// TestEncode_Input lists histories and the input items they become.
func TestEncode_Input(t *testing.T) {
	reasoning := `{"type":"reasoning","id":"rs_1", "summary":[],"encrypted_content":"x\u00e9"}`
	call := llm.ToolCall{ID: "c1", Name: "f", Arguments: `{"a": 1}`}
	callItem := `{"type":"function_call","call_id":"c1","name":"f","arguments":"{\"a\": 1}"}`
	cases := map[string]struct {
		messages []llm.Message
		want     string
	}{
		"developer messages stay in place": {
			[]llm.Message{llm.UserText("a"), message(llm.RoleDeveloper, llm.Text{Text: "d"})},
			`{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]},{"type":"message","role":"developer","content":[{"type":"input_text","text":"d"}]}`,
		},
		"reasoning goes back byte for byte and in place": {
			[]llm.Message{message(llm.RoleAssistant, llm.Thinking{Text: "t", State: mine(reasoning)}, call)},
			reasoning + "," + callItem,
		},
		"reasoning of another model is left out": {
			[]llm.Message{message(llm.RoleAssistant, llm.Thinking{State: llm.State{Dialect: Name, Model: "o3", Data: []byte(reasoning)}}, call)},
			callItem,
		},
		"reasoning of another dialect is left out": {
			[]llm.Message{message(llm.RoleAssistant, llm.Thinking{Text: "hm", State: llm.State{Dialect: "anthropic", Data: []byte("sig")}}, call)},
			callItem,
		},
		"reasoning that nothing follows is left out": {
			[]llm.Message{message(llm.RoleAssistant, llm.Text{Text: "a"}, llm.Thinking{State: mine(reasoning)}, llm.Text{})},
			`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}`,
		},
		"reasoning that only the provider's store could resolve is left out": {
			[]llm.Message{message(llm.RoleAssistant, llm.Thinking{State: mine(`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":null}`)}, call)},
			callItem,
		},
		"readable reasoning of open models goes back": {
			[]llm.Message{message(llm.RoleAssistant, llm.Thinking{State: mine(`{"type":"reasoning","content":[{"type":"reasoning_text","text":"hm"}]}`)}, call)},
			`{"type":"reasoning","content":[{"type":"reasoning_text","text":"hm"}]},` + callItem,
		},
		"message ids and phases go back to the same model": {
			[]llm.Message{message(llm.RoleAssistant,
				llm.Text{Text: "a", State: mine(`{"message":{"id":"m1","phase":"commentary"}}`)},
				llm.Text{Text: "b", State: mine(`{"message":{"id":"m1","phase":"commentary"},"part":{"annotations":[1]}}`)},
				llm.Text{Text: "c", State: mine(`{"message":{"id":"m2"}}`)},
				llm.Text{Text: "d", State: llm.State{Dialect: Name, Model: "o3", Data: []byte(`{"message":{"id":"m3"}}`)}})},
			`{"type":"message","role":"assistant","id":"m1","phase":"commentary","content":[{"type":"output_text","text":"a"},{"type":"output_text","text":"b","annotations":[1]}]},` +
				`{"type":"message","role":"assistant","id":"m2","content":[{"type":"output_text","text":"c"}]},` +
				`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"d"}]}`,
		},
		"a refusal goes back as one": {
			[]llm.Message{message(llm.RoleAssistant, llm.Text{Text: "no", State: mine(`{"part":{"type":"refusal"}}`)})},
			`{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"no"}]}`,
		},
		"call state goes back": {
			[]llm.Message{message(llm.RoleAssistant, llm.ToolCall{ID: "c1", Name: "f", Arguments: "{}", State: mine(`{"id":"fc_1","namespace":"n"}`)})},
			`{"type":"function_call","call_id":"c1","name":"f","arguments":"{}","id":"fc_1","namespace":"n"}`,
		},
		"arguments that are no object are made one": {
			[]llm.Message{message(llm.RoleAssistant, llm.ToolCall{ID: "a", Name: "f"}, llm.ToolCall{ID: "b", Name: "f", Arguments: `{"x":`})},
			`{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},{"type":"function_call","call_id":"b","name":"f","arguments":"{\"_raw\":\"{\\\"x\\\":\"}"}`,
		},
		"freeform calls and results": {
			[]llm.Message{message(llm.RoleAssistant, llm.ToolCall{ID: "c", Name: "patch", Arguments: "*** Begin", Custom: true}),
				message(llm.RoleTool, llm.ToolResult{ID: "c", Parts: []llm.Part{llm.Text{Text: "ok"}}})},
			`{"type":"custom_tool_call","call_id":"c","name":"patch","input":"*** Begin"},{"type":"custom_tool_call_output","call_id":"c","output":"ok"}`,
		},
		"results": {
			[]llm.Message{llm.ToolResults(
				llm.TextResult(call, "ok", false), llm.TextResult(call, "boom", true), llm.TextResult(call, "error: x", true),
				llm.ToolResult{ID: "c1"}, llm.ToolResult{ID: "c1", IsError: true},
				llm.ToolResult{ID: "c1", Parts: []llm.Part{llm.Text{Text: "see"}, llm.Image{Media: llm.Media{MIME: "image/png", Data: []byte{1}}}}})},
			`{"type":"function_call_output","call_id":"c1","output":"ok"},` +
				`{"type":"function_call_output","call_id":"c1","output":"Error: boom"},` +
				`{"type":"function_call_output","call_id":"c1","output":"error: x"},` +
				`{"type":"function_call_output","call_id":"c1","output":""},` +
				`{"type":"function_call_output","call_id":"c1","output":"Error"},` +
				`{"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"see"},{"type":"input_image","image_url":"data:image/png;base64,AQ=="}]}`,
		},
		"opaque items in place, others' left out": {
			[]llm.Message{message(llm.RoleAssistant, llm.Text{Text: "a"},
				llm.Opaque{Kind: "web_search_call", State: mine(`{"type":"web_search_call","id":"ws"}`)},
				llm.Opaque{Kind: "server_tool_use", State: llm.State{Dialect: "anthropic", Data: []byte(`{}`)}},
				llm.Text{Text: "b"})},
			`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]},{"type":"web_search_call","id":"ws"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"b"}]}`,
		},
		"the output of an opaque call that is left out is left out": {
			[]llm.Message{
				message(llm.RoleAssistant, llm.Opaque{Kind: "shell_call", State: llm.State{Dialect: Name, Model: "o3", Data: []byte(`{"type":"shell_call","call_id":"s1"}`)}}),
				message(llm.RoleTool, llm.Opaque{Kind: "shell_call_output", State: llm.State{Dialect: Name, Data: []byte(`{"type":"shell_call_output","call_id":"s1"}`)}}),
				llm.UserText("u")},
			`{"type":"message","role":"user","content":[{"type":"input_text","text":"u"}]}`,
		},
		"documents, audio, and what an assistant cannot say": {
			[]llm.Message{message(llm.RoleUser,
				llm.Document{Media: llm.Media{MIME: "application/pdf", Data: []byte{1}}},
				llm.Document{Media: llm.Media{MIME: "text/plain", Data: []byte{1}, Name: "a.txt"}},
				llm.Document{Media: llm.Media{URL: "https://x/y.pdf"}},
				llm.Audio{Media: llm.Media{Data: []byte{1}}}),
				message(llm.RoleAssistant, llm.Image{Media: llm.Media{URL: "https://x/y.png"}})},
			`{"type":"message","role":"user","content":[{"type":"input_file","file_data":"data:application/pdf;base64,AQ==","filename":"file.pdf"},` +
				`{"type":"input_file","file_data":"data:text/plain;base64,AQ==","filename":"a.txt"},{"type":"input_file","file_url":"https://x/y.pdf"},` +
				`{"type":"input_text","text":"[audio: not supported]"}]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"[image]"}]}`,
		},
		"broken state is left out": {
			[]llm.Message{message(llm.RoleAssistant, llm.Thinking{State: mine(`{"type":`)}, llm.Opaque{State: mine(`}`)}, llm.Text{Text: "a", State: mine(`[`)}, llm.ToolCall{ID: "c1", Name: "f", Arguments: `{"a": 1}`, State: mine("{")})},
			`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]},` + callItem,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := string(body(t, &llm.Request{Model: model, Messages: c.messages}))
			if !json.Valid([]byte(got)) {
				t.Errorf("not JSON: %s", got)
			}
			_, input, _ := strings.Cut(got, `"input":[`)
			if input = strings.TrimSuffix(input, "]}"); input != c.want {
				t.Errorf("\n got %s\nwant %s", input, c.want)
			}
		})
	}
}

// TestEncode_Head lists requests and the members before the input.
func TestEncode_Head(t *testing.T) {
	const bare = `{"model":"gpt-5.5","stream":true,"stream_options":{"include_obfuscation":false},"store":false,"include":["reasoning.encrypted_content"]`
	const start = bare + `,"reasoning":{"summary":"auto"}`
	open := `{"type":"object","properties":{"a":{"type":"string"}}}`
	closed := `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`
	options := func(body string) map[string]llm.Options {
		var m map[string]jsonRaw
		if err := json.Unmarshal([]byte(body), &m); err != nil {
			t.Fatal(err)
		}
		return map[string]llm.Options{Name: {Body: m}}
	}
	cases := map[string]struct {
		request llm.Request
		want    string
	}{
		"defaults": {llm.Request{}, start},
		"unary model without reasoning": {llm.Request{Model: "gpt-4o", Unary: true},
			`{"model":"gpt-4o","store":false`},
		"parameters": {llm.Request{MaxTokens: 9, Temperature: ptr(0.5), TopP: ptr(1.0), Effort: "none", CacheKey: "k", ParallelTools: ptr(false)},
			bare + `,"prompt_cache_key":"k","max_output_tokens":9,"temperature":0.5,"top_p":1,"reasoning":{"effort":"none"},"parallel_tool_calls":false`},
		"no summaries":                   {llm.Request{Display: "omitted"}, bare},
		"other summaries":                {llm.Request{Display: "concise"}, bare + `,"reasoning":{"summary":"concise"}`},
		"no summaries without reasoning": {llm.Request{Effort: "none"}, bare + `,"reasoning":{"effort":"none"}`},
		"service tier":                   {llm.Request{Tier: "flex", Display: "omitted"}, bare + `,"service_tier":"flex"`},
		"system messages": {llm.Request{Messages: []llm.Message{llm.SystemText("a"), llm.SystemText("b")}},
			start + `,"instructions":"a\n\nb"`},
		"tools": {llm.Request{ToolChoice: llm.ToolChoice{Mode: llm.ToolNamed, Name: "p"}, Tools: []llm.ToolDef{
			{Name: "f", Description: "d", Parameters: jsonRaw(open), Strict: ptr(true)},
			{Name: "g"},
			{Name: "p", Freeform: &llm.Freeform{Syntax: "regex", Definition: "a+"}},
			{Name: "q", Freeform: &llm.Freeform{}},
			{Hosted: llm.State{Dialect: "gemini", Data: []byte(`{}`)}},
			{Hosted: llm.State{Dialect: Name, Data: []byte(`{"type":"web_search"}`)}}}},
			start + `,"tool_choice":{"type":"custom","name":"p"},"tools":[{"type":"function","name":"f","description":"d","parameters":` + open + `,"strict":true},` +
				`{"type":"function","name":"g","parameters":{"type":"object","properties":{}},"strict":false},` +
				`{"type":"custom","name":"p","format":{"type":"grammar","syntax":"regex","definition":"a+"}},{"type":"custom","name":"q"},{"type":"web_search"}]`},
		"tool choices": {llm.Request{ToolChoice: llm.ToolChoice{Mode: llm.ToolRequired}}, start + `,"tool_choice":"required"`},
		"output by a closed schema is strict": {llm.Request{Output: &llm.OutputFormat{Name: "a b", Schema: jsonRaw(closed)}},
			start + `,"text":{"format":{"type":"json_schema","name":"a_b","schema":` + closed + `,"strict":true}}`},
		"output by an open schema is not": {llm.Request{Output: &llm.OutputFormat{Schema: jsonRaw(open)}},
			start + `,"text":{"format":{"type":"json_schema","name":"output","schema":` + open + `,"strict":false}}`},
		"output of any JSON": {llm.Request{Output: &llm.OutputFormat{}}, start + `,"text":{"format":{"type":"json_object"}}`},
		"options win and are merged": {llm.Request{Effort: "low", Output: &llm.OutputFormat{}, Options: options(
			`{"store":true,"include":null,"reasoning":{"summary":"auto","effort":"high"},"text":{"verbosity":"low"},"previous_response_id":"r"}`)},
			`{"model":"gpt-5.5","stream":true,"stream_options":{"include_obfuscation":false},"reasoning":{"summary":"auto","effort":"high"},` +
				`"text":{"format":{"type":"json_object"},"verbosity":"low"},"previous_response_id":"r","store":true`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if c.request.Model == "" {
				c.request.Model = model
			}
			got := string(body(t, &c.request))
			if want := c.want + `,"input":[]}`; got != want || !json.Valid([]byte(got)) {
				t.Errorf("\n got %s\nwant %s", got, want)
			}
		})
	}
}

func TestEncode_OptionsMaySetHeaders(t *testing.T) {
	r := &llm.Request{Model: model, Options: map[string]llm.Options{Name: {Header: map[string]string{"OpenAI-Beta": "x"}, Body: map[string]jsonRaw{"input": jsonRaw(`"hi"`)}}}}
	call, err := NewDialect(Config{Summary: "auto", Obfuscation: true}).Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"model":"gpt-5.5","stream":true,"store":false,"include":["reasoning.encrypted_content"],"reasoning":{"summary":"auto"},"input":"hi"}`
	if got := string(call.Body.Bytes()); got != want || call.Header.Get("OpenAI-Beta") != "x" || call.Path != "/responses" || !call.Stream {
		t.Errorf("got %s\nwith %v", got, call)
	}
}

func TestEncode_ErrorsNameTheProblem(t *testing.T) {
	for name, r := range map[string]*llm.Request{
		"tool \"f\"": {Tools: []llm.ToolDef{{Name: "f", Parameters: jsonRaw("{")}}},
		"schema":     {Output: &llm.OutputFormat{Schema: jsonRaw("{")}},
		"no data":    {Messages: []llm.Message{message(llm.RoleUser, llm.Document{})}},
		"contain":    {Messages: []llm.Message{llm.ToolResults(llm.ToolResult{ID: "a", Parts: []llm.Part{llm.Thinking{}, llm.Text{}}})}},
	} {
		if _, err := NewDialect(Config{}).Encode(r); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want an error about %s", err, name)
		}
	}
}

func TestEncode_IsJSONWhateverOptionsOmit(t *testing.T) {
	omitted := []string{"model", "stream", "stream_options", "store", "include", "instructions", "tools", "input"}
	for set := range 1 << len(omitted) {
		r := longRequest(0)
		r.CacheKey, r.Effort, r.Display = "", "", "omitted"
		without := map[string]jsonRaw{}
		for i, name := range omitted {
			if set&(1<<i) != 0 {
				without[name] = jsonRaw("null")
			}
		}
		r.Options = map[string]llm.Options{Name: {Body: without}}
		var got map[string]jsonRaw
		if err := json.Unmarshal(body(t, r), &got); err != nil || len(got)+len(without) != len(omitted) {
			t.Errorf("without %v: %v, %s", slices.Collect(maps.Keys(without)), err, body(t, r))
		}
	}
}
