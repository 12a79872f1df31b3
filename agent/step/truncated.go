package step

import (
	"fmt"

	"github.com/reins-agent/reins/compact"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// read tells how much the provider has read for the last answer.
type read struct {
	provider, model, tools string
	input, least           int64
	warned                 bool // a truncation was reported for this input
	compactions            int  // since the last request that was read completely
}

const (
	// smallestWindow is smaller than any useful model's window, in tokens.
	smallestWindow = 1000
	// certainGrowth is a growth in tokens that shows in every provider's count.
	certainGrowth = 20
	// maxCompactions limits how often a conversation is compacted while the server still truncates it.
	maxCompactions = 2
)

// truncated reports whether the server dropped part of the conversation without an error: it read exactly its window,
// less than the minimum for the text, or just as much as or much less than for the previous request, which this one
// continues. Thinking does not count: providers drop thinking from earlier turns.
func (s *State) truncated(u llm.Usage, sent compact.Meter) bool {
	last := s.read
	least, thinking := sent.Least()
	s.read = read{s.sent.Provider, s.sent.Model, s.sent.Tools, u.Input, least, last.warned, last.compactions}
	if u.Input == s.Window() || u.Input < least && least > smallestWindow {
		return true
	}
	same := last.provider == s.read.provider && last.model == s.read.model && last.tools == s.read.tools
	stuck := u.Input == last.input && least > last.least+certainGrowth
	return same && !thinking && last.input > smallestWindow && (stuck || u.Input < last.input*9/10)
}

// count applies the provider's token count. If the provider has not read everything that was sent, it adds a warning,
// or an error if compaction did not help and the model wants to continue.
func (s *State) count(u llm.Usage, sent compact.Meter, calls []llm.ToolCall) {
	switch {
	case u.Input <= 0:
		return
	case !s.truncated(u, sent):
		s.read.compactions = 0
	case s.read.compactions >= maxCompactions && len(calls) > 0:
		s.notes = append(s.notes, event.Error{Class: string(llm.ErrContextLength), Message: fmt.Sprintf(
			"the server reads only %d tokens, which is too little for the instructions, the tools and the task; raise its context window",
			u.Input,
		)})
	default:
		if !s.read.warned {
			s.notes = append(s.notes, event.Warning{Code: event.WarningTruncated, Message: fmt.Sprintf(
				"The server read only %d tokens and dropped the rest of the conversation without an error. Raise its context "+
					"window; for Ollama, with OLLAMA_CONTEXT_LENGTH or num_ctx.",
				u.Input,
			)})
		}
		u.Input = max(u.Input, sent.Estimate())
	}
	s.meter.Reported(u)
}
