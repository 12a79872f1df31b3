package step

import (
	"slices"

	"github.com/reins-agent/reins/compact"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
)

// place is a point that a conversation can be rewound to.
type place struct {
	messages []llm.Message
	told     string // system prompt in them
	facts    compact.Facts
	mode     policy.Mode
	board    board
}

func (s *State) place() place {
	return place{slices.Clip(s.messages), s.told, s.facts, s.tree.Mode(), s.tree.board.snapshot()}
}

// Undo returns the rewind that undoes the last input; see [event.Past.Undo].
func (s *State) Undo(what event.Parts) (event.Undoing, bool) { return s.past.Undo(what) }

// Redo returns the rewind that reverts the last undo.
func (s *State) Redo() (event.Undoing, bool) { return s.past.Redo() }

// RestoreFiles returns the rewind that restores files only; see [event.Past.RestoreFiles].
func (s *State) RestoreFiles(checkpoint, dir string, paths []string) (event.Undoing, bool) {
	return s.past.RestoreFiles(checkpoint, dir, paths)
}

// Resuming completes a rewind; see [event.Past.Resuming].
func (s *State) Resuming(d event.Rewind, before string) event.Rewind {
	return s.past.Resuming(d, before)
}

// Kept reports whether there is a file checkpoint before the last input; see [event.Past.Kept].
func (s *State) Kept() (kept, settled bool) { return s.past.Kept() }

// rewound applies an undo or a redo.
func (s *State) rewound(d event.Rewind) {
	to, rewound := s.past.Apply(d, s.place())
	if rewound {
		s.rewind(to)
	}
	if d.Chat {
		s.open = false
		s.working = false
		s.phase = event.StateIdle
		s.last = Stop{Status: event.StatusDone, Text: s.text}
		s.halt = nil
		s.calls = nil
		s.reply = nil
		s.notes = nil
		s.failure = nil
	}
}

// rewind restores the conversation and its last answer at that point, but keeps the current system prompt.
func (s *State) rewind(to place) {
	s.rewrite(to.messages, "")
	s.facts, s.told = to.facts, to.told
	if s.path == "" && to.mode == policy.ModePlan { // an undo may make the mode stricter, but not milder
		s.tree.mode = to.mode
	}
	s.tree.board.restore(to.board)
	if s.system != "" {
		s.setSystem(s.system, false)
	}
	s.rewritten = "the conversation was rewound"
	s.text, s.question = "", ""
	for _, msg := range slices.Backward(to.messages) {
		if msg.Role == llm.RoleAssistant {
			s.text = msg.Text()
			return
		}
	}
}
