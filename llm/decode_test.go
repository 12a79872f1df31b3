package llm

import (
	"encoding/json"
	"reflect"
	"testing"
)

var ownMessages = []Message{
	{},
	{Role: "critic", Parts: []Part{}},
	UserText("plain <&> \u2028 \x00 ü 😀 \"quoted\" \\ \n\t"),
	{RoleAssistant, []Part{
		Thinking{"hm", false, State{"anthropic", "model", []byte("sig==")}},
		Thinking{"", true, State{"anthropic", "", []byte{0xff, 0}}},
		Text{"", State{"gemini", "m", []byte(`{"s":"<x>"}`)}},
		ToolCall{ID: "1", Name: "read", Arguments: "{ \"path\" :\"a\"}", State: State{Dialect: "d", Data: []byte("sig")}},
		ToolCall{ID: "2", Name: "patch", Arguments: "*** Begin\n<&>", Custom: true},
		ToolCall{},
		Opaque{"web_search_call", State{Dialect: "openai", Data: []byte(`{"type":"web_search_call"}`)}},
	}},
	{RoleTool, []Part{
		ToolResult{ID: "1", Name: "read", Parts: []Part{Text{Text: "ok"}, Image{Media{Data: []byte("x")}, "high"}}, IsError: true},
		ToolResult{ID: "2", Custom: true},
		Image{Media{MIME: "image/png", Data: []byte{0, 255, 1}}, "low"},
		Audio{Media{MIME: "audio/wav", Data: []byte("RIFF")}},
		Document{Media{Path: "a/b.pdf", Name: "b.pdf", URL: "https://example.com"}},
	}},
}

// agree checks that the fast path reads the same message as encoding/json.
func agree(t *testing.T, data []byte) (short bool) {
	t.Helper()
	got, ok := readMessage(data)
	if !ok {
		return false
	}
	want, err := unmarshalMessage(data)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%q: got %#v, want %#v, %v", data, got, want, err)
	}
	return true
}

func TestReadMessage_ReadsAllThatIsWritten(t *testing.T) {
	for _, m := range ownMessages {
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if !agree(t, data) {
			t.Errorf("%s is left to encoding/json", data)
		}
	}
}

func TestReadMessage_LeavesTheUnusualToEncodingJSON(t *testing.T) {
	for _, data := range []string{
		`null`, `{"role":"user","parts":null}`, `{"parts":[],"role":"user"}`, `{"role":"user","parts":[null]}`, `{"role":"user","parts":[{}]}`,
		`{"Role":"user"}`, `{"role":"user","role":"tool"}`, `{"role":"user","parts":[{"type":"hologram"}]}`,
		`{"role":"user","parts":[{"type":"text","text":"x","mood":"good"}]}`, `{"role":"user","parts":[{"type":"text","custom":false}]}`,
		`{"role":"user","parts":[{"type":"image","data":""}]}`, `{"role":"user","parts":[{"type":"image","data":"%%"}]}`,
		`{"role":"user","parts":[{"type":"text","parts":[{"type":"text"}]}]}`, `{"role":"user","parts":[{"type":"text","state":null}]}`,
		`{"role":"user","parts":[{"type":"tool_result","parts":[{"type":"tool_result","parts":[]}]}]}`, `{"role":"\ud800"}`,
	} {
		if _, ok := readMessage([]byte(data)); ok {
			t.Errorf("%s is not left to encoding/json", data)
		}
	}
}

func FuzzReadMessage(f *testing.F) {
	for _, m := range ownMessages {
		data, err := json.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { agree(t, data) })
}
