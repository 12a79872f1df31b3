package event

import (
	"cmp"
	"slices"
	"time"

	"github.com/reins-agent/reins/tool"
)

// Past holds what undo and redo need: a session's inputs, the state before each, and what was undone. It is a fold over
// records, like Spending. P is the caller's state, which is returned when the conversation is rewound.
type Past[P any] struct {
	inputs []pastInput[P]
	undone []undone[P]
	begun  *Rewind // an interrupted restore of files
	left   string  // checkpoint of the workspace as the session last left it
	calls  calls
}

type pastInput[P any] struct {
	seq        Seq
	before     P
	checkpoint string   // workspace checkpoint; "" if untouched
	dir        string   // checkpoint directory
	left       []string // workspace checkpoints after the work on the input
	unkept     string   // why there is no checkpoint although files may have changed
	undone     Parts
	traced     bool // calls record their writes
	wrote      []tool.Wrote
	untraced   tool.Untraced // why there may be more
}

type undone[P any] struct {
	input  int
	rewind Rewind
	with   P    // conversation with the input
	whole  bool // all files that the input changed were restored
}

// Parts selects what to undo.
type Parts struct {
	Chat  bool // the conversation
	Files bool // the workspace files
}

// Undoing is a rewind that is still to be performed.
type Undoing struct {
	Rewind
	// Left lists checkpoints for the states in which the session left the workspace. A file that matches none has since
	// been changed by others.
	Left []string
	// Traced means that the log records the session's changes: Wrote by path or, to revert a restore, Touched. Untraced
	// is why there may be more changes, and Since the first input during which others may have made changes, too.
	Traced   bool
	Wrote    map[string]Wrote
	Touched  []string
	Untraced tool.Untraced
	Since    Seq
	// Unkept is why the input's files cannot be restored, although it may have changed some.
	Unkept string
}

// Input records an input and the state before it. Nothing can be redone after that.
func (p *Past[P]) Input(seq Seq, before P) {
	p.inputs = append(p.inputs, pastInput[P]{seq: seq, before: before, untraced: p.calls.loose})
	p.undone, p.begun = nil, nil
}

// Apply records a Checkpoint, RewindStart or Rewind; other records are ignored. When the conversation is rewound, it
// returns the state to return to. now is the current state.
func (p *Past[P]) Apply(d Data, now P) (to P, rewound bool) {
	switch d := d.(type) {
	case Checkpoint:
		p.checkpoint(d)
	case RewindStart:
		if !d.Abandons {
			p.begun = &d.Rewind
		}
	case Rewind:
		return p.rewind(d, now)
	}
	return to, false
}

// checkpoint records a checkpoint before the last input changes files, or after it. If its changes were undone, there
// will be new changes, and the undo can no longer be redone.
func (p *Past[P]) checkpoint(d Checkpoint) {
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
	case in.undone.Files:
		in.undone.Files, p.undone = false, nil
	}
	in.checkpoint = d.ID
	in.dir = d.Dir
	in.left = nil
	in.unkept = ""
	in.traced = d.Traced
	in.wrote = nil
	in.untraced = p.calls.loose
}

func (in *pastInput[P]) kept() bool { return in.checkpoint != "" && !in.undone.Files }

// Kept reports whether there is a file checkpoint before the last input. It is settled if there is one, or if taking it
// failed.
func (p *Past[P]) Kept() (kept, settled bool) {
	n := len(p.inputs)
	if n == 0 {
		return false, false
	}
	in := &p.inputs[n-1]
	return in.kept(), in.kept() || in.unkept != ""
}

// Undo returns a rewind for the last input that can be undone, even if only in part or if its checkpoint is missing. An
// interrupted file restore comes first.
func (p *Past[P]) Undo(what Parts) (u Undoing, ok bool) {
	if b := p.begun; b != nil && what.Files {
		if b.Redo {
			return abandon(b), true
		}
		return again(b, what.Chat), true
	}
	for i, in := range slices.Backward(p.inputs) {
		chat, files := what.Chat && !in.undone.Chat, what.Files && in.kept()
		unkept := what.Files && !files && in.unkept != "" && !in.undone.Chat
		if !chat && !files && !unkept {
			continue
		}
		u.Rewind = Rewind{Input: in.seq, Chat: chat, Files: files}
		if files {
			u.Restored = in.checkpoint
			u.Dir = in.dir
			u.Left = in.left
			p.own(&u, i, false)
		}
		if unkept {
			u.Unkept = in.unkept
		}
		return u, true
	}
	return u, false
}

// again returns an interrupted rewind, to be repeated.
func again(b *Rewind, chat bool) Undoing {
	d := *b
	d.Before, d.Chat = "", b.Chat && chat
	return Undoing{Rewind: d, Left: []string{b.Before, b.Restored}, Traced: b.Traced, Touched: b.Touched}
}

// abandon returns a rewind that undoes an interrupted file restore.
func abandon(b *Rewind) Undoing {
	return Undoing{
		Rewind: Rewind{
			Input:    b.Input,
			Redo:     !b.Redo,
			Files:    true,
			Restored: b.Before,
			Dir:      b.Dir,
			Paths:    b.Paths,
			Abandons: true,
		},
		Left: []string{b.Before, b.Restored}, Traced: b.Traced, Touched: b.Touched,
	}
}

