package agent

import (
	"slices"
	"sync"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// past is what undo needs to know: the inputs, what was before each, and what was taken back.
type past struct {
	mu     sync.Mutex // a subagent may be the first to change something
	inputs []input
	undone []undone
	begun  *event.Rewind // files were being set back, and that did not come to its end

	latestLeft string // the state that the session left the workspace in last
}

// input is an input and how things were before it.
type input struct {
	seq        event.Seq
	before     place
	checkpoint string   // of the workspace; "" if it was not touched
	dir        string   // of the checkpoint
	left       []string // checkpoints of how the work on it left the workspace
	unkept     string   // why there is no checkpoint, though it may have changed something
	chatBack   bool     // the conversation was taken back
	filesBack  bool
}

// undone is what an undo took back.
type undone struct {
	input       int
	chat, files bool
	with        place    // the conversation with the input
	whole       bool     // all files that the input changed were set back
	before      string   // a checkpoint of the workspace with its changes
	restored    string   // the one that it was set to
	dir         string   // of the checkpoint
	paths       []string // the only ones that were set back; nil is all
}

// place is where a conversation stands.
type place struct {
	messages []llm.Message
	facts    facts
}

func (m *machine) place() place { return place{slices.Clip(m.messages), m.facts} }

func (p *past) input(seq event.Seq, before place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inputs = append(p.inputs, input{seq: seq, before: before})
	p.undone, p.begun = nil, nil
}

// checkpoint takes in that the workspace was kept before the last input changes it. If its changes
// were taken back already, there will be others, and what was undone cannot be redone any more.
func (p *past) checkpoint(d event.Checkpoint) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.inputs)
	if n == 0 {
		return
	}
	in := &p.inputs[n-1]
	switch {
	case d.After:
		in.left, p.latestLeft = []string{d.ID}, d.ID
		return
	case in.kept():
		return
	case d.Error != "":
		in.unkept = d.Error
		return
	}
	if in.filesBack {
		in.filesBack, p.undone = false, nil
	}
	in.checkpoint, in.dir, in.left, in.unkept = d.ID, d.Dir, nil, ""
}

// kept reports whether there is a checkpoint that brings back how it was before the last input.
func (p *past) kept() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.inputs)
	return n > 0 && p.inputs[n-1].kept()
}

func (in *input) kept() bool { return in.checkpoint != "" && !in.filesBack }

// last finds the last input of which something can be taken back, or could if its files had been
// kept, and narrows down to what can.
func (p *past) last(chat, files bool) (in input, c, f, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, in := range slices.Backward(p.inputs) {
		c, f := chat && !in.chatBack, files && !in.filesBack && in.checkpoint != ""
		if c || f || files && in.unkept != "" && !in.chatBack {
			return in, c, f, true
		}
	}
	return input{}, false, false, false
}

// latest is the last input, or the last one that changed files which were not set back, and how the
// workspace was left.
func (p *past) latest(changed bool) (in input, left []string, ok bool) {
	if changed {
		in, _, f, ok := p.last(false, true)
		return in, in.left, ok && f
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.latestLeft != "" {
		left = []string{p.latestLeft}
	}
	if n := len(p.inputs); n > 0 {
		return p.inputs[n-1], left, true
	}
	return input{}, nil, false
}

// start takes in that files are about to be set back. When that is done for the second time, because
// the first one did not come to its end, the state to come back to is that of the first.
func (p *past) start(d *event.Rewind) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d.Abandons {
		return
	}
	if b := p.begun; b != nil && b.Input == d.Input && b.Redo == d.Redo && b.Restored == d.Restored && slices.Equal(b.Paths, d.Paths) {
		d.Before = b.Before
	}
	begun := *d
	p.begun = &begun
}

// resumes gives an undo that was begun and did not come to its end, to go on with as far as it is
// wanted now.
func (p *past) resumes(chat bool) (d event.Rewind, left []string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.begun
	if b == nil || b.Redo {
		return d, nil, false
	}
	return event.Rewind{Input: b.Input, Chat: b.Chat && chat, Files: true, Restored: b.Restored, Dir: b.Dir, Paths: b.Paths},
		[]string{b.Before, b.Restored}, true
}

