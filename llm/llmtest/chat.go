package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/chat"
	"github.com/reins-agent/reins/llm/wire"
)

// chatProtocol is the server's side of OpenAI's Chat Completions API, with the reasoning members
// that compatible servers add to it.
type chatProtocol struct{}

func (chatProtocol) match(r *http.Request) bool {
	return strings.HasSuffix(r.URL.Path, "/chat/completions")
}

func (chatProtocol) dialect() wire.Dialect { return chat.NewDialect(chat.Quirks{}) }

func (chatProtocol) base() (provider, path string) { return "chat", "/v1" }

func (chatProtocol) key(r *http.Request) string { return openaiProtocol{}.key(r) }

func (chatProtocol) refusal() (string, func([]any) string) {
	return "messages", func(path []any) string {
		return "Invalid '" + bracketed(path) + "'. The content could not be processed."
	}
}

func (chatProtocol) requestID(id string) (header, value string) { return "X-Request-Id", id }

func (chatProtocol) streaming(_ *http.Request, body []byte) bool {
	return wire.Value(body).Get("stream").Bool()
}

func (chatProtocol) failure(status int, message string) []byte {
	return openaiObject("error", openaiError(status, message))
}

func (chatProtocol) midFailure(status int, message string) []byte {
	return frame("", openaiObject("error", openaiError(status, message)))
}

func (chatProtocol) unary(rep reply) []byte {
	var message wire.Encoder
	message.Open('{')
	message.Key("role")
	message.Str("assistant")
	var text, reasoning strings.Builder
	var details, calls []json.RawMessage
	spoke := false
	for _, p := range rep.Parts {
		switch p := p.(type) {
		case llm.Text:
			spoke = true
			text.WriteString(p.Text)
		case llm.Thinking:
			reasoning.WriteString(p.Text)
			if len(p.State.Data) > 0 {
				details = append(details, chatDetail(len(details), p.Text, string(p.State.Data)))
			}
		case llm.ToolCall:
			calls = append(calls, chatCall(-1, p, p.Arguments))
		}
	}
	message.Key("content")
	if spoke {
		message.Str(text.String())
	} else {
		message.Raw([]byte("null"))
	}
	if len(details) > 0 {
		message.StrField("reasoning", reasoning.String())
		message.Key("reasoning_details")
		message.Raw(chatList(details))
	} else {
		message.StrField("reasoning_content", reasoning.String())
	}
	if len(calls) > 0 {
		message.Key("tool_calls")
		message.Raw(chatList(calls))
	}
	message.Key("refusal")
	message.Raw([]byte("null"))
	message.Close('}')
	choice := openaiObject("index", 0, "message", json.RawMessage(message.Buf), "logprobs", nil, "finish_reason", chatReason(rep.Finish))
	return openaiObject("id", "chatcmpl-"+rep.ID, "object", "chat.completion", "created", 1700000000, "model", rep.Model,
		"choices", chatList([]json.RawMessage{choice}), "usage", chatUsage(rep.Usage), "service_tier", "default", "system_fingerprint", "fp_llmtest")
}

func (chatProtocol) stream(rep reply) [][]byte {
	w := chatWriter{rep: rep, usage: json.RawMessage("null")}
	w.delta(openaiObject("role", "assistant", "content", "", "refusal", nil), nil)
	details, calls := 0, 0
	for _, p := range rep.Parts {
		switch p := p.(type) {
		case llm.Text:
			for _, s := range chunks(p.Text, rep.Chunk) {
				w.delta(openaiObject("content", s), nil)
			}
		case llm.Thinking:
			w.thinking(p, details)
			details++
		case llm.ToolCall:
			w.delta(openaiObject("tool_calls", chatList([]json.RawMessage{chatCall(calls, p, "")})), nil)
			for _, s := range chunks(p.Arguments, rep.Chunk) {
				piece := openaiObject("index", calls, "function", openaiObject("arguments", s))
				w.delta(openaiObject("tool_calls", chatList([]json.RawMessage{piece})), nil)
			}
			calls++
		}
	}
	w.delta(json.RawMessage("{}"), chatReason(rep.Finish))
	w.chunk(json.RawMessage("[]"), chatUsage(rep.Usage))
	return append(w.frames, frame("", []byte("[DONE]")))
}

// chatWriter writes the chunks of a stream.
type chatWriter struct {
	rep    reply
	usage  json.RawMessage
	frames [][]byte
}

func (w *chatWriter) delta(delta json.RawMessage, finish any) {
	choice := openaiObject("index", 0, "delta", delta, "logprobs", nil, "finish_reason", finish)
	w.chunk(chatList([]json.RawMessage{choice}), w.usage)
}

func (w *chatWriter) chunk(choices, usage json.RawMessage) {
	w.frames = append(w.frames, frame("", openaiObject("id", "chatcmpl-"+w.rep.ID, "object", "chat.completion.chunk", "created", 1700000000,
		"model", w.rep.Model, "service_tier", "default", "system_fingerprint", "fp_llmtest", "choices", choices, "usage", usage)))
}

// thinking writes reasoning: with state as gateways do, without as most servers do.
func (w *chatWriter) thinking(p llm.Thinking, index int) {
	if len(p.State.Data) == 0 {
		for _, s := range chunks(p.Text, w.rep.Chunk) {
			w.delta(openaiObject("reasoning_content", s), nil)
		}
		return
	}
	for _, s := range chunks(p.Text, w.rep.Chunk) {
		piece := chatList([]json.RawMessage{chatDetail(index, s, "")})
		w.delta(openaiObject("reasoning", s, "reasoning_details", piece), nil)
	}
	last := chatList([]json.RawMessage{chatDetail(index, "", string(p.State.Data))})
	w.delta(openaiObject("reasoning_details", last), nil)
}

// chatDetail is a reasoning detail, or a piece of one.
func chatDetail(index int, text, signature string) json.RawMessage {
	pairs := []any{"type", "reasoning.text"}
	if text != "" {
		pairs = append(pairs, "text", text)
	}
	if signature != "" {
		pairs = append(pairs, "signature", signature)
	}
	return openaiObject(append(pairs, "format", "llmtest-v1", "index", index)...)
}

// chatCall is a tool call; in a stream it has an index.
func chatCall(index int, c llm.ToolCall, arguments string) json.RawMessage {
	pairs := []any{"id", c.ID, "type", "function", "function", openaiObject("name", c.Name, "arguments", arguments)}
	if index >= 0 {
		pairs = append([]any{"index", index}, pairs...)
	}
	return openaiObject(pairs...)
}

func chatList(items []json.RawMessage) json.RawMessage {
	var e wire.Encoder
	e.Open('[')
	for _, item := range items {
		e.Raw(item)
	}
	e.Close(']')
	return e.Buf
}

func chatReason(r llm.FinishReason) string {
	switch r {
	case llm.FinishStop, llm.FinishLength, llm.FinishToolCalls, llm.FinishContentFilter:
		return string(r)
	}
	return "stop"
}

func chatUsage(u llm.Usage) json.RawMessage {
	return openaiObject("prompt_tokens", u.Input, "completion_tokens", u.Output, "total_tokens", u.Input+u.Output,
		"prompt_tokens_details", openaiObject("cached_tokens", u.CacheRead, "audio_tokens", 0),
		"completion_tokens_details", openaiObject("reasoning_tokens", u.Reasoning, "audio_tokens", 0))
}

// chatPath names a message for an error.
func chatPath(i int) string { return fmt.Sprintf("messages[%d]", i) }
