package event

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// agree checks that DecodeRecord and UnmarshalJSON return the same.
func agree(t *testing.T, b []byte) {
	t.Helper()
	var want Record
	wantErr := want.UnmarshalJSON(b)
	got, err := DecodeRecord(b)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%q: DecodeRecord returns %v and UnmarshalJSON %v", b, err, wantErr)
	}
	if err != nil {
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%q (-UnmarshalJSON +DecodeRecord):\n%s", b, diff)
	}
}

// awkward is a text with many JSON escapes.
const awkward = "\" \\ \\\" \\\\ / \b\f\n\r\t \x00\x1f\x7f <&> \u2028 \u2029 é \U0001F600 } ] , : {"

// ownRecords returns records in all JSON forms.
func ownRecords() []Record {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	message := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
		llm.Thinking{Text: awkward, State: llm.State{Dialect: "d", Model: "m", Data: []byte("sig")}},
		llm.Text{Text: "a \"b\"\n"}, llm.ToolCall{ID: "c", Name: "n", Arguments: "{}"},
	}}
	return []Record{
		{Seq: 1, Time: at, Session: "s", Data: UserInput{Message: message, FollowUp: true, Answers: "c"}},
		{Seq: 1, Time: at, Session: "s", Data: SteeringQueued{Message: message}},
		{Seq: 1, Time: at, Session: "s", Data: SteeringInjected{Message: message, Source: "host"}},
		{Seq: 1, Time: at, Session: "s", Data: ToolCallStart{ID: "c", Name: "n", Arguments: json.RawMessage(`{"a":"<&>"}`)}},
		{Seq: 1, Time: at, Session: "s", Data: ToolCallEnd{ID: "c", Output: tool.Text(awkward), Model: "m", Images: []llm.Image{{Media: llm.Media{Data: []byte("x")}}}, Error: &tool.Error{Code: "c", Message: "m"}}},
		{Seq: 1, Time: at, Session: "s", Data: ToolCallEnd{ID: "c", OutputBlob: &Blob{"hash", 5}, Model: awkward}},
		{Seq: 1, Time: at, Data: Warning{Message: "x"}},
		{Seq: 2, Time: at, Session: "s", Agent: "1/2", Data: TextEnd{Call: 1, Message: message}},
		{Seq: 3, Time: at, Session: `a "quoted" id`, Data: ToolCallEnd{ID: "c", Output: tool.Text("whole"), Model: "m"}},
		{Seq: 3, Time: at, Data: ToolCallEnd{ID: "c", Output: tool.Text(awkward), Model: awkward, Fields: map[string]any{"output": awkward}}},
		{Seq: 3, Time: at, Data: TextEnd{Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: awkward}}}}},
		{Time: at, Data: TextDelta{Text: "x"}},
		{Seq: 4, Time: at, Session: "s", Data: Unknown{"NEW", json.RawMessage(`{"a":[1]}`)}},
	}
}

func TestDecodeRecord_AgreesWithUnmarshalJSON(t *testing.T) {
	records := ownRecords()
	for _, s := range sections() {
		records = append(records, Record{Seq: 1, Data: s.data})
	}
	for _, r := range records {
		b, err := r.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		agree(t, b)
		_, kind, raw, ok := envelope(b)
		if !ok {
			t.Errorf("%s takes the slow path", b)
		} else if _, err := decodeOnce(kind, raw); err != nil {
			t.Errorf("%s takes the slow path: %v", b, err)
		}
	}
}

func TestDecodeRecord_AgreesOnUnusualJSON(t *testing.T) {
	for _, data := range []string{
		`{"id":"c","output":null}`, `{"id":"c","output":"x","output":"y"}`, `{"id":"c","Output":"x"}`, `{"id":"c","output": "x" }`,
		`{"id":"c","output":"x","model_output":"\ud800"}`, `{"output":5}`, `{"output":"x"`, `{"output":"\x"}`, `{"output":"x",}`,
		`{"id":"c","output":"x","new":{"deep":["<\u003c>"]},"fields":{"output":"y"}}`, `null`, `[]`, `{"id":"c","id":"d","output":"x"}`,
	} {
		agree(t, []byte(`{"seq":1,"time":"2026-01-02T03:04:05Z","session":"s","kind":"TOOL_CALL_END","data":`+data+`}`))
	}
	for _, data := range []string{
		`{"call":1,"text":"x","message":null}`, `{"call":1,"text":5,"message":{}}`, `{"text":"\x","message":{"role":"user"}}`,
		`{"message":{"role":"user"},"text":"\ud800"}`, `{"message":{"role":"user"},"message":{"role":"tool"}}`,
		`{"message":{"role":"user","parts":[{"type":"new","a": 1}]}}`, `{"message":[]}`, `{"message":{"role":"user"}`,
	} {
		for _, kind := range []Kind{KindTextEnd, KindUserInput, KindSteeringQueued, KindSteeringInjected} {
			agree(t, []byte(`{"seq":1,"time":"2026-01-02T03:04:05Z","session":"s","kind":"`+string(kind)+`","data":`+data+`}`))
		}
	}
	for _, head := range []string{`"seq":01`, `"seq":0`, `"seq":-1`, `"seq":18446744073709551616`, `"seq":"1"`, `"seq":1 `, `"seq":1,"seq":2`, `"agent":"\u0031"`} {
		agree(t, []byte(`{`+head+`,"time":"2026-01-02T03:04:05Z","kind":"WARNING","data":{"message":"x"}}`))
	}
	for _, at := range []string{`null`, `"2026\u002d01-02T03:04:05Z"`, `"yesterday"`, `5`, `"2026-01-02T03:04:05,5Z"`} {
		agree(t, []byte(`{"seq":1,"time":`+at+`,"kind":"WARNING","data":{"message":"x"}}`))
	}
}

func TestAppendRecord_AgreesWithEncodingJSON(t *testing.T) {
	for _, r := range append(ownRecords(), Record{Time: time.Now(), Session: "<\xff>", Agent: "1", Data: Unknown{"NEW", json.RawMessage(" { \"a\" : 1 }\n")}}) {
		data, err := json.Marshal(r.Data)
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(recordJSON{r.Seq, r.Time, r.Session, r.Agent, r.Data.kind(), data})
		if err != nil {
			t.Fatal(err)
		}
		got, err := AppendRecord([]byte("before"), r)
		if err != nil || string(got) != "before"+string(want) {
			t.Errorf("got %s, want %s (%v)", got, want, err)
		}
	}
	for _, r := range []Record{{Data: Unknown{"NEW", json.RawMessage("{")}}, {Time: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC), Data: Warning{}}} {
		if b, err := AppendRecord([]byte("before"), r); err == nil || string(b) != "before" {
			t.Errorf("%+v is encoded as %s, want an error", r, b)
		}
	}
}

func TestDecodeRecord_RetainsNothingOfItsInput(t *testing.T) {
	b := []byte(`{"seq":1,"time":"2026-01-02T03:04:05Z","session":"s","kind":"NEW","data":{"a":"b"}}`)
	r, err := DecodeRecord(b)
	if err != nil {
		t.Fatal(err)
	}
	clear(b)
	if got := string(r.Data.(Unknown).Raw); got != `{"a":"b"}` || r.Session != "s" {
		t.Errorf("got %s in session %s", got, r.Session)
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
	for _, r := range ownRecords() {
		if b, err := r.MarshalJSON(); err == nil {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) { agree(t, b) })
}
