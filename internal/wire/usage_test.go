package wire_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm/anthropic"
	"github.com/reins-agent/reins/llm/chat"
	"github.com/reins-agent/reins/llm/gemini"
	"github.com/reins-agent/reins/llm/openai"
)

// An interrupted stream reports the tokens counted so far, and whether the counts are final.
func TestUsage_BrokenStreams(t *testing.T) {
	type counts struct {
		input, output int64
		final         bool
	}
	for _, tt := range []struct {
		name    string
		dialect wire.Dialect
		body    string
		want    counts
	}{
		{"anthropic, in the middle", anthropic.NewDialect(anthropic.Config{}), `data: {"type":"message_start","message":{"id":"m","model":"c","usage":{"input_tokens":5,"cache_read_input_tokens":100,"output_tokens":1}}}

data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}

`, counts{105, 1, false}},
		{"anthropic, after the last counts", anthropic.NewDialect(anthropic.Config{}), `data: {"type":"message_start","message":{"id":"m","model":"c","usage":{"input_tokens":5,"output_tokens":1}}}

data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":40}}

`, counts{5, 40, true}},
		{"openai, in the middle", openai.NewDialect(openai.Config{}), `data: {"type":"response.created","response":{"id":"r","model":"g","status":"in_progress","usage":null}}

data: {"type":"response.output_text.delta","item_id":"i","output_index":0,"content_index":0,"delta":"a"}

`, counts{}},
		{"openai, failed", openai.NewDialect(openai.Config{}), `data: {"type":"response.failed","response":{"id":"r","model":"g","status":"failed","error":{"code":"server_error","message":"no"},"usage":{"input_tokens":7,"output_tokens":3}}}

`, counts{7, 3, true}},
		{"gemini, in the middle", gemini.NewDialect(gemini.Config{}), `data: {"candidates":[{"content":{"parts":[{"text":"a"}],"role":"model"}}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":2}}

`, counts{9, 2, false}},
		{"chat, counted with every chunk", chat.NewDialect(chat.Config{}), `data: {"id":"1","choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":6,"completion_tokens":1}}

`, counts{6, 1, false}},
		{"chat, without counts", chat.NewDialect(chat.Config{}), `data: {"id":"1","choices":[{"index":0,"delta":{"content":"a"}}]}

`, counts{}},
	} {
		a := wire.NewAssembler(tt.dialect.Name(), "m", nil)
		err := wire.Read(tt.dialect, wire.Answer{Status: 200, Stream: true, Header: http.Header{}, Body: strings.NewReader(tt.body)}, a)
		if err == nil {
			t.Errorf("%s: got no error, want one", tt.name)
		}
		u, final := a.Spent()
		if got := (counts{u.Input, u.Output, final}); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
