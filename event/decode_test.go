package event

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// agree checks that the two ways to read a record do the same.
func agree(t *testing.T, b []byte) {
	t.Helper()
	var want Record
	wantErr := want.UnmarshalJSON(b)
	got, err := DecodeRecord(b)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%q: %v, and UnmarshalJSON says %v", b, err, wantErr)
	}
	if err != nil {
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%q (-UnmarshalJSON +DecodeRecord):\n%s", b, diff)
	}
}

// awkward is a text that JSON writes in many ways.
const awkward = "\" \\ \\\" \\\\ / \b\f\n\r\t \x00\x1f\x7f <&> \u2028 \u2029 é \U0001F600 } ] , : {"

func TestDecodeRecord_AgreesWithUnmarshalJSON(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	message := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: "a \"b\"\n"}, llm.ToolCall{ID: "c", Name: "n", Arguments: "{}"}}}
	for _, r := range []Record{
		{Seq: 1, Time: at, Data: Warning{"x"}},
		{Seq: 2, Time: at, Session: "s", Agent: "1/2", Data: TextEnd{Call: 1, Message: message}},
		{Seq: 3, Time: at, Session: `a "quoted" id`, Data: ToolCallEnd{ID: "c", Output: tool.Text("whole"), Model: "m"}},
		{Seq: 3, Time: at, Data: ToolCallEnd{ID: "c", Output: tool.Text(awkward), Model: awkward, Fields: map[string]any{"output": awkward}}},
		{Seq: 3, Time: at, Data: TextEnd{Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: awkward}}}}},
		{Time: at, Data: TextDelta{Text: "x"}},
		{Seq: 4, Time: at, Session: "s", Data: Unknown{"NEW", json.RawMessage(`{"a":[1]}`)}},
	} {
		b, err := r.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		agree(t, b)
	}
}

func TestDecodeRecord_KeepsNothingOfItsInput(t *testing.T) {
	b := []byte(`{"seq":1,"time":"2026-01-02T03:04:05Z","session":"s","kind":"NEW","data":{"a":"b"}}`)
	r, err := DecodeRecord(b)
	if err != nil {
		t.Fatal(err)
	}
	clear(b)
	if got := string(r.Data.(Unknown).Raw); got != `{"a":"b"}` || r.Session != "s" {
		t.Errorf("%s in %s", got, r.Session)
	}
}

func FuzzDecodeRecord(f *testing.F) {
	for _, s := range []string{
		`{"seq":1,"time":"2026-01-02T03:04:05Z","session":"s","agent":"1","kind":"WARNING","data":{"message":"x"}}`,
		`{"seq":1,"time":"2026-01-02T03:04:05Z","kind":"NEW","data":{}},"data":{}}`,
		`{"seq":1,"time":"2026-01-02T03:04:05Z","kind":"WARNING","data":{"message":"x"},"kind":"ERROR"}`,
		`{"seq":1,"time":"2026-01-02T03:04:05Z","kind":"TOOL_CALL_END","data":{"output":"x"}}`,
		`{"seq":1,"time":"2026-01-02T03:04:05Z","kind":"TOOL_CALL_END","data":{"id":"c","output":"a\\\\\"\n\u00e9\ud83d\ude00","model_output":"x","fields":{"a":["}"]},"OUTPUT":"y"}}`,
		`{"seq":1,"time":"2026-01-02T03:04:05Z","kind":"ASSISTANT_TEXT_END","data":{"call":1,"text":"x","message":{"role":"user","parts":[{"type":"text","text":"x"}]}}}`,
		`{"kind":"WARNING","data":null}`, `{"seq":-1}`, `[]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) { agree(t, b) })
}
