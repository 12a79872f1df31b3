package step

import (
	"cmp"
	"slices"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// past is what undo needs to know: the inputs, what was before each, and what was taken back.
type past struct {
	inputs []input
	undone []undone
	begun  *event.Rewind // a restore of files that was interrupted
	left   string        // the state that the session left the workspace in last
}

// input is an input and how things were before it.
type input struct {
	seq        event.Seq
	before     place
	checkpoint string   // of the workspace; "" if it was not touched
	dir        string   // of the checkpoint
	left       []string // checkpoints of how the work on it left the workspace
	unkept     string   // why no checkpoint could be taken before it changed something
	chatBack   bool     // the conversation was taken back
	filesBack  bool
}

// undone is what an undo took back.
type undone struct {
	input       int
	chat, files bool
	with        place    // the conversation with the input
	whole       bool     // all files that the input changed were restored
	before      string   // a checkpoint of the workspace with its changes
	restored    string   // the one that it was restored to
	dir         string   // of the checkpoints
	paths       []string // the only ones that were restored; nil is all
}

// place is where a conversation stands.
type place struct {
	messages []llm.Message
	facts    facts
}

func (s *State) place() place { return place{slices.Clip(s.messages), s.facts} }

func (p *past) input(seq event.Seq, before place) {
	p.inputs = append(p.inputs, input{seq: seq, before: before})
	p.undone, p.begun = nil, nil
}

// checkpoint takes in that the workspace was kept: before the last input changes it, or after that. If
// its changes were taken back already, there will be others, and what was undone cannot be redone any
// more.
func (p *past) checkpoint(d event.Checkpoint) {
	n := len(p.inputs)
	if n == 0 {
		return
	}
	in := &p.inputs[n-1]
	switch {
	case d.After:
		in.left, p.left = []string{d.ID}, d.ID
		return
	case in.kept():
		return
	case d.Error != "":
		in.unkept = d.Error
		return
	case in.filesBack:
		in.filesBack, p.undone = false, nil
	}
	in.checkpoint, in.dir, in.left, in.unkept = d.ID, d.Dir, nil, ""
}

func (in *input) kept() bool { return in.checkpoint != "" && !in.filesBack }

// Kept reports whether there is a checkpoint that restores the files to how they were before the last input.
func (s *State) Kept() bool {
	n := len(s.past.inputs)
	return n > 0 && s.past.inputs[n-1].kept()
}

// Rewind is what takes an input back, or an undo.
type Rewind struct {
	event.Rewind
	// Left are checkpoints of states that the session left the workspace in: a file that is as in none
	// of them was changed by others since.
	Left []string
	// Unkept says why the files of the input cannot be restored, though it may have changed some.
	Unkept string
}

// Undo returns what takes the last input back of which something can be taken back, or could if its
// files had been kept: the conversation, the files or both, whatever of that is left. An undo or redo of
// files that was interrupted comes first.
func (s *State) Undo(chat, files bool) (r Rewind, ok bool) {
	p := &s.past
	if b := p.begun; b != nil && files {
		if b.Redo {
			return abandon(b), true
		}
		return again(b, chat), true
	}
	for _, in := range slices.Backward(p.inputs) {
		c, f := chat && !in.chatBack, files && !in.filesBack && in.checkpoint != ""
		unkept := files && !f && in.unkept != "" && !in.chatBack
		if !c && !f && !unkept {
			continue
		}
		r.Rewind = event.Rewind{Input: in.seq, Chat: c, Files: f}
		if f {
			r.Restored, r.Dir, r.Left = in.checkpoint, in.dir, in.left
		}
		if unkept {
			r.Unkept = in.unkept
		}
		return r, true
	}
	return r, false
}

// again is a rewind that was begun, to be done once more.
func again(b *event.Rewind, chat bool) Rewind {
	d := *b
	d.Before, d.Chat = "", b.Chat && chat
	return Rewind{Rewind: d, Left: []string{b.Before, b.Restored}}
}

// abandon brings back how the files were before a rewind that was begun.
func abandon(b *event.Rewind) Rewind {
	return Rewind{
		Rewind: event.Rewind{Input: b.Input, Redo: !b.Redo, Files: true, Restored: b.Before, Dir: b.Dir, Paths: b.Paths, Abandons: true},
		Left:   []string{b.Before, b.Restored},
	}
}

// RestoreFiles returns what restores files and leaves the conversation as it is: to a
// checkpoint in a directory, or with "" to how they were before the last input that changed any.
func (s *State) RestoreFiles(checkpoint, dir string, paths []string) (r Rewind, ok bool) {
	for _, in := range slices.Backward(s.past.inputs) {
		r.Rewind = event.Rewind{Input: in.seq, Files: true, Restored: in.checkpoint, Dir: in.dir, Paths: paths}
		switch {
		case checkpoint != "":
			r.Restored, r.Dir = checkpoint, dir
			if s.past.left != "" {
				r.Left = []string{s.past.left}
			}
			return r, true
		case in.kept():
			r.Left = in.left
			return r, true
		}
	}
	return Rewind{}, false
}

// Redo returns what takes the last undo back.
func (s *State) Redo() (r Rewind, ok bool) {
	p := &s.past
	if b := p.begun; b != nil {
		if b.Redo {
			return again(b, true), true
		}
		return abandon(b), true
	}
	n := len(p.undone)
	if n == 0 {
		return r, false
	}
	u := p.undone[n-1]
	r.Rewind = event.Rewind{Input: p.inputs[u.input].seq, Redo: true, Chat: u.chat, Files: u.files, Restored: u.before, Dir: u.dir, Paths: u.paths}
	r.Left = []string{u.restored}
	return r, true
}

// Resuming returns the rewind with the state to return to. If an interrupted restore is repeated, that is
// the state before the first attempt.
func (s *State) Resuming(d event.Rewind, before string) event.Rewind {
	d.Before = before
	b := s.past.begun
	if b != nil && !d.Abandons && b.Input == d.Input && b.Redo == d.Redo && b.Restored == d.Restored && slices.Equal(b.Paths, d.Paths) {
		d.Before = b.Before
	}
	return d
}

// start takes in that files are about to be restored.
func (p *past) start(d event.Rewind) {
	if !d.Abandons {
		p.begun = &d
	}
}

// rewound takes in that an input, or an undo, was taken back.
func (s *State) rewound(d event.Rewind) {
	p := &s.past
	if d.Files {
		p.begun, p.left = nil, d.Restored
	}
	if i := slices.IndexFunc(p.inputs, func(in input) bool { return in.seq == d.Input }); i >= 0 && !d.Abandons {
		s.takeBack(d, i)
	}
	if d.Chat {
		s.open, s.working, s.phase, s.last = false, false, Idle, Stop{Status: Done, Text: s.text}
		s.halt, s.calls, s.reply, s.notes, s.failure = nil, nil, nil, nil, nil
	}
}

func (s *State) takeBack(d event.Rewind, i int) {
	p := &s.past
	in := &p.inputs[i]
	if d.Redo {
		s.redone(d, in)
		return
	}
	whole := d.Files && len(d.Paths) == 0 && d.Restored == in.checkpoint
	p.undone = append(p.undone, undone{i, d.Chat, d.Files, s.place(), whole, d.Before, d.Restored, d.Dir, d.Paths})
	in.chatBack = in.chatBack || d.Chat
	in.filesBack = in.filesBack || whole
	if d.Chat {
		s.rewind(in.before)
	}
}

func (s *State) redone(d event.Rewind, in *input) {
	n := len(s.past.undone) - 1
	if n < 0 {
		return
	}
	u := s.past.undone[n]
	s.past.undone = s.past.undone[:n]
	if d.Chat {
		in.chatBack = false
		s.rewind(u.with)
	}
	if u.whole {
		// The state to go back to from here on has what was changed by hand between undo and redo.
		in.filesBack, in.checkpoint, in.left = false, cmp.Or(d.Before, in.checkpoint), []string{d.Restored}
	}
}

// rewind makes the conversation what it was, with the last answer of then and the instructions of
// today.
func (s *State) rewind(to place) {
	s.rewrite(to.messages, "")
	s.facts = to.facts
	if s.system != "" {
		s.setSystem(s.system)
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

// Input is an input of a session, as its records tell of it.
type Input struct {
	Seq        event.Seq // the number of its record
	Time       time.Time
	Prompt     string
	Checkpoint string // of the workspace before it changed anything; "" if it changed nothing
	Dir        string // of the checkpoints
	// ChatUndone and FilesUndone say what of it was taken back, and not redone.
	ChatUndone, FilesUndone bool
}

// Inputs lists what a session was given, from its records. Those that are not a UserInput, a
// Checkpoint or a Rewind may be left out.
func Inputs(records []event.Record) []Input {
	var list []Input
	s := newState("", NewTree())
	for _, r := range records {
		switch d := r.Data.(type) {
		case event.UserInput:
			if r.Agent == "" && d.Answers == "" {
				s.past.input(r.Seq, place{})
				list = append(list, Input{Seq: r.Seq, Time: r.Time, Prompt: d.Message.Text()})
			}
		case event.Checkpoint, event.Rewind:
			s.edit(d)
		}
	}
	for i, in := range s.past.inputs {
		list[i].Checkpoint, list[i].Dir, list[i].ChatUndone, list[i].FilesUndone = in.checkpoint, in.dir, in.chatBack, in.filesBack
	}
	return list
}
