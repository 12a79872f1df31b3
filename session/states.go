package session

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reins-agent/reins/checkpoint"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/lazy"
)

// State is a saved state of a session's files: before a prompt, or before an undo or redo. Where an argument names
// a state, it is a checkpoint or @ with a prompt number.
type State struct {
	Before      string    `json:"before,omitempty"` // "undo" or "redo"; "" for a prompt
	Input       event.Seq `json:"input"`            // the prompt's record, also for its undo or redo
	Time        time.Time `json:"time"`
	Prompt      string    `json:"prompt"`
	Checkpoint  string    `json:"checkpoint,omitempty"` // "" if the prompt changed no files
	ChatUndone  bool      `json:"chat_undone,omitempty"`
	FilesUndone bool      `json:"files_undone,omitempty"`
}

// States lists a session's prompts, and undone and redone file changes. The session may be running. Records that
// cannot be read are skipped.
func (m *Manager) States(ctx context.Context, name string) ([]State, error) {
	s, err := m.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	h, err := m.history(ctx, s)
	if err != nil {
		return nil, err
	}
	return h.states(), nil
}

var (
	checkpointID = lazy.Regexp(`^[0-9]{10}-[0-9a-f]{8}$`)
	promptNumber = lazy.Regexp(`^@?[0-9]{1,18}$`)
)

// ValidState reports whether a text can name a state: a checkpoint, or a prompt number with or without @.
func ValidState(s string) bool { return checkpointID().MatchString(s) || promptNumber().MatchString(s) }

// history holds the facts about prompts and files in a session's log.
type history struct {
	session event.Meta
	inputs  []event.Input
	rewinds []event.Record // a RewindStart for each undo and redo of files
	records []event.Record // what event.Replay needs
}

// history reads a session's log, which may be in use. It skips unreadable records, because the files do not depend
// on them.
func (m *Manager) history(ctx context.Context, s event.Meta) (*history, error) {
	h := &history{session: s}
	for r, err := range m.Store.Load(ctx, s.ID, 0) {
		if _, damaged := errors.AsType[*event.CorruptError](err); damaged {
			continue
		}
		if err != nil {
			return nil, err
		}
		h.add(r)
	}
	h.inputs = event.Inputs(h.records)
	return h, nil
}

func (h *history) add(r event.Record) {
	switch d := r.Data.(type) {
	case event.UserInput, event.Checkpoint, event.Rewind, event.SessionResume,
		event.ToolCallStart, event.ApprovalRequested, event.ApprovalResolved:
	case event.ToolCallEnd:
		r.Data = event.ToolCallEnd{ID: d.ID, Artifacts: d.Artifacts} // without its output
	case event.RewindStart:
		if n := len(h.rewinds); n == 0 || h.rewinds[n-1].Data.(event.RewindStart).Before != d.Before {
			h.rewinds = append(h.rewinds, r)
		}
	default:
		return
	}
	h.records = append(h.records, r)
}

func (h *history) states() []State {
	list := []State{}
	rewinds := h.rewinds
	for i, in := range h.inputs {
		list = append(list, State{
			Input:       in.Seq,
			Time:        in.Time,
			Prompt:      in.Prompt,
			Checkpoint:  in.Checkpoint,
			ChatUndone:  in.Undone.Chat,
			FilesUndone: in.Undone.Files,
		})
		for len(rewinds) > 0 && (i == len(h.inputs)-1 || rewinds[0].Seq < h.inputs[i+1].Seq) {
			list = append(list, h.rewound(rewinds[0]))
			rewinds = rewinds[1:]
		}
	}
	return list
}

// rewound describes the state before an undo or redo.
func (h *history) rewound(r event.Record) State {
	d := r.Data.(event.RewindStart)
	s := State{Before: "undo", Input: d.Input, Time: r.Time, Checkpoint: d.Before}
	if d.Redo {
		s.Before = "redo"
	}
	if i := h.input(d.Input); i >= 0 {
		s.Prompt = h.inputs[i].Prompt
	}
	return s
}

// input returns the index of the input in record seq, or -1.
func (h *history) input(seq event.Seq) int {
	return slices.IndexFunc(h.inputs, func(in event.Input) bool { return in.Seq == seq })
}

// find returns the checkpoint that a state names.
func (h *history) find(state string) (checkpoint.ID, error) {
	if checkpointID().MatchString(state) {
		return checkpoint.ID(state), nil
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(state, "@"), 10, 64)
	if err != nil {
		return "", &StateError{State: state}
	}
	i := h.input(event.Seq(n))
	if i >= 0 && h.inputs[i].Checkpoint != "" {
		return checkpoint.ID(h.inputs[i].Checkpoint), nil
	}
	return "", &StateError{State: state, Session: h.session.ID, Input: event.Seq(n), Prompt: i >= 0}
}

// last returns the checkpoint before the last prompt that changed files and was not undone, or "".
func (h *history) last() checkpoint.ID {
	for _, in := range slices.Backward(h.inputs) {
		if in.Checkpoint != "" && !in.Undone.Files {
			return checkpoint.ID(in.Checkpoint)
		}
	}
	return ""
}

// dir returns a checkpoint's directory, or the session directory if no prompt has recorded it.
func (h *history) dir(id checkpoint.ID) string {
	for _, in := range h.inputs {
		if in.Checkpoint == string(id) && in.Dir != "" {
			return in.Dir
		}
	}
	return h.session.Dir
}
