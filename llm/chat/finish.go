package chat

import (
	"bytes"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// finishReason returns the reason for a server's word, in any case.
func finishReason(raw string) llm.FinishReason {
	switch strings.ToLower(raw) {
	case "stop", "eos", "eos_token", "end_turn", "stop_sequence", "complete":
		return llm.FinishStop
	case "length", "max_tokens", "model_length", "model_context_window_exceeded":
		return llm.FinishLength
	case "tool_calls", "tool_call", "tool_use", "function_call":
		return llm.FinishToolCalls
	case "content_filter", "safety", "sensitive", "refusal":
		return llm.FinishContentFilter
	case "error", "network_error":
		return llm.FinishError
	}
	return llm.FinishOther
}

// finish completes the answer. An answer without a reason has stopped, unless it ends within call arguments.
func (s *stream) finish() error {
	if s.a.Done() {
		return nil
	}
	reason := finishReason(s.raw)
	if s.raw == "" {
		if s.broken() {
			return &llm.Error{Kind: llm.ErrIncomplete, Message: "the answer ended within the arguments of a tool call"}
		}
		reason = llm.FinishStop
	}
	if reason == llm.FinishStop && len(s.calls) > 0 {
		reason = llm.FinishToolCalls
	}
	s.flush()
	s.endText()
	s.finishThinking()
	if len(s.refusal) > 0 {
		data := wire.AppendString([]byte(`{"refusal":`), string(s.refusal))
		s.a.Part(llm.Opaque{Kind: "refusal", State: s.a.State(append(data, '}'))})
		reason = llm.FinishContentFilter
	}
	s.usage.Tier = s.tier
	s.a.Usage(s.usage)
	s.a.Finish(reason, s.raw)
	return nil
}

// finishThinking ends the thinking with its state. Details without text are redacted thinking.
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

// broken reports whether the last call's arguments are incomplete.
func (s *stream) broken() bool {
	if len(s.calls) == 0 {
		return false
	}
	args := s.a.SoFar(s.calls[len(s.calls)-1].part)
	_, err := wire.ParseJSON([]byte(args))
	return args != "" && err != nil
}

// count records token counts. Some servers send them more than once, and zeros at the end.
func (s *stream) count(v wire.Value) {
	u := usage(v)
	if u.Input == 0 && u.Output == 0 && s.usage.Raw != nil {
		return
	}
	u.Raw = bytes.Clone(v)
	s.usage = u
}

// Usage returns the latest token counts. Most servers send them once, after the answer.
func (s *stream) Usage() (u llm.Usage, final bool) { return s.usage, s.finished && s.usage.Raw != nil }

// usage normalizes token counts. Prompt tokens include cached tokens, unless those exceed the prompt. Completion tokens
// include reasoning, unless only the total does.
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
