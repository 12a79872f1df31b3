package step

import (
	"fmt"

	"github.com/reins-agent/reins/compact"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// read is what the provider has read for the last answer.
type read struct {
	provider, model, tools string
	input                  int64
	warned                 bool // for this input, that it was not everything
}

// smallestWindow is less than the window of any model that is useful with tools, in tokens.
const smallestWindow = 1000

// truncated reports whether the server dropped part of the conversation without an error: it read exactly its window,
// much less than the text needs, or less than for the request before, which was a part of this one. Thinking does not
// count: providers drop that of earlier turns.
func (s *State) truncated(u llm.Usage, sent compact.Meter) bool {
	last := s.read
	s.read = read{s.sent.Provider, s.sent.Model, s.sent.Tools, u.Input, last.warned}
	least, thinking := sent.Least()
	switch {
	case u.Input <= 0:
		s.read.input = last.input
		return false
	case u.Input == s.Window(), u.Input < least && least > smallestWindow:
		return true
	}
	same := last.provider == s.read.provider && last.model == s.read.model && last.tools == s.read.tools
	return same && !thinking && last.input > smallestWindow && u.Input < last.input*9/10
}

// count applies the provider's count of the conversation, and warns if it has not read all that was sent.
func (s *State) count(u llm.Usage, sent compact.Meter) {
	if s.truncated(u, sent) {
		if !s.read.warned {
			s.notes = append(s.notes, event.Warning{Code: event.WarningTruncated, Message: fmt.Sprintf(
				"The server read only %d tokens and dropped the rest of the conversation without an error. Raise its context window; for Ollama, with OLLAMA_CONTEXT_LENGTH or num_ctx.", u.Input)})
		}
		u.Input = max(u.Input, sent.Estimate())
	}
	s.meter.Reported(u)
}
