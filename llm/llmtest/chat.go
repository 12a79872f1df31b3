package llmtest

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/chat"
)

// chatProtocol is the server side of the Chat Completions API, with the reasoning that compatible servers add.
type chatProtocol struct{}

func (chatProtocol) match(r *http.Request) bool {
	return strings.HasSuffix(r.URL.Path, "/chat/completions")
}

func (chatProtocol) dialect() wire.Dialect { return chat.NewDialect(chat.Config{}) }

func (chatProtocol) base() (provider, path string) { return "chat", "/v1" }

func (chatProtocol) key(r *http.Request) string { return bearer(r, "api-key") }

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
	return object("error", openaiError(status, message))
}

func (chatProtocol) midFailure(status int, message string) []byte {
	return frame("", object("error", openaiError(status, message)))
}

func (chatProtocol) unary(rep reply) []byte {
	var text any
	var reasoning string
	var details, calls []json.RawMessage
	for _, p := range rep.Parts {
		switch p := p.(type) {
		case llm.Text:
			before, _ := text.(string)
			text = before + p.Text
		case llm.Thinking:
			reasoning += p.Text
			if len(p.State.Data) > 0 {
				details = append(details, chatDetail(len(details), p.Text, string(p.State.Data)))
			}
		case llm.ToolCall:
			calls = append(calls, chatCall(-1, p, p.Arguments))
		}
	}
	message := []any{"role", "assistant", "content", text}
	switch {
	case len(details) > 0:
		message = append(message, "reasoning", reasoning, "reasoning_details", list(details...))
	case reasoning != "":
		message = append(message, "reasoning_content", reasoning)
	}
	if len(calls) > 0 {
		message = append(message, "tool_calls", list(calls...))
	}
	choice := object("index", 0, "message", object(append(message, "refusal", nil)...), "logprobs", nil, "finish_reason", chatReason(rep.Finish))
	return object("id", "chatcmpl-"+rep.ID, "object", "chat.completion", "created", 1700000000, "model", rep.Model,
		"choices", list(choice), "usage", chatUsage(rep.Usage), "service_tier", "default", "system_fingerprint", "fp_llmtest")
}

func (chatProtocol) stream(rep reply) [][]byte {
	w := chatWriter{rep: rep, usage: json.RawMessage("null")}
	w.delta(object("role", "assistant", "content", "", "refusal", nil), nil)
	details, calls := 0, 0
	for _, p := range rep.Parts {
		switch p := p.(type) {
		case llm.Text:
			for _, s := range chunks(p.Text, rep.Chunk) {
				w.delta(object("content", s), nil)
			}
		case llm.Thinking:
			w.thinking(p, details)
			details++
		case llm.ToolCall:
			w.delta(object("tool_calls", list(chatCall(calls, p, ""))), nil)
			for _, s := range chunks(p.Arguments, rep.Chunk) {
				piece := object("index", calls, "function", object("arguments", s))
				w.delta(object("tool_calls", list(piece)), nil)
			}
			calls++
		}
	}
	w.delta(json.RawMessage("{}"), chatReason(rep.Finish))
	w.chunk(json.RawMessage("[]"), chatUsage(rep.Usage))
	return append(w.frames, frame("", []byte("[DONE]")))
}

// chatWriter collects stream chunks.
type chatWriter struct {
	rep    reply
	usage  json.RawMessage
	frames [][]byte
}

func (w *chatWriter) delta(delta json.RawMessage, finish any) {
	choice := object("index", 0, "delta", delta, "logprobs", nil, "finish_reason", finish)
	w.chunk(list(choice), w.usage)
}

func (w *chatWriter) chunk(choices, usage json.RawMessage) {
	w.frames = append(w.frames, frame("", object("id", "chatcmpl-"+w.rep.ID, "object", "chat.completion.chunk", "created", 1700000000,
		"model", w.rep.Model, "service_tier", "default", "system_fingerprint", "fp_llmtest", "choices", choices, "usage", usage)))
}

// thinking writes reasoning with state like gateways, without like most servers.
func (w *chatWriter) thinking(p llm.Thinking, index int) {
	if len(p.State.Data) == 0 {
		for _, s := range chunks(p.Text, w.rep.Chunk) {
			w.delta(object("reasoning_content", s), nil)
		}
		return
	}
	for _, s := range chunks(p.Text, w.rep.Chunk) {
		piece := list(chatDetail(index, s, ""))
		w.delta(object("reasoning", s, "reasoning_details", piece), nil)
	}
	last := list(chatDetail(index, "", string(p.State.Data)))
	w.delta(object("reasoning_details", last), nil)
}

// chatDetail encodes a reasoning detail, or a piece of one.
func chatDetail(index int, text, signature string) json.RawMessage {
	pairs := []any{"type", "reasoning.text"}
	if text != "" {
		pairs = append(pairs, "text", text)
	}
	if signature != "" {
		pairs = append(pairs, "signature", signature)
	}
	return object(append(pairs, "format", "llmtest-v1", "index", index)...)
}

// chatCall encodes a tool call, with an index unless it is negative.
func chatCall(index int, c llm.ToolCall, arguments string) json.RawMessage {
	pairs := []any{"id", c.ID, "type", "function", "function", object("name", c.Name, "arguments", arguments)}
	if index >= 0 {
		pairs = append([]any{"index", index}, pairs...)
	}
	return object(pairs...)
}

func chatReason(r llm.FinishReason) string {
	switch r {
	case llm.FinishStop, llm.FinishLength, llm.FinishToolCalls, llm.FinishContentFilter:
		return string(r)
	}
	return "stop"
}

func chatUsage(u llm.Usage) json.RawMessage {
	return object("prompt_tokens", u.Input, "completion_tokens", u.Output, "total_tokens", u.Input+u.Output,
		"prompt_tokens_details", object("cached_tokens", u.CacheRead, "audio_tokens", 0),
		"completion_tokens_details", object("reasoning_tokens", u.Reasoning, "audio_tokens", 0))
}
