package chat

import (
	"context"
	"iter"
	"strconv"
	"strings"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/wire"
)

// TextTools is middleware that recovers tool calls which a model printed as text, as models do
// behind servers that do not know their format. It knows the common forms: JSON or XML within
// <tool_call>, <function=…>, <invoke name=…>, the markers of Mistral, Llama, DeepSeek, Kimi and
// GLM, JSON in a fenced block, and JSON as the whole answer.
//
// A call is recovered when, and only when, it names a tool of the request; any other text stays as
// it is, byte for byte. Text is held back only from where a call may begin, until it is known
// whether one does. An answer with recovered calls ends in llm.FinishToolCalls. White space around
// recovered calls goes with them.
//
// Providers made by New have it built in, see Config.TextTools.
func TextTools(next llm.StreamFunc) llm.StreamFunc {
	return func(ctx context.Context, r *llm.Request) iter.Seq2[llm.StreamEvent, error] {
		if len(r.Tools) == 0 {
			return next(ctx, r)
		}
		return func(yield func(llm.StreamEvent, error) bool) {
			f := newTextFilter(r, func(ev llm.StreamEvent) bool { return yield(ev, nil) })
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

// textFilter passes events on with the calls in their text recovered. Parts are counted anew.
type textFilter struct {
	finder  *finder
	request *llm.Request
	emit    func(llm.StreamEvent) bool
	ok      bool // the consumer wants more

	seed      string
	parts     []llm.Part
	index     map[int]int       // from the provider's count to ours
	texts     map[int]*textPart // by the provider's count
	recovered int
}

// textPart is a text part on its way through the scanner.
type textPart struct {
	scan  scan
	index int // of the part that is open now, or -1
	text  strings.Builder
	split bool   // calls were recovered from it
	space string // white space before any other text, held back
}

func newTextFilter(r *llm.Request, emit func(llm.StreamEvent) bool) *textFilter {
	f := &textFilter{finder: newFinder(r.Tools), request: r, emit: emit, ok: true}
	f.reset()
	return f
}

func (f *textFilter) reset() {
	f.parts, f.recovered, f.seed = nil, 0, ""
	f.index, f.texts = make(map[int]int), make(map[int]*textPart)
}

func (f *textFilter) send(ev llm.StreamEvent) {
	if f.ok && !f.emit(ev) {
		f.ok = false
	}
}

// event takes in one event and reports whether the consumer wants more.
func (f *textFilter) event(ev llm.StreamEvent) bool {
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
		f.other(ev)
	}
	return f.ok
}

// other renumbers the events that are not about text.
func (f *textFilter) other(ev llm.StreamEvent) {
	switch ev := ev.(type) {
	case llm.ThinkingStart:
		ev.Index = f.begin(ev.Index)
		f.send(ev)
	case llm.ThinkingDelta:
		ev.Index = f.index[ev.Index]
		f.send(ev)
	case llm.ThinkingEnd:
		ev.Index = f.index[ev.Index]
		f.parts[ev.Index] = ev.Thinking
		f.send(ev)
	case llm.ToolCallStart:
		ev.Index = f.begin(ev.Index)
		f.send(ev)
	case llm.ToolCallDelta:
		ev.Index = f.index[ev.Index]
		f.send(ev)
	case llm.ToolCallEnd:
		ev.Index = f.index[ev.Index]
		f.parts[ev.Index] = ev.Call
		f.send(ev)
	case llm.PartDone:
		ev.Index = f.begin(ev.Index)
		f.parts[ev.Index] = ev.Part
		f.send(ev)
	default:
		f.send(ev)
	}
}

// begin opens a part of ours for one of the provider's.
func (f *textFilter) begin(theirs int) int {
	i := f.add(nil)
	f.index[theirs] = i
	return i
}

func (f *textFilter) add(p llm.Part) int {
	f.parts = append(f.parts, p)
	return len(f.parts) - 1
}

func (f *textFilter) part(theirs int) *textPart {
	t, ok := f.texts[theirs]
	if !ok {
		t = &textPart{scan: scan{finder: f.finder}, index: -1}
		f.texts[theirs] = t
	}
	return t
}

// drain passes on what the scanner has made up its mind about.
func (f *textFilter) drain(t *textPart, final bool) {
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

func (f *textFilter) write(t *textPart, text string) {
	if t.index < 0 {
		// Before and behind a call white space counts only if text follows it.
		t.space += text
		if strings.TrimSpace(t.space) == "" {
			return
		}
		text, t.space = t.space, ""
		t.index = f.add(nil)
		f.send(llm.TextStart{Index: t.index})
	}
	t.text.WriteString(text)
	f.send(llm.TextDelta{Index: t.index, Text: text})
}

func (f *textFilter) call(t *textPart, c textCall) {
	t.split, t.space = true, ""
	f.closeText(t, llm.State{})
	f.recovered++
	seed := f.seed + "\x00" + strconv.Itoa(len(f.request.Messages)) + "\x00" + c.name + "\x00" + c.arguments
	call := llm.ToolCall{ID: "call_" + wire.Digest(seed) + strconv.Itoa(f.recovered), Name: c.name, Arguments: c.arguments}
	i := f.add(call)
	f.send(llm.ToolCallStart{Index: i, ID: call.ID, Name: call.Name})
	f.send(llm.ToolCallDelta{Index: i, Arguments: call.Arguments})
	f.send(llm.ToolCallEnd{Index: i, Call: call})
}

func (f *textFilter) closeText(t *textPart, state llm.State) {
	if t.index < 0 {
		return
	}
	part := llm.Text{Text: t.text.String(), State: state}
	f.parts[t.index] = part
	f.send(llm.TextEnd{Index: t.index, Text: part})
	t.index = -1
	t.text.Reset()
}

func (f *textFilter) endText(ev llm.TextEnd) {
	t := f.part(ev.Index)
	f.drain(t, true)
	if !t.split && t.index < 0 { // nothing but white space, or nothing at all
		t.index = f.add(nil)
		f.send(llm.TextStart{Index: t.index})
		if t.space != "" {
			t.text.WriteString(t.space)
			f.send(llm.TextDelta{Index: t.index, Text: t.space})
		}
	}
	state := ev.Text.State
	if t.split {
		state = llm.State{} // it belongs to the text as it was
	}
	f.closeText(t, state)
}

func (f *textFilter) finish(ev llm.Finish) {
	resp := *ev.Response
	resp.Message.Parts = nil
	for _, p := range f.parts {
		if p != nil {
			resp.Message.Parts = append(resp.Message.Parts, p)
		}
	}
	stopped := resp.Finish.Reason == llm.FinishStop || resp.Finish.Reason == llm.FinishOther
	if f.recovered > 0 && stopped {
		resp.Finish.Reason = llm.FinishToolCalls
	}
	f.send(llm.Finish{Response: &resp})
}