// unfinished is what takes a redo back, or an undo, that was begun and did not come to its end.
func (p *past) unfinished(redo bool) (d event.Rewind, left []string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.begun
	if b == nil || b.Redo != redo {
		return d, nil, false
	}
	return event.Rewind{Input: b.Input, Redo: !b.Redo, Files: true, Restored: b.Before, Dir: b.Dir, Paths: b.Paths, Abandons: true},
		[]string{b.Before, b.Restored}, true
}

// redoable is what takes the last undo back, if there is one.
func (p *past) redoable() (d event.Rewind, left []string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.undone)
	if n == 0 {
		return d, nil, false
	}
	u := p.undone[n-1]
	return event.Rewind{Input: p.inputs[u.input].seq, Redo: true, Chat: u.chat, Files: u.files, Restored: u.before, Dir: u.dir, Paths: u.paths},
		[]string{u.restored}, true
}

// rewind takes in that an input, or an undo, was taken back.
func (p *past) rewind(d event.Rewind, m *machine) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d.Files {
		p.begun, p.latestLeft = nil, d.Restored
	}
	i := slices.IndexFunc(p.inputs, func(in input) bool { return in.seq == d.Input })
	if i < 0 || d.Abandons {
		return
	}
	in := &p.inputs[i]
	if d.Redo {
		p.redo(d, in, m)
		return
	}
	whole := d.Files && len(d.Paths) == 0 && d.Restored == in.checkpoint
	p.undone = append(p.undone, undone{i, d.Chat, d.Files, m.place(), whole, d.Before, d.Restored, d.Dir, d.Paths})
	in.chatBack = in.chatBack || d.Chat
	in.filesBack = in.filesBack || whole
	if d.Chat {
		m.rewind(in.before)
	}
}

func (p *past) redo(d event.Rewind, in *input, m *machine) {
	n := len(p.undone) - 1
	if n < 0 {
		return
	}
	u := p.undone[n]
	p.undone = p.undone[:n]
	if d.Chat {
		in.chatBack = false
		m.rewind(u.with)
	}
	if u.whole {
		// The state to go back to from here on has what was changed by hand between undo and redo.
		in.filesBack, in.checkpoint, in.left = false, first(d.Before, in.checkpoint), []string{d.Restored}
	}
}

// rewind makes the conversation what it was, with the last answer of then and the instructions of
// today.
func (m *machine) rewind(to place) {
	system := systemOf(m.messages)
	m.rewrite(to.messages, "")
	m.facts = to.facts
	if system != "" && system != systemOf(to.messages) {
		m.setSystem(system)
	}
	m.rewritten = "the conversation was rewound"
	m.text, m.question = "", ""
	for _, msg := range slices.Backward(to.messages) {
		if msg.Role == llm.RoleAssistant {
			m.text = msg.Text()
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
	Dir        string // of the checkpoint
	// ChatUndone and FilesUndone say what of it was taken back, and not redone.
	ChatUndone, FilesUndone bool
}

// Inputs lists what a session was given, from its records. Those that are not a UserInput, a
// Checkpoint or a Rewind may be left out.
func Inputs(records []event.Record) []Input {
	var list []Input
	p, m := &past{}, &machine{}
	for _, r := range records {
		switch d := r.Data.(type) {
		case event.UserInput:
			if r.Agent == "" && d.Answers == "" {
				p.input(r.Seq, place{})
				list = append(list, Input{Seq: r.Seq, Time: r.Time, Prompt: d.Message.Text()})
			}
		case event.Checkpoint:
			p.checkpoint(d)
		case event.Rewind:
			p.rewind(d, m)
		}
	}
	for i, in := range p.inputs {
		list[i].Checkpoint, list[i].Dir, list[i].ChatUndone, list[i].FilesUndone = in.checkpoint, in.dir, in.chatBack, in.filesBack
	}
	return list
}
