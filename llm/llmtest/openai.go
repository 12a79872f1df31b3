package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/openai"
)

// openaiProtocol is the server side of the OpenAI Responses API.
type openaiProtocol struct{}

func (openaiProtocol) match(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/responses") }

func (openaiProtocol) dialect() wire.Dialect { return openai.NewDialect(openai.Config{}) }

func (openaiProtocol) base() (provider, path string) { return "openai", "/v1" }

func (openaiProtocol) key(r *http.Request) string {
	return bearer(r, "api-key")
}

func (openaiProtocol) refusal() (string, func([]any) string) {
	return "input", func(path []any) string {
		return "Invalid '" + bracketed(path) + "'. The content could not be processed."
	}
}

func (openaiProtocol) requestID(id string) (header, value string) { return "X-Request-Id", id }

func (openaiProtocol) streaming(_ *http.Request, body []byte) bool {
	return wire.Value(body).Get("stream").Bool()
}

func (openaiProtocol) failure(status int, message string) []byte {
	return object("error", openaiError(status, message))
}

func (openaiProtocol) midFailure(status int, message string) []byte {
	return frame("error", object("type", "error", "sequence_number", 999, "error", openaiError(status, message)))
}

func openaiError(status int, message string) json.RawMessage {
	kind, code := "invalid_request_error", any(nil)
	switch {
	case status == http.StatusUnauthorized:
		code = "invalid_api_key"
	case status == http.StatusNotFound:
		code = "model_not_found"
	case status == http.StatusTooManyRequests:
		kind, code = "requests", "rate_limit_exceeded"
	case status >= 500:
		kind, code = "server_error", "server_error"
	}
	return object("message", message, "type", kind, "param", nil, "code", code)
}

// openaiItem is an output item.
type openaiItem struct {
	id, kind string
	part     llm.Part
	cut      bool // truncated
	raw      json.RawMessage
	phase    string // message phase
	secret   string // of reasoning
}

// items returns a reply's output items.
func (openaiProtocol) items(rep reply) []openaiItem {
	var items []openaiItem
	add := func(prefix, kind string, p llm.Part) {
		id := fmt.Sprintf("%s_%s%04d", prefix, rep.ID, len(items))
		items = append(items, openaiItem{id: id, kind: kind, part: p})
	}
	for _, p := range rep.Parts {
		switch p := p.(type) {
		case llm.Thinking:
			add("rs", "reasoning", p)
		case llm.Text:
			add("msg", "message", p)
			if it := &items[len(items)-1]; openaiPhase(rep) != "" {
				it.phase = openaiPhase(rep)
				it.id += it.phase[:1]
			}
		case llm.ToolCall:
			if p.Custom {
				add("ctc", "custom_tool_call", p)
			} else {
				add("fc", "function_call", p)
			}
		case llm.Opaque:
			if p.State.Dialect == openai.Name {
				add("", p.Kind, p)
				items[len(items)-1].raw = json.RawMessage(p.State.Data)
			}
		}
	}
	if n := len(items); n > 0 && (rep.Finish == llm.FinishLength || rep.Finish == llm.FinishContentFilter) {
		items[n-1].cut = true
	}
	encryptItems(items, rep.Model)
	return items
}

// encryptItems gives reasoning its encrypted content, from the last item to the first.
func encryptItems(items []openaiItem, model string) {
	rules := openaiRulesOf(model)
	var next wire.Value
	for i := len(items) - 1; i >= 0; i-- {
		if items[i].kind == "reasoning" && rules != nil {
			items[i].secret = openaiEncrypt(rules.name, next)
		}
		next = wire.Value(items[i].form(true))
	}
}

// form encodes the item as it starts, or whole.
func (it openaiItem) form(whole bool) json.RawMessage {
	if it.raw != nil {
		return it.raw
	}
	status := "in_progress"
	if whole && it.cut {
		status = "incomplete"
	} else if whole {
		status = "completed"
	}
	switch p := it.part.(type) {
	case llm.Thinking:
		return it.reasoning(p, whole)
	case llm.ToolCall:
		key, text := "arguments", ""
		if p.Custom {
			key = "input"
		}
		if whole {
			text = p.Arguments
		}
		return object("id", it.id, "type", it.kind, "status", status, key, text, "call_id", p.ID, "name", p.Name)
	case llm.Text:
		content := list()
		if whole {
			content = list(openaiText(p.Text))
		}
		pairs := []any{"id", it.id, "type", it.kind, "status", status, "content", content, "role", "assistant"}
		if it.phase != "" {
			pairs = append(pairs, "phase", it.phase)
		}
		return object(pairs...)
	}
	return json.RawMessage("{}")
}

// reasoning encodes a reasoning item. A state in the script is the whole item or its encrypted content.
func (it openaiItem) reasoning(p llm.Thinking, whole bool) json.RawMessage {
	secret := it.secret
	if secret == "" {
		secret = "gAAAAAB" + it.id
	}
	if v, err := wire.ParseJSON(p.State.Data); err == nil && v.Kind() == '{' && p.State.Dialect == openai.Name {
		return json.RawMessage(v)
	} else if p.State.Dialect == openai.Name && len(p.State.Data) > 0 {
		secret = string(p.State.Data)
	}
	summary := list()
	if whole && p.Text != "" {
		summary = list(object("type", "summary_text", "text", p.Text))
	}
	return object("id", it.id, "type", it.kind, "encrypted_content", secret, "summary", summary)
}

func openaiText(text string) json.RawMessage {
	return object("type", "output_text", "annotations", []string{}, "logprobs", []string{}, "text", text)
}

// response encodes the response with this status.
func (openaiProtocol) response(rep reply, status string, output ...json.RawMessage) json.RawMessage {
	var details, usage, failure any
	switch {
	case status == "incomplete" && rep.Finish == llm.FinishLength:
		details = object("reason", "max_output_tokens")
	case status == "incomplete":
		details = object("reason", string(rep.Finish))
	case status == "failed":
		failure = object("code", "server_error", "message", "The scripted model failed.")
	}
	if u := rep.Usage; status != "in_progress" {
		usage = object(
			"input_tokens", u.Input, "input_tokens_details", object("cached_tokens", u.CacheRead, "cache_write_tokens", u.CacheWrite),
			"output_tokens", u.Output, "output_tokens_details", object("reasoning_tokens", u.Reasoning),
			"total_tokens", u.Input+u.Output)
	}
	return object("id", "resp_"+rep.ID, "object", "response", "created_at", 1700000000, "status", status,
		"error", failure, "incomplete_details", details, "model", rep.Model, "output", list(output...), "usage", usage)
}

// status returns the response status for a finish reason.
func (openaiProtocol) status(reason llm.FinishReason) string {
	switch reason {
	case llm.FinishStop, llm.FinishToolCalls:
		return "completed"
	case llm.FinishError:
		return "failed"
	}
	return "incomplete"
}

func (o openaiProtocol) unary(rep reply) []byte {
	var output []json.RawMessage
	for _, it := range o.items(rep) {
		output = append(output, it.form(true))
	}
	return o.response(rep, o.status(rep.Finish), output...)
}

// openaiStream collects numbered events.
type openaiStream struct{ frames [][]byte }

func (s *openaiStream) event(kind string, pairs ...any) {
	pairs = append([]any{"type", kind, "sequence_number", len(s.frames)}, pairs...)
	s.frames = append(s.frames, frame(kind, object(pairs...)))
}

func (o openaiProtocol) stream(rep reply) [][]byte {
	var s openaiStream
	var output []json.RawMessage
	s.event("response.created", "response", o.response(rep, "in_progress"))
	s.event("response.in_progress", "response", o.response(rep, "in_progress"))
	for i, it := range o.items(rep) {
		s.event("response.output_item.added", "output_index", i, "item", it.form(false))
		s.content(i, it, rep.Chunk)
		s.event("response.output_item.done", "output_index", i, "item", it.form(true))
		output = append(output, it.form(true))
	}
	status := o.status(rep.Finish)
	s.event("response."+status, "response", o.response(rep, status, output...))
	return s.frames
}

// content writes the deltas of item i.
func (s *openaiStream) content(i int, it openaiItem, chunk int) {
	place := []any{"item_id", it.id, "output_index", i}
	grow := func(kind, text string, place []any) {
		for _, piece := range chunks(text, chunk) {
			s.event(kind, append(place[:len(place):len(place)], "delta", piece)...)
		}
	}
	switch p := it.part.(type) {
	case llm.Text:
		place = append(place, "content_index", 0)
		s.event("response.content_part.added", append(place, "part", openaiText(""))...)
		grow("response.output_text.delta", p.Text, append(place[:len(place):len(place)], "logprobs", []string{}))
		s.event("response.output_text.done", append(place, "logprobs", []string{}, "text", p.Text)...)
		s.event("response.content_part.done", append(place, "part", openaiText(p.Text))...)
	case llm.Thinking:
		if p.Text == "" {
			return
		}
		place = append(place, "summary_index", 0)
		s.event("response.reasoning_summary_part.added", append(place, "part", object("type", "summary_text", "text", ""))...)
		grow("response.reasoning_summary_text.delta", p.Text, place)
		s.event("response.reasoning_summary_text.done", append(place, "text", p.Text)...)
		s.event("response.reasoning_summary_part.done", append(place, "part", object("type", "summary_text", "text", p.Text))...)
	case llm.ToolCall:
		kind, key := "response.function_call_arguments", "arguments"
		if p.Custom {
			kind, key = "response.custom_tool_call_input", "input"
		}
		grow(kind+".delta", p.Arguments, place)
		if !it.cut {
			s.event(kind+".done", append(place, key, p.Arguments)...)
		}
	}
}
