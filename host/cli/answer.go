package cli

import (
	"encoding/json"
	"errors"

	"github.com/reins-agent/reins/llm"
)

// answerJSON is a model's answer as JSON. Its keys are documented and stable.
type answerJSON struct {
	Outcome   string         `json:"outcome"` // "ok" or "error"
	ID        string         `json:"id"`
	Model     string         `json:"model"`
	Text      string         `json:"text"`
	Thinking  string         `json:"thinking"`
	ToolCalls []toolCallJSON `json:"tool_calls"`
	Finish    finishJSON     `json:"finish"`
	Usage     usageJSON      `json:"usage"`
	Error     *errorJSON     `json:"error"`
}

type toolCallJSON struct {
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Arguments    json.RawMessage `json:"arguments"` // null if invalid
	RawArguments string          `json:"raw_arguments"`
}

type finishJSON struct {
	Reason llm.FinishReason `json:"reason"`
	Raw    string           `json:"raw"`
}

type usageJSON struct {
	Input      int64           `json:"input_tokens"`
	Output     int64           `json:"output_tokens"`
	Reasoning  int64           `json:"reasoning_tokens"`
	CacheRead  int64           `json:"cache_read_tokens"`
	CacheWrite int64           `json:"cache_write_tokens"`
	Raw        json.RawMessage `json:"raw"`
}

type errorJSON struct {
	Kind         llm.ErrorKind `json:"kind"`
	Status       int           `json:"status"`
	Code         string        `json:"code"`
	Message      string        `json:"message"`
	Retryable    bool          `json:"retryable"`
	RetryAfterMS int64         `json:"retry_after_ms"`
}

func newAnswerJSON(resp *llm.Response, err error) answerJSON {
	a := answerJSON{
		Outcome:   "ok",
		ID:        resp.ID,
		Model:     resp.Model,
		Text:      resp.Text(),
		Thinking:  resp.Thinking(),
		ToolCalls: []toolCallJSON{},
		Finish:    finishJSON(resp.Finish),
		Usage: usageJSON{resp.Usage.Input, resp.Usage.Output, resp.Usage.Reasoning,
			resp.Usage.CacheRead, resp.Usage.CacheWrite, resp.Usage.Raw},
	}
	for _, c := range resp.ToolCalls() {
		a.ToolCalls = append(a.ToolCalls, newToolCallJSON(c))
	}
	if err != nil {
		a.Outcome = "error"
		a.Error = newErrorJSON(err)
	}
	return a
}

func newToolCallJSON(c llm.ToolCall) toolCallJSON {
	j := toolCallJSON{ID: c.ID, Name: c.Name, RawArguments: c.Arguments}
	switch {
	case c.Arguments == "":
		j.Arguments = json.RawMessage("{}")
	case json.Valid([]byte(c.Arguments)):
		j.Arguments = json.RawMessage(c.Arguments)
	}
	return j
}

func newErrorJSON(err error) *errorJSON {
	var e *llm.Error
	if !errors.As(err, &e) {
		return &errorJSON{Kind: llm.ErrUnknown, Message: err.Error()}
	}
	return &errorJSON{e.Kind, e.Status, e.Code, e.Message, e.Retryable(), e.RetryAfter.Milliseconds()}
}

// eventJSON returns a stream event for printing as JSON.
func eventJSON(ev llm.StreamEvent) any {
	type object = map[string]any
	switch ev := ev.(type) {
	case llm.Start:
		return object{"type": "start", "id": ev.ID, "model": ev.Model}
	case llm.TextStart:
		return object{"type": "text_start", "index": ev.Index}
	case llm.TextDelta:
		return object{"type": "text_delta", "index": ev.Index, "text": ev.Text}
	case llm.TextEnd:
		return object{"type": "text_end", "index": ev.Index, "text": ev.Text.Text}
	case llm.ThinkingStart:
		return object{"type": "thinking_start", "index": ev.Index}
	case llm.ThinkingDelta:
		return object{"type": "thinking_delta", "index": ev.Index, "text": ev.Text}
	case llm.ThinkingEnd:
		return object{"type": "thinking_end", "index": ev.Index, "text": ev.Thinking.Text}
	case llm.ToolCallStart:
		return object{"type": "tool_call_start", "index": ev.Index, "id": ev.ID, "name": ev.Name}
	case llm.ToolCallDelta:
		return object{"type": "tool_call_delta", "index": ev.Index, "arguments": ev.Arguments}
	case llm.ToolCallEnd:
		return object{"type": "tool_call_end", "index": ev.Index, "tool_call": newToolCallJSON(ev.Call)}
	case llm.PartDone:
		part, _ := llm.MarshalPart(ev.Part)
		return object{"type": "part", "index": ev.Index, "part": json.RawMessage(part)}
	case llm.Raw:
		return object{"type": "raw", "event": ev.Type, "data": string(ev.Data)}
	case llm.Retry:
		return object{"type": "retry", "attempt": ev.Attempt, "max": ev.Max, "delay_ms": ev.Delay.Milliseconds(), "discard": ev.Discard, "error": newErrorJSON(ev.Err)}
	case llm.Finish:
		return object{"type": "finish", "response": newAnswerJSON(ev.Response, nil)}
	}
	return object{"type": "unknown"}
}
