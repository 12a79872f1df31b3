package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/reins-agent/reins/internal/requests"
	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// read decodes arbitrary bytes and checks the contract for any answer.
func read(t *testing.T, body []byte, stream bool) {
	finished := false
	a := wire.NewAssembler(Name, model, func(ev llm.StreamEvent) bool {
		if finished {
			t.Errorf("%T after the finish", ev)
		}
		_, finished = ev.(llm.Finish)
		return true
	})
	err := wire.Read(NewDialect(Config{}), wire.Answer{Body: bytes.NewReader(body), Stream: stream}, a)
	var e *llm.Error
	if err != nil && !errors.As(err, &e) {
		t.Errorf("an error without a type: %v", err)
	}
	if (err == nil) != a.Done() {
		t.Errorf("done is %v with error %v", a.Done(), err)
	}
	if err == nil {
		encode(t, &llm.Request{Model: model, Messages: []llm.Message{a.Response().Message}})
	}
}

// encode checks that a request becomes JSON.
func encode(t *testing.T, r *llm.Request) []byte {
	call, err := NewDialect(Config{}).Encode(r)
	if err != nil {
		return nil
	}
	b := call.Body.Bytes()
	if !json.Valid(b) {
		t.Errorf("not JSON: %s", b)
	}
	return b
}

func FuzzStream(f *testing.F) {
	body, _ := recordedLike(4)
	f.Add(body)
	f.Add(sse(created, `{"type":"response.output_item.done","item":{"type":"message","content":[{"type":"refusal","refusal":"x"},{"type":"y"}]}}`, completed))
	f.Add(sse(`{"type":"response.output_text.delta","content_index":99999999999,"output_index":-3,"delta":"x"}`, completed))
	f.Fuzz(func(t *testing.T, data []byte) { read(t, data, true) })
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"id":"r","status":"completed","output":[{"type":"reasoning","summary":[{"text":"a"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}],"usage":{"input_tokens":1}}`))
	f.Add([]byte(`{"status":"failed","error":{"message":"x"}}`))
	f.Fuzz(func(t *testing.T, data []byte) { read(t, data, false) })
}

func FuzzParse(f *testing.F) {
	f.Add(body(f, longRequest(1)))
	f.Add([]byte(`{"model":"m","input":"x","text":{"format":{"type":"json_schema","name":"n","schema":{}}},"tools":[{"type":"custom","name":"a"}]}`))
	f.Add([]byte(`{"input":[{"role":"system","content":"x"},{"role":"user","content":[{"type":"input_file","file_data":"data:a/b;base64,AA==","filename":"f"}]}]}`))
	d := NewDialect(Config{})
	f.Fuzz(func(t *testing.T, data []byte) {
		r, _, err := requests.Parse(d, data)
		if err != nil {
			return
		}
		first := encode(t, r)
		if first == nil {
			return
		}
		again, _, err := requests.Parse(d, first)
		if err != nil {
			t.Fatalf("what was encoded does not parse: %v", err)
		}
		if second := encode(t, again); !bytes.Equal(first, second) {
			t.Errorf("not stable:\n%s\n%s", first, second)
		}
	})
}
