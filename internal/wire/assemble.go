package wire

import (
	"errors"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/llm"
)

var errTooLarge = errors.New("the response is larger than the limit")

// Assembler builds a response part by part and emits its events. A decoder calls Begin… to open a part
// and passes the index it returns to the calls for that part. Finish closes parts that are still open.
type Assembler struct {
	Dialect string
	Model   string               // the requested model; it tags provider state
	Max     int                  // maximum bytes of one answer in memory; 0 means no limit
	Seal    func(m *llm.Message) // Call.Seal

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
	part   llm.Part
	text   strings.Builder
	state  int // size of the part's state
	open   bool
	absent bool // an interrupted tool call
}

// NewAssembler returns an assembler that passes its events to emit until emit returns false.
func NewAssembler(dialect, model string, emit func(llm.StreamEvent) bool) *Assembler {
	return &Assembler{Dialect: dialect, Model: model, emit: emit}
}

// Done reports whether Finish was called.
func (a *Assembler) Done() bool { return a.done }

// Full reports whether the answer is larger than Max. A decoder may then stop.
func (a *Assembler) Full() bool { return a.err != nil }

// Hold counts bytes that a decoder stores itself. It reports whether they fit.
func (a *Assembler) Hold(n int) bool { return a.grow(n) }

// Begun reports whether a part was opened.
func (a *Assembler) Begun() bool { return len(a.parts) > 0 }

// Response returns the response. It has no message until Done.
func (a *Assembler) Response() *llm.Response { return &a.resp }

// Partial returns the response so far, to show an interrupted answer. It omits unfinished tool calls.
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

// State copies data and tags it with the dialect and the model.
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

// Start sets the answer's ID and model. Later calls only fill empty fields.
func (a *Assembler) Start(id, model string) {
	if a.resp.ID == "" && a.grow(len(id)) {
		a.resp.ID = id
	}
	if a.resp.Model == "" && a.grow(len(model)) {
		a.resp.Model = model
	}
	if !a.started {
		a.started = true
		a.send(llm.Start{ID: a.resp.ID, Model: a.resp.Model, RequestID: a.resp.RequestID})
	}
}

// BeginText opens a text part.
func (a *Assembler) BeginText() int {
	i := a.begin(llm.Text{}, 0)
	if i >= 0 {
		a.send(llm.TextStart{Index: i})
	}
	return i
}

// BeginThinking opens a thinking part.
func (a *Assembler) BeginThinking() int {
	i := a.begin(llm.Thinking{}, 0)
	if i >= 0 {
		a.send(llm.ThinkingStart{Index: i})
	}
	return i
}

// BeginCall opens a tool call.
func (a *Assembler) BeginCall(id, name string, custom bool) int {
	i := a.begin(llm.ToolCall{ID: id, Name: name, Custom: custom}, len(id)+len(name))
	if i >= 0 {
		a.send(llm.ToolCallStart{Index: i, ID: id, Name: name, Custom: custom})
	}
	return i
}

// Delta appends to the text, the thinking or the arguments of part i.
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

// SoFar returns the text of part i up to now.
func (a *Assembler) SoFar(i int) string {
	if i < 0 || i >= len(a.parts) {
		return ""
	}
	return a.parts[i].text.String()
}

// SetState sets the provider state of part i.
func (a *Assembler) SetState(i int, s llm.State) {
	if i < 0 || i >= len(a.parts) {
		return
	}
	b := a.parts[i]
	if !a.grow(max(0, len(s.Data)-b.state)) {
		return
	}
	b.state = len(s.Data)
	switch p := b.part.(type) {
	case llm.Text:
		p.State = s
		b.part = p
	case llm.Thinking:
		p.State = s
		b.part = p
	case llm.ToolCall:
		p.State = s
		b.part = p
	}
}

