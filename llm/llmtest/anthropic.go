package llmtest

import (
	"encoding/base64"
	"net/http"
	"strings"

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

func (anthropicProtocol) key(r *http.Request) string {
	if k := r.Header.Get("X-Api-Key"); k != "" {
		return k
	}
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token
}

func (anthropicProtocol) streaming(_ *http.Request, body []byte) bool {
	return wire.Value(body).Get("stream").Bool()
}

func (anthropicProtocol) refusal() (string, func([]any) string) {
	return "messages", func(path []any) string { return dotted(path) + ": the content could not be processed" }
}

func (anthropicProtocol) requestID(id string) (header, value string) { return "Request-Id", id }

func (anthropicProtocol) failure(status int, message string) []byte {
	var e wire.Encoder
	e.Open('{')
	e.Key("type")
	e.Str("error")
	e.Key("error")
	e.Open('{')
	e.Key("type")
	e.Str(anthropicErrorType(status))
	e.Key("message")
	e.Str(message)
	e.Close('}')
	e.Close('}')
	return e.Buf
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

// anthropicBlock is a content block of an answer: what stands in it from the start, and what its
// deltas bring.
type anthropicBlock struct {
	open  func(e *wire.Encoder, whole bool) // writes the members behind the type
	kind  string
	delta string // the type of the deltas
	field string // what they call their text
	text  string
	// last is a delta that ends the block, if it has one.
	last []byte
}

// answer is the blocks of a reply and why it ends. A model that is made to call one tool gives its
// text as the input of that tool.
func (anthropicProtocol) answer(rep reply) ([]anthropicBlock, llm.FinishReason) {
	var out []anthropicBlock
	finish := rep.Finish
	forced := ""
	if c := rep.Request.ToolChoice; c.Mode == llm.ToolNamed && len(llm.Message{Parts: rep.Parts}.ToolCalls()) == 0 {
		forced = c.Name
	}
	for i, p := range rep.Parts {
		switch p := p.(type) {
		case llm.Text:
			if v, err := wire.ParseJSON([]byte(p.Text)); forced != "" && err == nil && v.Kind() == '{' {
				out = append(out, anthropicCall("toolu_"+rep.ID, forced, p.Text))
				finish = llm.FinishToolCalls
				continue
			}
			out = append(out, anthropicBlock{kind: "text", delta: "text_delta", field: "text", text: p.Text})
		case llm.Thinking:
			out = append(out, anthropicThinking(p, i))
		case llm.ToolCall:
			out = append(out, anthropicCall(p.ID, p.Name, p.Arguments))
		case llm.Opaque:
			out = append(out, anthropicBlock{kind: p.Kind, open: func(e *wire.Encoder, _ bool) { writeMembers(e, p.State.Data, "type") }})
		}
	}
	return out, finish
}

func anthropicCall(id, name, arguments string) anthropicBlock {
	return anthropicBlock{kind: "tool_use", delta: "input_json_delta", field: "partial_json", text: arguments,
		open: func(e *wire.Encoder, whole bool) {
			e.StrField("id", id)
			e.StrField("name", name)
			e.Key("input")
			if v, err := wire.ParseJSON([]byte(arguments)); whole && err == nil && v.Kind() == '{' {
				e.Raw(v)
			} else {
				e.Raw([]byte("{}"))
			}
		}}
}

// anthropicThinking signs the thinking with its state, or with something of its own.
func anthropicThinking(t llm.Thinking, i int) anthropicBlock {
	signature := string(t.State.Data)
	if v, err := wire.ParseJSON(t.State.Data); err == nil && v.Kind() == '{' {
		signature = v.Get("signature").Str() + v.Get("data").Str()
	}
	if signature == "" {
		signature = base64.StdEncoding.EncodeToString([]byte("signature of " + t.Text + string(rune('0'+i%10))))
	}
	if t.Redacted {
		return anthropicBlock{kind: "redacted_thinking", open: func(e *wire.Encoder, _ bool) { e.StrField("data", signature) }}
	}
	var d wire.Encoder
	d.Open('{')
	d.StrField("type", "signature_delta")
	d.StrField("signature", signature)
	d.Close('}')
	return anthropicBlock{kind: "thinking", delta: "thinking_delta", field: "thinking", text: t.Text, last: d.Buf,
		open: func(e *wire.Encoder, whole bool) {
			e.Key("signature")
			if whole {
				e.Str(signature)
			} else {
				e.Str("")
			}
		}}
}

// writeMembers writes the members of an object beside one of them.
func writeMembers(e *wire.Encoder, object []byte, without string) {
	for m := wire.Value(object).Members(); m.Next(); {
		if string(m.Key) != without {
			e.Key(string(m.Key))
			e.Raw(m.Value)
		}
	}
}

// write writes the block, whole or as a stream begins it.
func (b *anthropicBlock) write(e *wire.Encoder, whole bool) {
	e.Open('{')
	e.Key("type")
	e.Str(b.kind)
	if b.field == "text" || b.field == "thinking" {
		e.Key(b.field)
		if whole {
			e.Str(b.text)
		} else {
			e.Str("")
		}
	}
	if b.open != nil {
		b.open(e, whole)
	}
	e.Close('}')
}

// message writes a message object: a whole answer, or with nothing in it yet.
func (p anthropicProtocol) message(e *wire.Encoder, rep reply, blocks []anthropicBlock, stop string) {
	e.Open('{')
	e.StrField("id", "msg_"+rep.ID)
	e.StrField("type", "message")
	e.StrField("role", "assistant")
	e.StrField("model", rep.Model)
	e.Key("content")
	e.Open('[')
	for i := range blocks {
		blocks[i].write(e, true)
	}
	e.Close(']')
	anthropicStop(e, stop)
	e.Key("usage")
	u := rep.Usage
	if stop == "" {
		u.Output = 1
	}
	anthropicUsage(e, u)
	e.Close('}')
}

func anthropicStop(e *wire.Encoder, stop string) {
	e.Key("stop_reason")
	if stop == "" {
		e.Raw([]byte("null"))
	} else {
		e.Str(stop)
	}
	e.Key("stop_sequence")
	e.Raw([]byte("null"))
}

// anthropicUsage writes the counts as this API has them, with the cached input apart.
func anthropicUsage(e *wire.Encoder, u llm.Usage) {
	e.Open('{')
	for _, f := range []struct {
		name string
		n    int64
	}{
		{"input_tokens", u.Input - u.CacheRead - u.CacheWrite},
		{"cache_creation_input_tokens", u.CacheWrite},
		{"cache_read_input_tokens", u.CacheRead},
		{"output_tokens", u.Output},
	} {
		e.Key(f.name)
		e.Int(f.n)
	}
	e.Close('}')
}

func (p anthropicProtocol) unary(rep reply) []byte {
	blocks, finish := p.answer(rep)
	var e wire.Encoder
	p.message(&e, rep, blocks, anthropicStopReason(finish))
	return e.Buf
}

func (p anthropicProtocol) stream(rep reply) [][]byte {
	blocks, finish := p.answer(rep)
	var frames [][]byte
	event := func(kind string, write func(e *wire.Encoder)) {
		var e wire.Encoder
		e.Open('{')
		e.StrField("type", kind)
		if write != nil {
			write(&e)
		}
		e.Close('}')
		frames = append(frames, frame(kind, e.Buf))
	}
	event("message_start", func(e *wire.Encoder) {
		e.Key("message")
		p.message(e, rep, nil, "")
	})
	event("ping", nil)
	for i := range blocks {
		blocks[i].stream(int64(i), rep.Chunk, event)
	}
	event("message_delta", func(e *wire.Encoder) {
		e.Key("delta")
		e.Open('{')
		anthropicStop(e, anthropicStopReason(finish))
		e.Close('}')
		e.Key("usage")
		anthropicUsage(e, rep.Usage)
	})
	event("message_stop", nil)
	return frames
}

// stream writes the events of one block.
func (b *anthropicBlock) stream(index int64, chunk int, event func(string, func(*wire.Encoder))) {
	event("content_block_start", func(e *wire.Encoder) {
		e.Key("index")
		e.Int(index)
		e.Key("content_block")
		b.write(e, false)
	})
	delta := func(write func(e *wire.Encoder)) {
		event("content_block_delta", func(e *wire.Encoder) {
			e.Key("index")
			e.Int(index)
			e.Key("delta")
			write(e)
		})
	}
	piece := func(s string) {
		delta(func(e *wire.Encoder) {
			e.Open('{')
			e.StrField("type", b.delta)
			e.Key(b.field)
			e.Str(s)
			e.Close('}')
		})
	}
	if b.kind == "tool_use" {
		piece("") // as the real server does
	}
	for _, s := range chunks(b.text, chunk) {
		piece(s)
	}
	if b.last != nil {
		delta(func(e *wire.Encoder) { e.Raw(b.last) })
	}
	event("content_block_stop", func(e *wire.Encoder) {
		e.Key("index")
		e.Int(index)
	})
}
