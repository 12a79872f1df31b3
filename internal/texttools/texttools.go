// Package texttools recovers tool calls that a model wrote as text, because its server does not parse the model's format.
//
// It reads the common formats: JSON or XML in <tool_call>, <function=…>, <invoke name=…>, the markers of Mistral, Llama,
// DeepSeek, Kimi and GLM, JSON in a fenced block, and JSON as the whole answer.
//
// Only calls to the request's tools are recovered. All other text stays the same, byte for byte. Text that may begin a
// call is held back only until it is clear whether a call follows.
package texttools

import (
	"context"
	"iter"
	"strconv"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// Recover is middleware that turns calls written as text into tool calls. An answer with recovered calls finishes
// with llm.FinishToolCalls. White space around the calls is dropped.
func Recover(next llm.StreamFunc) llm.StreamFunc {
	return func(ctx context.Context, r *llm.Request) iter.Seq2[llm.StreamEvent, error] {
		if len(r.Tools) == 0 {
			return next(ctx, r)
		}
		return func(yield func(llm.StreamEvent, error) bool) {
			f := newFilter(r, func(ev llm.StreamEvent) bool { return yield(ev, nil) })
			for ev, err := range next(ctx, r) {
				if err != nil {
					yield(nil, err)
					return
				}
				if !f.event(ev) {
					return
				}
			}
		}
	}
}

// filter forwards events and replaces the calls in their text. It renumbers the parts.
type filter struct {
	finder  *finder
	request *llm.Request
	emit    func(llm.StreamEvent) bool
	ok      bool // the consumer wants more

	seed      string
	parts     []llm.Part
	index     map[int]int       // from the provider's index to ours
	texts     map[int]*textPart // by the provider's index
	recovered int
}

// textPart is a text part that is being scanned.
type textPart struct {
	scan  scan
	index int // index of the open part, or -1
	text  strings.Builder
	split bool   // calls were recovered from it
	space string // leading white space, held back
}

func newFilter(r *llm.Request, emit func(llm.StreamEvent) bool) *filter {
	f := &filter{finder: newFinder(r.Tools), request: r, emit: emit, ok: true}
	f.reset()
	return f
}

func (f *filter) reset() {
	f.parts = nil
	f.recovered = 0
	f.seed = ""
	f.index, f.texts = make(map[int]int), make(map[int]*textPart)
}

func (f *filter) send(ev llm.StreamEvent) { f.ok = f.ok && f.emit(ev) }

// event handles one event and reports whether the consumer wants more.
func (f *filter) event(ev llm.StreamEvent) bool {
	switch ev := ev.(type) {
	case llm.Start:
		f.seed = ev.ID
		f.send(ev)
	case llm.Retry:
		if ev.Discard {
			f.reset()
		}
		f.send(ev)
	case llm.TextStart:
		f.part(ev.Index)
	case llm.TextDelta:
		t := f.part(ev.Index)
		t.scan.feed(ev.Text)
		f.drain(t, false)
	case llm.TextEnd:
		f.endText(ev)
	case llm.Finish:
		f.finish(ev)
	default:
		f.send(f.renumber(ev))
	}
	return f.ok
}

// renumber returns an event that is not about text, with our index for its part.
func (f *filter) renumber(ev llm.StreamEvent) llm.StreamEvent {
	switch ev := ev.(type) {
	case llm.ThinkingStart:
		ev.Index = f.begin(ev.Index)
		return ev
	case llm.ThinkingDelta:
		ev.Index = f.index[ev.Index]
		return ev
	case llm.ThinkingEnd:
		ev.Index = f.index[ev.Index]
		f.parts[ev.Index] = ev.Thinking
		return ev
	case llm.ToolCallStart:
		ev.Index = f.begin(ev.Index)
		return ev
	case llm.ToolCallDelta:
		ev.Index = f.index[ev.Index]
		return ev
	case llm.ToolCallEnd:
		ev.Index = f.index[ev.Index]
		f.parts[ev.Index] = ev.Call
		return ev
	case llm.PartDone:
		ev.Index = f.begin(ev.Index)
		f.parts[ev.Index] = ev.Part
		return ev
	}
	return ev
}

// begin adds a part for a provider's part.
func (f *filter) begin(theirs int) int {
	f.index[theirs] = f.add(nil)
	return f.index[theirs]
}

func (f *filter) add(p llm.Part) int {
	f.parts = append(f.parts, p)
	return len(f.parts) - 1
}

func (f *filter) part(theirs int) *textPart {
	t, ok := f.texts[theirs]
	if !ok {
		t = &textPart{scan: scan{finder: f.finder}, index: -1}
		f.texts[theirs] = t
	}
	return t
}

// drain forwards the text and calls that the scanner has decided on.
func (f *filter) drain(t *textPart, final bool) {
	for {
		text, calls, ok := t.scan.next(final)
		if !ok {
			return
		}
		if text != "" {
			f.write(t, text)
		}
		for _, c := range calls {
			f.call(t, c)
		}
	}
}

func (f *filter) write(t *textPart, text string) {
	if t.index < 0 {
		// White space before or after a call counts only if text follows it.
		t.space += text
		if strings.TrimSpace(t.space) == "" {
			return
		}
		text, t.space = t.space, ""
		f.openText(t)
	}
	t.text.WriteString(text)
	f.send(llm.TextDelta{Index: t.index, Text: text})
}

func (f *filter) openText(t *textPart) {
	t.index = f.add(nil)
	f.send(llm.TextStart{Index: t.index})
}

func (f *filter) call(t *textPart, c call) {
	t.split, t.space = true, ""
	f.closeText(t, llm.State{})
	f.recovered++
	seed := f.seed + "\x00" + strconv.Itoa(len(f.request.Messages)) + "\x00" + c.name + "\x00" + c.arguments
	part := llm.ToolCall{ID: "call_" + wire.Digest(seed) + strconv.Itoa(f.recovered), Name: c.name, Arguments: c.arguments}
	i := f.add(part)
	f.send(llm.ToolCallStart{Index: i, ID: part.ID, Name: part.Name})
	f.send(llm.ToolCallDelta{Index: i, Arguments: part.Arguments})
	f.send(llm.ToolCallEnd{Index: i, Call: part})
}

func (f *filter) closeText(t *textPart, state llm.State) {
	if t.index < 0 {
		return
	}
	part := llm.Text{Text: t.text.String(), State: state}
	f.parts[t.index] = part
	f.send(llm.TextEnd{Index: t.index, Text: part})
	t.index = -1
	t.text.Reset()
}

func (f *filter) endText(ev llm.TextEnd) {
	t := f.part(ev.Index)
	f.drain(t, true)
	if t.split {
		f.closeText(t, llm.State{}) // the state belongs to the whole text
		return
	}
	if t.index < 0 { // the text is empty or white space
		f.openText(t)
		if t.space != "" {
			t.text.WriteString(t.space)
			f.send(llm.TextDelta{Index: t.index, Text: t.space})
		}
	}
	f.closeText(t, ev.Text.State)
}

func (f *filter) finish(ev llm.Finish) {
	resp := *ev.Response
	resp.Message.Parts = nil
	for _, p := range f.parts {
		if p != nil {
			resp.Message.Parts = append(resp.Message.Parts, p)
		}
	}
	if r := resp.Finish.Reason; f.recovered > 0 && (r == llm.FinishStop || r == llm.FinishOther) {
		resp.Finish.Reason = llm.FinishToolCalls
	}
	f.send(llm.Finish{Response: &resp})
}
