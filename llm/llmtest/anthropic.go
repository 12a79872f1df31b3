package llmtest

import (
	"encoding/base64"
	"encoding/json"
	"net/http"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/anthropic"
)

// anthropicProtocol is the server side of the Messages API.
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

// examine verifies signatures and the input length.
func (anthropicProtocol) examine(c ServerConfig, r *http.Request, body []byte) (findings, error) {
	return claudeExamine(c, wire.Value(body).Get("model").Str(), claudeBetas(r), body)
}

func claudeExamine(c ServerConfig, model string, betas betaSet, body []byte) (findings, error) {
	v := wire.Value(body)
	found := findings{compact: v.Get("compaction").Exists()}
	limit := int64(0)
	if rules := claudeRulesOf(model); rules != nil {
		limit = rules.input
	}
	if err := tooLong(c, limit, body, "prompt is too long: %d tokens > %d maximum"); err != nil {
		return found, err
	}
	var err error
	found.thread, err = claudeThreadOf(c, model, betas, v)
	return found, err
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

// answer returns a reply's blocks and stop reason. If the request forces a tool, a JSON text becomes that tool's input.
func (p anthropicProtocol) answer(rep reply) (blocks []anthropicBlock, stop string) {
	finish := rep.Finish
	thread := rep.found.thread.fork()
	add := func(b anthropicBlock) {
		blocks = append(blocks, b)
		if thread != nil {
			thread.add("assistant", wire.Value(b.whole))
		}
	}
	forced := ""
	if c := rep.Request.ToolChoice; c.Mode == llm.ToolNamed && len(llm.Message{Parts: rep.Parts}.ToolCalls()) == 0 {
		forced = c.Name
	}
	for _, p := range rep.Parts {
		switch p := p.(type) {
		case llm.Text:
			if block := wire.Value(p.State.Data); finish == llm.FinishCompaction && thread != nil {
				blocks = append(blocks, thread.compact(block.Get("content")))
				continue
			}
			if forced != "" && isObject(p.Text) {
				add(anthropicCall("toolu_"+rep.ID, forced, p.Text, rep.Chunk))
				finish = llm.FinishToolCalls
				continue
			}
			add(anthropicBlock{
				whole:  object("type", "text", "text", p.Text),
				start:  object("type", "text", "text", ""),
				deltas: anthropicDeltas("text_delta", "text", chunks(p.Text, rep.Chunk)),
			})
		case llm.Thinking:
			blocks = append(blocks, anthropicThinking(p, rep.Chunk, thread))
		case llm.ToolCall:
			add(anthropicCall(p.ID, p.Name, p.Arguments, rep.Chunk))
		case llm.Opaque:
			data := json.RawMessage(p.State.Data)
			add(anthropicBlock{whole: data, start: data})
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

// anthropicThinking signs thinking for a conversation. Without one, or if the model does not bind thinking, the state
// in the script is the signature if there is one.
func anthropicThinking(t llm.Thinking, chunk int, thread *claudeThread) anthropicBlock {
	text, kind := t.Text, "thinking"
	if thread != nil && thread.hidden {
		text = ""
	}
	if t.Redacted {
		text, kind = "", "redacted_thinking"
	}
	signature := scriptedSignature(t.State)
	switch {
	case thread != nil && (signature == "" || thread.rules.bound):
		signature = thread.sign(kind, text)
	case signature == "":
		signature = base64.StdEncoding.EncodeToString([]byte("signature of " + t.Text))
	}
	if t.Redacted {
		block := object("type", kind, "data", signature)
		return anthropicBlock{whole: block, start: block}
	}
	deltas := anthropicDeltas("thinking_delta", "thinking", chunks(text, chunk))
	if thread != nil && thread.hidden && thread.betas.has("thinking-token-count-2026-05-13") {
		for _, s := range chunks(t.Text, chunk) {
			deltas = append(deltas, object("type", "thinking_delta", "thinking", "", "estimated_tokens", (len(s)+3)/4))
		}
	}
	return anthropicBlock{
		whole:  object("type", kind, "thinking", text, "signature", signature),
		start:  object("type", kind, "thinking", "", "signature", ""),
		deltas: append(deltas, object("type", "signature_delta", "signature", signature)),
	}
}

// scriptedSignature returns the signature in a state, or "".
func scriptedSignature(s llm.State) string {
	if text := string(s.Data); !isObject(text) {
		return text
	}
	v := wire.Value(s.Data)
	return v.Get("signature").Str() + v.Get("data").Str()
}

// message encodes a message: a whole answer, or a stream's start if stop is nil.
func (p anthropicProtocol) message(rep reply, blocks []anthropicBlock, stop any) json.RawMessage {
	var content []json.RawMessage
	for _, b := range blocks {
		content = append(content, b.whole)
	}
	u := rep.Usage
	if stop == nil {
		u.Output = 1
	}
	pairs := []any{
		"id", "msg_" + rep.ID, "type", "message", "role", "assistant", "model", rep.Model, "content", list(content...),
		"stop_reason", stop, "stop_sequence", nil, "usage", anthropicUsage(u, rep),
	}
	if t := rep.found.thread; t != nil && t.betas.has("thinking-binding-controls-2026-08-01") {
		pairs = append(pairs, "input_transformations", t.transformations())
	}
	if details := stopDetails(rep); stop != nil && details != nil {
		pairs = append(pairs, "stop_details", details)
	}
	return object(pairs...)
}

// stopDetails explains a refusal, if the script does.
func stopDetails(rep reply) json.RawMessage {
	if rep.Detail == "" || rep.Finish != llm.FinishContentFilter {
		return nil
	}
	return object("type", "refusal", "category", rep.Detail, "explanation", "The scripted model refuses this.")
}

// anthropicUsage encodes token counts. Unlike llm.Usage, input_tokens excludes cached input.
func anthropicUsage(u llm.Usage, rep reply) json.RawMessage {
	if u.Tier == "" && rep.found.thread != nil {
		u.Tier = "standard"
	}
	pairs := []any{
		"input_tokens", u.Input - u.CacheRead - u.CacheWrite, "cache_creation_input_tokens", u.CacheWrite,
		"cache_read_input_tokens", u.CacheRead, "output_tokens", u.Output,
	}
	if u.Tier != "" {
		pairs = append(pairs, "service_tier", u.Tier)
	}
	return object(pairs...)
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
	delta := []any{"stop_reason", stop, "stop_sequence", nil}
	if details := stopDetails(rep); details != nil {
		delta = append(delta, "stop_details", details)
	}
	event("message_delta", "delta", object(delta...), "usage", anthropicUsage(rep.Usage, rep))
	event("message_stop")
	return frames
}
