package chat

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/requests"
	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// contract checks the rules for events.
func contract(t *testing.T, events []llm.StreamEvent, resp *llm.Response, err error) {
	t.Helper()
	var text strings.Builder
	finished := false
	for i, ev := range events {
		switch ev := ev.(type) {
		case llm.TextDelta:
			text.WriteString(ev.Text)
		case llm.Finish:
			finished = true
			if i != len(events)-1 {
				t.Fatal("events after Finish")
			}
		}
	}
	if finished != (err == nil) {
		t.Fatalf("got Finish %v and error %v, want one of them", finished, err)
	}
	if err == nil && text.String() != resp.Text() {
		t.Fatalf("got deltas %q, want %q as in the response", text.String(), resp.Text())
	}
}

func fuzzRead(t *testing.T, data []byte, stream bool) {
	var events []llm.StreamEvent
	a := wire.NewAssembler(Name, "m", func(ev llm.StreamEvent) bool { events = append(events, ev); return true })
	h := http.Header{}
	if stream {
		h.Set("Content-Type", "text/event-stream")
	}
	err := wire.Read(NewDialect(Config{}), wire.Answer{Status: 200, Header: h, Body: bytes.NewReader(data), Stream: stream}, a)
	contract(t, events, a.Response(), err)
	if err != nil {
		return
	}
	// Every decoded answer can be sent back.
	call, err := NewDialect(Config{}).Encode(&llm.Request{Model: "m", Messages: []llm.Message{a.Response().Message}})
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(call.Body.Bytes()) {
		t.Fatalf("invalid JSON is sent back: %s", call.Body.Bytes())
	}
}

func FuzzStream(f *testing.F) {
	f.Add([]byte(sse(`{"content":"a"}`, `{"reasoning":"b"}`, `{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`, stopped, done)))
	f.Add([]byte(sse(`{"reasoning_details":[{"type":"reasoning.text","text":"a","index":0}]}`, `{"refusal":"no"}`, `{"function_call":{"name":"f"}}`, done)))
	f.Add([]byte(sse(`{"content":[{"type":"thinking","thinking":[{"text":"a"}]}]}`, `{"extra":{"a":1}}`, stopped)))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzRead(t, data, true) })
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"id":"a","choices":[{"message":{"content":"a","tool_calls":[{"id":"1","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}`))
	f.Add([]byte(`{"choices":[{"message":{"content":[{"type":"text","text":"a"}],"reasoning_details":[{"a":1}],"audio":{"id":"x"}}}]}`))
	f.Add([]byte(`{"error":{"message":"x"}}`))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzRead(t, data, false) })
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"model":"m","stream":true,"stop":"x","max_tokens":3,"tools":[{"type":"function","function":{"name":"f","parameters":{}}}],"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,aa"}}]}]}`))
	f.Add([]byte(`{"model":"m","messages":[{"role":"assistant","content":null,"reasoning":"a","tool_calls":[{"id":"1","function":{"name":"f","arguments":"x"}}]},{"role":"tool","tool_call_id":"1","content":"r","name":"f"},{"role":"function","name":"f","content":"x"}],"reasoning":{"effort":"low"},"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := NewDialect(Config{})
		r, dropped, err := requests.Parse(d, data)
		if err != nil {
			return
		}
		call, err := d.Encode(r)
		if err != nil {
			t.Fatal(err)
		}
		out := call.Body.Bytes()
		if !json.Valid(out) {
			t.Fatalf("encoded to invalid JSON: %s", out)
		}
		missing, err := requests.Lost(data, out)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Join(missing, " ") != strings.Join(dropped, " ") {
			t.Fatalf("lost %v, but Parse reported %v", missing, dropped)
		}
	})
}
