package wire

import (
	"errors"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/llm"
)

var errTooLarge = errors.New("the response is larger than the limit")

// Assembler builds a response part by part and emits the events for it on the way. Decoders hold
// one and say what they read: each Begin… opens a part and gives its index, which the calls that
// follow name. A part may be left open; Finish closes it.
type Assembler struct {
	Dialect string
	Model   string // the model that was asked for, which tags provider state
	Max     int    // bytes of content that are accepted; 0 is no limit

	resp    llm.Response
	parts   []*block
	emit    func(llm.StreamEvent) bool
	size    int
	err     error
	started bool
	stopped bool
	done    bool
	counted bool // the usage is final
}

type block struct {
	part   llm.Part // what is known of it so far
	text   strings.Builder
	open   bool
	absent bool // a tool call that was cut off
}

// NewAssembler makes an assembler that hands its events to emit until emit returns false.
func NewAssembler(dialect, model string, emit func(llm.StreamEvent) bool) *Assembler {
	return &Assembler{Dialect: dialect, Model: model, emit: emit}
}

// Stopped reports whether the consumer has had enough, and Done whether the answer is complete.
func (a *Assembler) Stopped() bool { return a.stopped }

// Done reports whether Finish was called.
func (a *Assembler) Done() bool { return a.done }

// Err is set when the content grew over the limit.
func (a *Assembler) Err() error { return a.err }

// Begun reports whether any part was begun.
func (a *Assembler) Begun() bool { return len(a.parts) > 0 }

// Response is the response; its message is there once Done.
func (a *Assembler) Response() *llm.Response { return &a.resp }

// Partial is what was assembled so far, for showing what came of an answer that broke off. Tool
// calls that were not ended are left out.
func (a *Assembler) Partial() *llm.Response {
	if a.done {
		return &a.resp
	}
	resp := a.resp
	resp.Message.Role = llm.RoleAssistant
	for _, b := range a.parts {
		p := b.part
		switch t := p.(type) {
		case llm.Text:
			t.Text = b.text.String()
			p = t
		case llm.Thinking:
			t.Text = b.text.String()
			p = t
		case llm.ToolCall:
			if b.open {
				continue
			}
		}
		resp.Message.Parts = append(resp.Message.Parts, p)
	}
	return &resp
}

// State tags data with the dialect and the model. The data is copied.
func (a *Assembler) State(data []byte) llm.State {
	if len(data) == 0 {
		return llm.State{}
	}
	model := a.Model
	if model == "" {
		model = a.resp.Model
	}
	return llm.State{Dialect: a.Dialect, Model: model, Data: append([]byte(nil), data...)}
}

// Start tells the answer's id and model. Later calls fill in what was not known yet.
func (a *Assembler) Start(id, model string) {
	if a.resp.ID == "" {
		a.resp.ID = id
	}
	if a.resp.Model == "" {
		a.resp.Model = model
	}
	if !a.started {
		a.started = true
		a.send(llm.Start{ID: a.resp.ID, Model: a.resp.Model, RequestID: a.resp.RequestID})
	}
}

// BeginText opens a text part.
func (a *Assembler) BeginText() int {
	i := a.begin(llm.Text{})
	a.send(llm.TextStart{Index: i})
	return i
}

// BeginThinking opens a thinking part.
func (a *Assembler) BeginThinking() int {
	i := a.begin(llm.Thinking{})
	a.send(llm.ThinkingStart{Index: i})
	return i
}

// BeginCall opens a tool call.
func (a *Assembler) BeginCall(id, name string, custom bool) int {
	i := a.begin(llm.ToolCall{ID: id, Name: name, Custom: custom})
	a.send(llm.ToolCallStart{Index: i, ID: id, Name: name, Custom: custom})
	return i
}

// Delta adds to the text, the thinking or the arguments of part i.
func (a *Assembler) Delta(i int, s string) {
	if s == "" || !a.valid(i) || !a.grow(len(s)) {
		return
	}
	b := a.parts[i]
	b.text.WriteString(s)
	switch b.part.(type) {
	case llm.Text:
		a.send(llm.TextDelta{Index: i, Text: s})
	case llm.Thinking:
		a.send(llm.ThinkingDelta{Index: i, Text: s})
	case llm.ToolCall:
		a.send(llm.ToolCallDelta{Index: i, Arguments: s})
	}
}

// SoFar is the text of part i up to now.
func (a *Assembler) SoFar(i int) string {
	if i < 0 || i >= len(a.parts) {
		return ""
	}
	return a.parts[i].text.String()
}

