package anthropic

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

var streamSeeds = []string{
	sse(start(""), begin(0, emptyText), text(0, "a"), stop(0), ending("end_turn"), done),
	sse(start(`{"type":"text","text":"pre"}`), begin(0, emptyText), text(0, "pre"), text(0, "more"), ending("end_turn"), done),
	sse(start(""), begin(0, `{"type":"thinking","thinking":""}`), delta(0, `{"type":"thinking_delta","thinking":"hm"}`), delta(0, `{"type":"signature_delta","signature":"s"}`), stop(0), ending("max_tokens"), done),
	sse(start(""), begin(0, weatherA), partial(0, `{"a":`), partial(0, `1}`), stop(0), ending("tool_use"), done),
	sse(start(""), begin(0, `{"type":"novelty","x":"a","citations":[1]}`), delta(0, `{"type":"d","x":"b","citation":{"n":1},"partial_json":"{}","y":2}`), stop(0), ending("pause_turn"), done),
	sse(`{"type":"error","error":{"type":"overloaded_error","message":"x"}}`),
}

// FuzzStream reads arbitrary bytes as a stream: no panic, and a response or a typed error.
func FuzzStream(f *testing.F) {
	for _, s := range streamSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		ended := map[int]bool{}
		a := wire.NewAssembler(Name, "m", func(ev llm.StreamEvent) bool {
			if e, ok := ev.(llm.ToolCallEnd); ok {
				if ended[e.Index] {
					t.Errorf("call %d ended twice", e.Index)
				}
				ended[e.Index] = true
			}
			return true
		})
		err := wire.Read(NewDialect(Config{}), wire.Answer{Status: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: bytes.NewReader(data), Stream: true}, a)
		if err != nil && llm.KindOf(err) == llm.ErrUnknown && !strings.Contains(string(data), "error") {
			t.Errorf("the error has no kind: %v", err)
		}
		if err == nil && !a.Done() {
			t.Error("there is neither an answer nor an error")
		}
		if err == nil {
			resend(t, a.Response().Message)
		}
	})
}

// resend encodes a message that was received, which must give JSON.
func resend(t *testing.T, m llm.Message) {
	call, err := NewDialect(Config{}).Encode(&llm.Request{Model: "m", Messages: []llm.Message{hi, m, hi}})
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(call.Body.Bytes()) {
		t.Errorf("the answer cannot be sent back: %s", call.Body.Bytes())
	}
}

// FuzzDecode reads arbitrary bytes as a whole answer.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"id":"msg_1","model":"x","content":[{"type":"thinking","thinking":"hm","signature":"s1"},{"type":"text","text":"a","citations":[1]},{"type":"tool_use","id":"a","name":"w","input":{}},{"type":"novelty"}],"stop_reason":"tool_use","container":{"id":"c"},"usage":{"input_tokens":1}}`))
	f.Add([]byte(`{"type":"error","error":{"type":"api_error","message":"x"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		a := wire.NewAssembler(Name, "m", nil)
		if err := NewDialect(Config{}).Decode(data, a); err == nil {
			if !a.Done() {
				t.Error("the answer is not finished")
			}
			resend(t, a.Response().Message)
		}
	})
}

// FuzzParse parses arbitrary requests. What parses encodes to JSON, and that parses to the same
// bytes again.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"model":"m","max_tokens":5,"system":"s","messages":[{"role":"user","content":"hi"}],"stream":true}`))
	f.Add([]byte(`{"model":"m","max_tokens":5,"thinking":{"type":"enabled","budget_tokens":2000},"tools":[{"name":"f","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}},{"type":"web_search_20250305","name":"w"}],"tool_choice":{"type":"any","disable_parallel_tool_use":true},"output_config":{"effort":"high","format":{"type":"json_schema","schema":{}}},"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cG5n"}}],"is_error":false},{"type":"document","source":{"type":"text","media_type":"text/plain","data":"x"},"title":"t"}]},{"role":"system","content":[{"type":"text","text":"x"}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := NewDialect(Config{})
		r, _, err := requests.Parse(d, data)
		if err != nil || r.Model == "" {
			return
		}
		call, err := d.Encode(r)
		if err != nil {
			return
		}
		once := call.Body.Bytes()
		if !json.Valid(once) {
			t.Fatalf("%s encodes to %s", data, once)
		}
		again, _, err := requests.Parse(d, once)
		if err != nil {
			t.Fatalf("%s does not parse again: %v", once, err)
		}
		call, err = d.Encode(again)
		if err != nil {
			t.Fatalf("%s does not encode again: %v", once, err)
		}
		if twice := call.Body.Bytes(); !sameJSON(once, twice) {
			t.Fatalf("%s\nbecame %s\nand then %s", data, once, twice)
		}
	})
}
