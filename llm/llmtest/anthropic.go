package llmtest

import (
	"encoding/base64"
	"encoding/json"
	"net/http"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/anthropic"
	"github.com/reins-agent/reins/llm/wire"
)

// anthropicProtocol is the server's side of the Messages API.
type anthropicProtocol struct{}

func (anthropicProtocol) match(r *http.Request) bool {
	return r.Method == http.MethodPost && r.URL.Path == "/v1/messages"
}

func (anthropicProtocol) dialect() wire.Dialect { return anthropic.NewDialect(anthropic.Config{}) }

func (anthropicProtocol) base() (provider, path string) { return "anthropic", "" }

func (anthropicProtocol) key(r *http.Request) string { return bearer(r, "X-Api-Key") }

func (anthropicProtocol) streaming(_ *http.Request, body []byte) bool {
	return wire.Value(body).Get("stream").Bool()
}

func (anthropicProtocol) refusal() (string, func([]any) string) {
	return "messages", func(path []any) string { return dotted(path) + ": the content could not be processed" }
}

func (anthropicProtocol) requestID(id string) (header, value string) { return "Request-Id", id }

func (anthropicProtocol) failure(status int, message string) []byte {
	return object("type", "error", "error", object("type", anthropicErrorType(status), "message", message))
}

func (p anthropicProtocol) midFailure(status int, message string) []byte {
	return frame("error", p.failure(status, message))
}

func anthropicErrorType(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusPaymentRequired:
		return "billing_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case http.StatusGatewayTimeout:
		return "timeout_error"
	case 529:
		return "overloaded_error"
	}
	if status >= 500 {
		return "api_error"
	}
	return "invalid_request_error"
}

func anthropicStopReason(f llm.FinishReason) string {
	switch f {
	case llm.FinishStop:
		return "end_turn"
	case llm.FinishToolCalls:
		return "tool_use"
	case llm.FinishLength:
		return "max_tokens"
	case llm.FinishContentFilter:
		return "refusal"
	case llm.FinishPause:
		return "pause_turn"
	}
	return string(f)
}

// anthropicBlock is a content block: whole, and as its start and deltas in a stream.
type anthropicBlock struct {
	whole, start json.RawMessage
	deltas       []json.RawMessage
}

// answer returns the blocks of a reply and its stop reason. If the request forces a tool, a JSON text becomes the
// input of that tool.
func (anthropicProtocol) answer(rep reply) (blocks []anthropicBlock, stop string) {
	finish := rep.Finish
	forced := ""
	if c := rep.Request.ToolChoice; c.Mode == llm.ToolNamed && len(llm.Message{Parts: rep.Parts}.ToolCalls()) == 0 {
		forced = c.Name
	}
	for _, p := range rep.Parts {
		switch p := p.(type) {
		case llm.Text:
			if forced != "" && isObject(p.Text) {
				blocks = append(blocks, anthropicCall("toolu_"+rep.ID, forced, p.Text, rep.Chunk))
				finish = llm.FinishToolCalls
				continue
			}
			blocks = append(blocks, anthropicBlock{
				whole:  object("type", "text", "text", p.Text),
				start:  object("type", "text", "text", ""),
				deltas: anthropicDeltas("text_delta", "text", chunks(p.Text, rep.Chunk)),
			})
		case llm.Thinking:
			blocks = append(blocks, anthropicThinking(p, rep.Chunk))
		case llm.ToolCall:
			blocks = append(blocks, anthropicCall(p.ID, p.Name, p.Arguments, rep.Chunk))
		case llm.Opaque:
			data := json.RawMessage(p.State.Data)
			blocks = append(blocks, anthropicBlock{whole: data, start: data})
		}
	}
	return blocks, anthropicStopReason(finish)
}

func isObject(text string) bool {
	v, err := wire.ParseJSON([]byte(text))
	return err == nil && v.Kind() == '{'
}

func anthropicDeltas(kind, field string, pieces []string) (deltas []json.RawMessage) {
	for _, s := range pieces {
		deltas = append(deltas, object("type", kind, field, s))
	}
	return deltas
}

func anthropicCall(id, name, arguments string, chunk int) anthropicBlock {
	block := func(input string) json.RawMessage {
		return object("type", "tool_use", "id", id, "name", name, "input", json.RawMessage(input))
	}
	b := anthropicBlock{start: block("{}")}
	if b.whole = b.start; isObject(arguments) {
		b.whole = block(arguments)
	}
	pieces := append([]string{""}, chunks(arguments, chunk)...) // the API starts with an empty delta
	b.deltas = anthropicDeltas("input_json_delta", "partial_json", pieces)
	return b
}

// anthropicThinking uses the state as the signature, or makes one up.
func anthropicThinking(t llm.Thinking, chunk int) anthropicBlock {
	signature := string(t.State.Data)
	if isObject(signature) {
		v := wire.Value(t.State.Data)
		signature = v.Get("signature").Str() + v.Get("data").Str()
	}
	if signature == "" {
		signature = base64.StdEncoding.EncodeToString([]byte("signature of " + t.Text))
	}
	if t.Redacted {
		block := object("type", "redacted_thinking", "data", signature)
		return anthropicBlock{whole: block, start: block}
	}
	return anthropicBlock{
		whole:  object("type", "thinking", "thinking", t.Text, "signature", signature),
		start:  object("type", "thinking", "thinking", "", "signature", ""),
		deltas: append(anthropicDeltas("thinking_delta", "thinking", chunks(t.Text, chunk)), object("type", "signature_delta", "signature", signature)),
	}
}

// message encodes a message: a whole answer, or the start of a stream if stop is nil.
func (p anthropicProtocol) message(rep reply, blocks []anthropicBlock, stop any) json.RawMessage {
	var content []json.RawMessage
	for _, b := range blocks {
		content = append(content, b.whole)
	}
	u := rep.Usage
	if stop == nil {
		u.Output = 1
	}
	return object("id", "msg_"+rep.ID, "type", "message", "role", "assistant", "model", rep.Model, "content", list(content...),
		"stop_reason", stop, "stop_sequence", nil, "usage", anthropicUsage(u))
}

// anthropicUsage encodes token counts. Unlike llm.Usage, input_tokens excludes cached input.
func anthropicUsage(u llm.Usage) json.RawMessage {
	return object("input_tokens", u.Input-u.CacheRead-u.CacheWrite, "cache_creation_input_tokens", u.CacheWrite,
		"cache_read_input_tokens", u.CacheRead, "output_tokens", u.Output)
}

func (p anthropicProtocol) unary(rep reply) []byte {
	blocks, stop := p.answer(rep)
	return p.message(rep, blocks, stop)
}

func (p anthropicProtocol) stream(rep reply) (frames [][]byte) {
	event := func(kind string, pairs ...any) {
		frames = append(frames, frame(kind, object(append([]any{"type", kind}, pairs...)...)))
	}
	blocks, stop := p.answer(rep)
	event("message_start", "message", p.message(rep, nil, nil))
	event("ping")
	for i, b := range blocks {
		event("content_block_start", "index", i, "content_block", b.start)
		for _, d := range b.deltas {
			event("content_block_delta", "index", i, "delta", d)
		}
		event("content_block_stop", "index", i)
	}
	event("message_delta", "delta", object("stop_reason", stop, "stop_sequence", nil), "usage", anthropicUsage(rep.Usage))
	event("message_stop")
	return frames
}