// RestoreFiles returns a rewind that restores files and keeps the conversation: to a checkpoint in a directory or, with
// "", to the state before the last input that changed files.
func (p *Past[P]) RestoreFiles(checkpoint, dir string, paths []string) (u Undoing, ok bool) {
	for i, in := range slices.Backward(p.inputs) {
		u.Rewind = Rewind{
			Input:    in.seq,
			Files:    true,
			Restored: in.checkpoint,
			Dir:      in.dir,
			Paths:    paths,
		}
		switch {
		case checkpoint != "":
			u.Restored, u.Dir = checkpoint, dir
			if p.left != "" {
				u.Left = []string{p.left}
			}
			u.Traced = slices.ContainsFunc(p.inputs, func(in pastInput[P]) bool { return in.traced })
			u.Wrote, u.Since = map[string]Wrote{}, in.seq
			p.own(&u, p.at(checkpoint), true)
			return u, true
		case in.kept():
			u.Left = in.left
			p.own(&u, i, false)
			return u, true
		}
	}
	return Undoing{}, false
}

// Redo returns the rewind that reverts the last undo.
func (p *Past[P]) Redo() (u Undoing, ok bool) {
	if b := p.begun; b != nil {
		if b.Redo {
			return again(b, true), true
		}
		return abandon(b), true
	}
	n := len(p.undone)
	if n == 0 {
		return u, false
	}
	d := p.undone[n-1].rewind
	u.Rewind = Rewind{
		Input:    d.Input,
		Redo:     true,
		Chat:     d.Chat,
		Files:    d.Files,
		Restored: d.Before,
		Dir:      d.Dir,
		Paths:    d.Paths,
	}
	u.Left = []string{d.Restored}
	u.Traced = d.Traced
	u.Touched = d.Touched
	return u, true
}

// Resuming returns the rewind with the checkpoint to return to. If an interrupted restore is repeated, this is the
// checkpoint from before the first attempt.
func (p *Past[P]) Resuming(d Rewind, before string) Rewind {
	d.Before = before
	b := p.begun
	if b != nil && !d.Abandons && b.Input == d.Input && b.Redo == d.Redo && b.Restored == d.Restored && slices.Equal(b.Paths, d.Paths) {
		d.Before, d.Touched = b.Before, b.Touched
	}
	return d
}

func (p *Past[P]) rewind(d Rewind, now P) (to P, rewound bool) {
	if d.Files {
		p.begun, p.left = nil, d.Restored
	}
	i := slices.IndexFunc(p.inputs, func(in pastInput[P]) bool { return in.seq == d.Input })
	if i < 0 || d.Abandons {
		return to, false
	}
	in := &p.inputs[i]
	if d.Redo {
		return p.redo(d, in)
	}
	whole := d.Files && len(d.Paths) == 0 && d.Restored == in.checkpoint
	p.undone = append(p.undone, undone[P]{i, d, now, whole})
	in.undone.Chat = in.undone.Chat || d.Chat
	in.undone.Files = in.undone.Files || whole
	return in.before, d.Chat
}

func (p *Past[P]) redo(d Rewind, in *pastInput[P]) (to P, rewound bool) {
	n := len(p.undone) - 1
	if n < 0 {
		return to, false
	}
	u := p.undone[n]
	p.undone = p.undone[:n]
	if d.Chat {
		in.undone.Chat = false
	}
	if u.whole {
		// The state to return to now includes manual changes between undo and redo.
		in.undone.Files = false
		in.checkpoint = cmp.Or(d.Before, in.checkpoint)
		in.left = []string{d.Restored}
	}
	return u.with, d.Chat
}

// Input is a session input.
type Input struct {
	Seq        Seq // record number
	Time       time.Time
	Prompt     string
	Checkpoint string // workspace checkpoint before it changed anything; "" if it changed nothing
	Dir        string // checkpoint directory
	Undone     Parts  // undone and not redone
}

// Inputs lists a session's inputs from its records. It needs only UserInput, Checkpoint and Rewind records.
func Inputs(records []Record) []Input {
	var list []Input
	for _, r := range records {
		if d, ok := begins(r); ok {
			list = append(list, Input{Seq: r.Seq, Time: r.Time, Prompt: d.Message.Text()})
		}
	}
	for i, in := range Replay(records).inputs {
		list[i].Checkpoint = in.checkpoint
		list[i].Dir = in.dir
		list[i].Undone = in.undone
	}
	return list
}

// begins returns an input of the root agent that is not an answer.
func begins(r Record) (d UserInput, ok bool) {
	d, ok = r.Data.(UserInput)
	return d, ok && r.Agent == "" && d.Answers == ""
}

// Replay returns the past of a saved session. It needs only UserInput, Checkpoint, RewindStart, Rewind, SessionResume and
// tool call records.
func Replay(records []Record) *Past[struct{}] {
	p := &Past[struct{}]{}
	for _, r := range records {
		if _, ok := begins(r); ok {
			p.Input(r.Seq, struct{}{})
			continue
		}
		p.Apply(r.Data, struct{}{})
		p.Call(r)
	}
	return p
}

// LastFiles returns the file restore that Undo would perform, apart from an interrupted one. ok is false if there is none.
func (p *Past[P]) LastFiles() (u Undoing, ok bool) {
	begun := p.begun
	p.begun = nil
	u, ok = p.Undo(Parts{Files: true})
	p.begun = begun
	return u, ok
}