// SetState gives part i what its provider wants back.
func (a *Assembler) SetState(i int, s llm.State) {
	if i < 0 || i >= len(a.parts) {
		return
	}
	switch p := a.parts[i].part.(type) {
	case llm.Text:
		p.State = s
		a.parts[i].part = p
	case llm.Thinking:
		p.State = s
		a.parts[i].part = p
	case llm.ToolCall:
		p.State = s
		a.parts[i].part = p
	}
}

// SetCall corrects the id and name of an open tool call, for protocols that send them late.
func (a *Assembler) SetCall(i int, id, name string) {
	if !a.valid(i) {
		return
	}
	if c, ok := a.parts[i].part.(llm.ToolCall); ok {
		c.ID, c.Name = id, name
		a.parts[i].part = c
	}
}

// End closes part i. A tool call whose arguments are not a whole object stays open until Finish
// tells whether they were cut off.
func (a *Assembler) End(i int) {
	if !a.valid(i) {
		return
	}
	if c, ok := a.parts[i].part.(llm.ToolCall); ok && !c.Custom && !wholeObject(a.SoFar(i)) {
		return
	}
	a.end(i)
}

func (a *Assembler) end(i int) {
	b := a.parts[i]
	b.open = false
	switch p := b.part.(type) {
	case llm.Text:
		p.Text = b.text.String()
		b.part = p
		a.send(llm.TextEnd{Index: i, Text: p})
	case llm.Thinking:
		p.Text = b.text.String()
		b.part = p
		a.send(llm.ThinkingEnd{Index: i, Thinking: p})
	case llm.ToolCall:
		p.Arguments = b.text.String()
		b.part = p
		a.send(llm.ToolCallEnd{Index: i, Call: p})
	}
}

// Part adds a part that arrived whole.
func (a *Assembler) Part(p llm.Part) int {
	if o, ok := p.(llm.Opaque); ok && !a.grow(len(o.State.Data)) {
		return -1
	}
	i := a.begin(p)
	a.parts[i].open = false
	a.send(llm.PartDone{Index: i, Part: p})
	return i
}

// Raw passes on an event that is not modelled.
func (a *Assembler) Raw(kind string, data []byte) { a.send(llm.Raw{Type: kind, Data: data}) }

// Usage sets the final token counts.
func (a *Assembler) Usage(u llm.Usage) { a.resp.Usage, a.counted = u, true }

// Spent is what the provider counted so far, and whether that is final.
func (a *Assembler) Spent() (u llm.Usage, final bool) { return a.resp.Usage, a.counted }

// Finish completes the answer. Parts still open are closed; but if the model did not stop of its
// own accord, an open tool call survives only if its arguments are a whole object.
func (a *Assembler) Finish(reason llm.FinishReason, raw string) {
	if a.done || a.err != nil {
		return
	}
	a.Start("", "")
	cut := reason != llm.FinishStop && reason != llm.FinishToolCalls
	for i := range a.parts {
		if b := a.parts[i]; b.open {
			if c, isCall := b.part.(llm.ToolCall); isCall && cut && (c.Custom || !wholeObject(b.text.String())) {
				b.open, b.absent = false, true
				continue
			}
			a.end(i)
		}
	}
	a.resp.Finish = llm.FinishInfo{Reason: reason, Raw: raw}
	a.resp.Message = llm.Message{Role: llm.RoleAssistant}
	for i := range a.parts {
		if !a.parts[i].absent {
			a.resp.Message.Parts = append(a.resp.Message.Parts, a.parts[i].part)
		}
	}
	a.done = true
	a.send(llm.Finish{Response: &a.resp})
}

// partCost is what a part counts for by itself, so that a stream of empty ones has an end too.
const partCost = 64

func (a *Assembler) begin(p llm.Part) int {
	a.Start("", "")
	a.grow(partCost)
	a.parts = append(a.parts, &block{part: p, open: true})
	return len(a.parts) - 1
}

// valid reports whether part i can still grow.
func (a *Assembler) valid(i int) bool { return i >= 0 && i < len(a.parts) && a.parts[i].open }

func (a *Assembler) grow(n int) bool {
	a.size += n
	if a.Max > 0 && a.size > a.Max {
		a.err = fmt.Errorf("%w of %d bytes", errTooLarge, a.Max)
	}
	return a.err == nil
}

func (a *Assembler) send(ev llm.StreamEvent) {
	if !a.stopped && a.emit != nil && !a.emit(ev) {
		a.stopped = true
	}
}

func wholeObject(s string) bool {
	if s == "" || s[len(s)-1] != '}' {
		return false
	}
	v, err := ParseJSON([]byte(s))
	return err == nil && v.Kind() == '{'
}
