package agent

import (
	"slices"
	"sync"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// past is what undo needs to know: the inputs, what was before each, and what was taken back.
type past struct {
	mu     sync.Mutex // a subagent may be the first to change something
	inputs []input
	undone []undone
}

// input is an input and how things were before it.
type input struct {
	seq        event.Seq
	before     []llm.Message
	checkpoint string // of the workspace; "" if it was not touched
	chatBack   bool   // the conversation was taken back
	filesBack  bool
}

// undone is what an undo took back.
type undone struct {
	input       int
	chat, files bool
	messages    []llm.Message // the conversation with the input
	before      string        // a checkpoint of the workspace with its changes
}

func (p *past) input(seq event.Seq, messages []llm.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inputs = append(p.inputs, input{seq: seq, before: slices.Clip(messages)})
	p.undone = nil
}

func (p *past) checkpoint(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.inputs); n > 0 && p.inputs[n-1].checkpoint == "" {
		p.inputs[n-1].checkpoint = id
	}
}

// last finds the last input of which something can be taken back, and narrows down to what that is.
func (p *past) last(chat, files bool) (in input, c, f, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, in := range slices.Backward(p.inputs) {
		c, f := chat && !in.chatBack, files && !in.filesBack && in.checkpoint != ""
		if c || f {
			return in, c, f, true
		}
	}
	return input{}, false, false, false
}

// rewind takes in that an input, or an undo, was taken back.
func (p *past) rewind(d event.Rewind, m *machine) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.inputs, func(in input) bool { return in.seq == d.Input })
	if i < 0 {
		return
	}
	in := &p.inputs[i]
	if d.Redo {
		p.redo(d, in, m)
		return
	}
	p.undone = append(p.undone, undone{i, d.Chat, d.Files, slices.Clip(m.messages), d.Before})
	in.chatBack, in.filesBack = in.chatBack || d.Chat, in.filesBack || d.Files
	if d.Chat {
		m.rewrite(in.before)
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
		m.rewrite(u.messages)
	}
	in.filesBack = in.filesBack && !d.Files
}
