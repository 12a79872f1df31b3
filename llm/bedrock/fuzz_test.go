package bedrock

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/reins-agent/reins/internal/requests"
	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// checked fails on answers that violate the decoder's contract.
func checked(t *testing.T, resp *llm.Response, err error) {
	t.Helper()
	if err != nil {
		return
	}
	if resp.Finish.Reason == "" {
		t.Error("a success without a finish reason")
	}
	call, err := NewDialect(Config{}).Encode(&llm.Request{Model: "m", Messages: []llm.Message{llm.UserText("q"), resp.Message}})
	if err != nil || !json.Valid(call.Body.Bytes()) {
		t.Errorf("the answer cannot be sent back: %v", err)
	}
}

func FuzzStream(f *testing.F) {
	f.Add([]byte("event: messageStart\ndata: {\"role\":\"assistant\"}\n\nevent: contentBlockStart\ndata: {\"contentBlockIndex\":0,\"start\":{\"toolUse\":{\"toolUseId\":\"a\",\"name\":\"f\"}}}\n\n" +
		"event: contentBlockDelta\ndata: {\"contentBlockIndex\":0,\"delta\":{\"toolUse\":{\"input\":\"{}\"}}}\n\nevent: contentBlockStop\ndata: {\"contentBlockIndex\":0}\n\n" +
		"event: messageStop\ndata: {\"stopReason\":\"tool_use\"}\n\nevent: metadata\ndata: {\"usage\":{\"inputTokens\":1}}\n\n"))
	f.Add([]byte("event: contentBlockDelta\ndata: {\"delta\":{\"reasoningContent\":{\"redactedContent\":\"x\"}}}\n\nevent: contentBlockDelta\ndata: {\"delta\":{\"text\":\"x\"}}\n\nevent: messageStop\ndata: {\"stopReason\":\"max_tokens\"}\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		a := wire.NewAssembler(Name, "m", nil)
		err := wire.Read(NewDialect(Config{}), wire.Answer{Status: 200, Body: bytes.NewReader(data), Stream: true, Limits: llm.Limits{MaxEvent: 1 << 20}}, a)
		checked(t, a.Response(), err)
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"output":{"message":{"content":[{"text":"x"},{"toolUse":{"toolUseId":"a","name":"f","input":{}}},{"reasoningContent":{"reasoningText":{"text":"t","signature":"s"}}},{"citationsContent":{"content":[{"text":"c"}]}},{"foo":1},{}]}},"stopReason":"tool_use","usage":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		a := wire.NewAssembler(Name, "m", nil)
		err := NewDialect(Config{}).Decode(data, a)
		if err == nil && a.Done() {
			checked(t, a.Response(), nil)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"system":[{"text":"s"}],"messages":[{"role":"user","content":[{"text":"x"},{"image":{"format":"png","source":{"bytes":"AAAA"}}}]}],"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{}}}},{"cachePoint":{"type":"default"}}],"toolChoice":{"any":{}}},"inferenceConfig":{"maxTokens":1}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := NewDialect(Config{})
		r, _, err := requests.Parse(d, data)
		if err != nil {
			return
		}
		r.Model = "m"
		call, err := d.Encode(r)
		if err == nil && !json.Valid(call.Body.Bytes()) {
			t.Errorf("%s became %s", data, call.Body.Bytes())
		}
	})
}
