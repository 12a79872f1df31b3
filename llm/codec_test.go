package llm_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
)

var everyPart = []llm.Part{
	llm.Text{Text: "plain"},
	llm.Text{Text: "<&> \u2028 \x00 ü 😀", State: llm.State{Dialect: "gemini", Model: "m", Data: []byte(`{"s":"<x>"}`)}},
	llm.Image{Media: llm.Media{MIME: "image/png", Data: []byte{0, 255, 1}}, Detail: "high"},
	llm.Image{Media: llm.Media{URL: "https://example.com/a.png"}},
	llm.Audio{Media: llm.Media{MIME: "audio/wav", Data: []byte("RIFF")}},
	llm.Document{Media: llm.Media{Path: "a/b.pdf", Name: "b.pdf"}},
	llm.ToolCall{ID: "1", Name: "read", Arguments: "{ \"path\" :\"a\"}", State: llm.State{Dialect: "d", Data: []byte("sig")}},
	llm.ToolCall{ID: "2", Name: "patch", Arguments: "*** Begin\n<&>", Custom: true},
	llm.ToolCall{ID: "3", Name: "none", Arguments: ""},
	llm.ToolResult{ID: "1", Name: "read", Parts: []llm.Part{llm.Text{Text: "ok"}, llm.Image{Media: llm.Media{Data: []byte("x")}}}, IsError: true},
	llm.ToolResult{ID: "2", Custom: true},
	llm.Thinking{Text: "hm", State: llm.State{Dialect: "anthropic", Model: "claude", Data: []byte("sig==")}},
	llm.Thinking{Redacted: true, State: llm.State{Dialect: "anthropic", Data: []byte{0xff, 0xfe, 0}}},
	llm.Opaque{Kind: "web_search_call", State: llm.State{Dialect: "openai-responses", Data: []byte(`{"type":"web_search_call"}`)}},
}

func TestCodec_EveryPartComesBackAsItWas(t *testing.T) {
	in := llm.Message{Role: llm.RoleAssistant, Parts: everyPart}
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var out llm.Message
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	if out.Role != in.Role || len(out.Parts) != len(in.Parts) {
		t.Fatalf("got %s with %d parts", out.Role, len(out.Parts))
	}
	for i, p := range in.Parts {
		if !reflect.DeepEqual(out.Parts[i], p) {
			t.Errorf("part %d was %#v and is %#v", i, p, out.Parts[i])
		}
	}
}

func TestCodec_EmptyMessage(t *testing.T) {
	for _, in := range []llm.Message{{}, {Role: llm.RoleUser}, {Role: "critic", Parts: []llm.Part{}}} {
		data, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var out llm.Message
		if err := json.Unmarshal(data, &out); err != nil || out.Role != in.Role || len(out.Parts) != 0 {
			t.Errorf("%s came back as %+v, %v", data, out, err)
		}
	}
}

func TestCodec_KeepsUnknownPartsWhole(t *testing.T) {
	const part = `{"type":"hologram","depth":[1,2,3],"text":"x","state":{"deep":true}}`
	var m llm.Message
	if err := json.Unmarshal([]byte(`{"role":"user","parts":[`+part+`]}`), &m); err != nil {
		t.Fatal(err)
	}
	if o, ok := m.Parts[0].(llm.Opaque); !ok || o.Kind != "hologram" {
		t.Fatalf("the part is %#v", m.Parts[0])
	}
	data, err := json.Marshal(m)
	if err != nil || !strings.Contains(string(data), part) {
		t.Errorf("it is written as %s, %v", data, err)
	}
}

func TestCodec_AcceptsUnknownMessageFields(t *testing.T) {
	var m llm.Message
	if err := json.Unmarshal([]byte(`{"role":"user","parts":[{"type":"text","text":"x","mood":"good"}],"time":5}`), &m); err != nil {
		t.Fatal(err)
	}
	if m.Text() != "x" {
		t.Errorf("the text is %q", m.Text())
	}
}

func TestCodec_BrokenMessagesAreErrors(t *testing.T) {
	for _, in := range []string{``, `[]`, `{"parts":[5]}`, `{"parts":["x"]}`, `{"parts":[{"type":"text","text":5}]}`,
		`{"parts":{}}`, `{"parts":[{"type":"tool_result","parts":[7]}]}`, `{"parts":[{"type":"image","data":"%%"}]}`} {
		var m llm.Message
		if err := json.Unmarshal([]byte(in), &m); err == nil {
			t.Errorf("%s was accepted as %+v", in, m)
		}
	}
}

func TestCodec_RequestComesBackAsItWas(t *testing.T) {
	yes, temp, budget := true, 0.25, 100
	in := llm.Request{
		Provider: "p", Model: "m", Messages: []llm.Message{llm.SystemText("s"), llm.UserText("u")},
		Tools: []llm.ToolDef{
			{Name: "t", Description: "d", Parameters: json.RawMessage(`{"type":"object"}`), Strict: &yes},
			{Name: "f", Freeform: &llm.Freeform{Syntax: "lark", Definition: "start: x"}},
			{Hosted: llm.State{Dialect: "anthropic", Data: []byte(`{"type":"web_search"}`)}},
		},
		ToolChoice: llm.ToolChoice{Mode: llm.ToolNamed, Name: "t"}, ParallelTools: &yes, MaxTokens: 5, Temperature: &temp,
		Stop: []string{"x"}, Effort: "high", ThinkingBudget: &budget, Output: &llm.OutputFormat{Name: "o", Schema: json.RawMessage(`{}`)},
		CacheKey: "k", NoCache: true, Unary: true,
		Options: map[string]llm.Options{"gemini": {Body: map[string]json.RawMessage{"a": json.RawMessage(`1`)}, Header: map[string]string{"h": "v"}, Betas: []string{"b"}}},
	}
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var out llm.Request
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(in, out) {
		t.Errorf("it came back as %+v, was %+v", out, in)
	}
}

// FuzzMessageCodec checks that a message that was read can be written and read again without a change.
func FuzzMessageCodec(f *testing.F) {
	for _, p := range everyPart {
		data, err := json.Marshal(llm.Message{Role: llm.RoleUser, Parts: []llm.Part{p}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"role":"x","parts":[{"type":"new","a":"<\u2028>"},null,{}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var first llm.Message
		if json.Unmarshal(data, &first) != nil {
			return
		}
		written, err := json.Marshal(first)
		if err != nil {
			t.Fatalf("%#v was read but cannot be written: %v", first, err)
		}
		var second llm.Message
		if err := json.Unmarshal(written, &second); err != nil {
			t.Fatalf("%s was written but cannot be read: %v", written, err)
		}
		again, err := json.Marshal(second)
		if err != nil || !bytes.Equal(written, again) {
			t.Fatalf("written %s, then %s (%v)", written, again, err)
		}
	})
}
