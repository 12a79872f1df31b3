package chat

import (
	"bytes"
	"strings"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/wire"
)

// reasons maps the finish reasons in use, in lower case, to ours.
var reasons = map[string]llm.FinishReason{
	"stop":                          llm.FinishStop,
	"eos":                           llm.FinishStop,
	"eos_token":                     llm.FinishStop,
	"end_turn":                      llm.FinishStop,
	"stop_sequence":                 llm.FinishStop,
	"complete":                      llm.FinishStop,
	"length":                        llm.FinishLength,
	"max_tokens":                    llm.FinishLength,
	"model_length":                  llm.FinishLength,
	"model_context_window_exceeded": llm.FinishLength,
	"tool_calls":                    llm.FinishToolCalls,
	"tool_call":                     llm.FinishToolCalls,
	"tool_use":                      llm.FinishToolCalls,
	"function_call":                 llm.FinishToolCalls,
	"content_filter":                llm.FinishContentFilter,
	"safety":                        llm.FinishContentFilter,
	"sensitive":                     llm.FinishContentFilter,
	"refusal":                       llm.FinishContentFilter,
	"error":                         llm.FinishError,
	"network_error":                 llm.FinishError,
}

// finish completes the answer. An answer that gives no reason has ended by itself, unless it
// breaks off within the arguments of a call.
func (s *stream) finish() error {
	if s.a.Done() {
		return nil
	}
	reason, known := reasons[strings.ToLower(s.raw)]
	switch {
	case s.raw == "":
		if s.broken() {
			return &llm.Error{Kind: llm.ErrIncomplete, Message: "the answer ended within the arguments of a tool call"}
		}
		reason = llm.FinishStop
	case !known:
		reason = llm.FinishOther
	}
	if reason == llm.FinishStop && len(s.calls) > 0 {
		reason = llm.FinishToolCalls
	}
	s.endText()
	s.finishThinking()
	if len(s.refusal) > 0 {
		data := wire.AppendString([]byte(`{"refusal":`), string(s.refusal))
		s.a.Part(llm.Opaque{Kind: "refusal", State: s.a.State(append(data, '}'))})
		reason = llm.FinishContentFilter
	}
	s.a.Usage(s.usage)
	s.a.Finish(reason, s.raw)
	return nil
}

// finishThinking closes the thinking with its state. Details without text are redacted thinking.
func (s *stream) finishThinking() {
	switch {
	case s.thinking >= 0:
		s.a.SetState(s.thinking, s.state())
		s.a.End(s.thinking)
		s.thinking = -1
	case len(s.details.items) > 0:
		s.a.Part(llm.Thinking{Redacted: true, State: s.state()})
	}
	s.details.items = nil
}

// broken reports whether the last call has the beginning of its arguments only.
func (s *stream) broken() bool {
	if len(s.calls) == 0 {
		return false
	}
	args := s.a.SoFar(s.calls[len(s.calls)-1].part)
	_, err := wire.ParseJSON([]byte(args))
	return args != "" && err != nil
}

// count takes in token counts. Some servers send them more than once, and empty at the end.
func (s *stream) count(v wire.Value) {
	u := usage(v)
	if u.Input == 0 && u.Output == 0 && s.usage.Raw != nil {
		return
	}
	u.Raw = bytes.Clone(v)
	s.usage = u
}

// Usage is what was counted last. Most servers count once, behind the end of the answer.
func (s *stream) Usage() (u llm.Usage, final bool) { return s.usage, s.finished && s.usage.Raw != nil }

// usage normalises token counts. Prompt tokens include the cached ones, except with servers where
// those are more than the prompt; completion tokens include the reasoning, except where only the
// total does.
func usage(v wire.Value) llm.Usage {
	var u llm.Usage
	var total int64
	for m := v.Members(); m.Next(); {
		n := m.Value
		switch string(m.Key) {
		case "prompt_tokens":
			u.Input = n.Int()
		case "completion_tokens":
			u.Output = n.Int()
		case "total_tokens":
			total = n.Int()
		case "prompt_tokens_details":
			u.CacheRead = max(u.CacheRead, n.Get("cached_tokens").Int())
			u.CacheWrite = max(u.CacheWrite, n.Get("cache_write_tokens").Int())
		case "completion_tokens_details":
			u.Reasoning = max(u.Reasoning, n.Get("reasoning_tokens").Int())
		case "prompt_cache_hit_tokens", "cached_tokens", "num_cached_tokens", "cache_read_input_tokens":
			u.CacheRead = max(u.CacheRead, n.Int())
		case "cache_creation_input_tokens":
			u.CacheWrite = max(u.CacheWrite, n.Int())
		case "reasoning_tokens":
			u.Reasoning = max(u.Reasoning, n.Int())
		}
	}
	if u.CacheRead+u.CacheWrite > u.Input {
		u.Input += u.CacheRead + u.CacheWrite
	}
	if u.Reasoning > 0 && total == u.Input+u.Output+u.Reasoning {
		u.Output += u.Reasoning
	}
	return u
}