// SetCall sets an open tool call's ID and name, for protocols that send them late.
func (a *Assembler) SetCall(i int, id, name string) {
	if !a.valid(i) {
		return
	}
	if c, ok := a.parts[i].part.(llm.ToolCall); ok && a.grow(len(id)+len(name)) {
		c.ID, c.Name = id, name
		a.parts[i].part = c
	}
}

// End closes part i. A tool call whose arguments are not a complete object stays open: Finish decides
// whether it was interrupted.
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

// Settle sets the complete text, thinking or arguments of part i, for protocols that repeat a part at its end. If whole
// continues the streamed text, the rest is emitted as a delta; otherwise it replaces the streamed text in the part. An
// empty whole changes nothing.
func (a *Assembler) Settle(i int, whole string) {
	if whole == "" || !a.valid(i) {
		return
	}
	if rest, ok := strings.CutPrefix(whole, a.SoFar(i)); ok {
		a.Delta(i, rest)
		return
	}
	if b := a.parts[i]; a.grow(max(0, len(whole)-b.text.Len())) {
		b.text.Reset()
		b.text.WriteString(whole)
	}
}

// Drop removes part i from the response, for an interrupted tool call.
func (a *Assembler) Drop(i int) {
	if a.valid(i) {
		a.parts[i].open, a.parts[i].absent = false, true
	}
}

// Part adds a part that arrived whole.
func (a *Assembler) Part(p llm.Part) int {
	i := a.begin(p, size(p))
	if i >= 0 {
		a.parts[i].open = false
		a.send(llm.PartDone{Index: i, Part: p})
	}
	return i
}

// size returns how many bytes a part that arrived whole needs.
func size(p llm.Part) int {
	switch p := p.(type) {
	case llm.Opaque:
		return len(p.Kind) + len(p.State.Data)
	case llm.Thinking:
		return len(p.Text) + len(p.State.Data)
	case llm.Image:
		return len(p.Data)
	case llm.Audio:
		return len(p.Data)
	case llm.Document:
		return len(p.Data)
	}
	return 0
}

// Detail sets the provider's explanation why the model stopped.
func (a *Assembler) Detail(text string) {
	if a.grow(len(text)) {
		a.resp.Finish.Detail = text
	}
}

// Dropped sets the list of request parts that the server left out.
func (a *Assembler) Dropped(list []llm.Dropped) {
	if a.grow(partCost * len(list)) {
		a.resp.Dropped = list
	}
}

// Progress estimates how many tokens thinking part i has so far.
func (a *Assembler) Progress(i int, tokens int64) {
	if a.valid(i) && tokens > 0 {
		a.send(llm.ThinkingProgress{Index: i, Tokens: tokens})
	}
}

// Raw emits an event that is not modelled.
func (a *Assembler) Raw(kind string, data []byte) { a.send(llm.Raw{Type: kind, Data: data}) }

// Usage sets the final token counts.
func (a *Assembler) Usage(u llm.Usage) { a.resp.Usage, a.counted = u, true }

// Finish completes the answer and closes open parts. Unless the reason is FinishStop or FinishToolCalls,
// it drops open tool calls whose arguments may be incomplete.
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
	a.resp.Finish.Reason, a.resp.Finish.Raw = reason, raw
	a.resp.Message = llm.Message{Role: llm.RoleAssistant}
	for i := range a.parts {
		if !a.parts[i].absent {
			a.resp.Message.Parts = append(a.resp.Message.Parts, a.parts[i].part)
		}
	}
	if a.Seal != nil {
		a.Seal(&a.resp.Message)
	}
	a.done = true
	a.send(llm.Finish{Response: &a.resp})
}

// partCost counts towards Max for every part, so that a stream of empty parts is limited too. It includes what
// decoders store about a part, and the time that they need to find it.
const partCost = 1024

// begin opens a part. It returns -1 if the part does not fit.
func (a *Assembler) begin(p llm.Part, size int) int {
	a.Start("", "")
	if !a.grow(partCost + size) {
		return -1
	}
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
