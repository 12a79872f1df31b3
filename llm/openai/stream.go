package openai

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

func (d *dialect) NewDecoder(a *wire.Assembler) wire.Decoder { return &decoder{a: a} }

// decoder reads the events of one response. An item is announced, grows by deltas and is repeated whole at its
// end. The last event repeats all items. Each of these may be missing.
type decoder struct {
	a       *wire.Assembler
	items   []*item
	last    *item // item in the last event
	calls   int
	refused bool
	after   string // last reasoning ID
	place   int    // number of items after it

	searches int64 // web searches by the provider
	sequence int64 // number and size of the last event
	size     int
}

// item is an output item.
type item struct {
	index   int64 // in the output; -1 if unknown
	id      string
	kind    string
	part    int   // of reasoning and calls; -1 if not begun
	texts   []int // message parts by content index; -1 if not begun
	chapter int64 // last reasoning part's index
	done    bool
	claimed bool // matched by an item in the last event
}

// event holds an event's members.
type event struct {
	kind                            []byte
	delta, item, part, response, id wire.Value
	output, content, summary        wire.Value
	whole                           wire.Value // text, refusal, arguments or input
}

func (d *decoder) Event(ev wire.Event) error {
	data := bytes.TrimSpace(ev.Data)
	if len(data) == 0 || string(data) == "[DONE]" {
		return nil
	}
	v, err := wire.ParseJSON(data)
	if err != nil {
		return err
	}
	e := event{kind: ev.Name}
	var sequence int64
	for m := v.Members(); m.Next(); {
		switch string(m.Key) {
		case "type":
			if n := len(m.Value); n > 2 && m.Value[0] == '"' {
				e.kind = m.Value[1 : n-1]
			}
		case "delta":
			e.delta = m.Value
		case "item":
			e.item = m.Value
		case "part":
			e.part = m.Value
		case "response":
			e.response = m.Value
		case "item_id":
			e.id = m.Value
		case "output_index":
			e.output = m.Value
		case "content_index":
			e.content = m.Value
		case "summary_index":
			e.summary = m.Value
		case "sequence_number":
			sequence = m.Value.Int()
		case "text", "refusal", "arguments", "input":
			e.whole = m.Value
		}
	}
	if sequence > 0 && sequence == d.sequence && len(data) == d.size {
		return nil // a repeated event
	}
	d.sequence, d.size = sequence, len(data)
	return d.dispatch(&e, v)
}

func (d *decoder) dispatch(e *event, v wire.Value) error {
	switch string(e.kind) {
	case "response.output_text.delta", "response.refusal.delta":
		d.a.Delta(d.text(e), e.delta.Str())
	case "response.function_call_arguments.delta":
		d.a.Delta(d.call(e, "function_call"), e.delta.Str())
	case "response.custom_tool_call_input.delta":
		d.a.Delta(d.call(e, "custom_tool_call"), e.delta.Str())
	case "response.reasoning_summary_text.delta":
		d.reasoning(e, e.summary)
	case "response.reasoning_text.delta":
		d.reasoning(e, e.content)
	case "response.output_item.added":
		d.added(e, v)
	case "response.content_part.added":
		if e.part.Get("type").Is("output_text") || e.part.Get("type").Is("refusal") {
			d.text(e)
		}
	case "response.output_text.done", "response.refusal.done":
		d.a.Settle(d.text(e), e.whole.Str())
	case "response.function_call_arguments.done":
		d.a.Settle(d.call(e, "function_call"), e.whole.Str())
	case "response.custom_tool_call_input.done":
		d.a.Settle(d.call(e, "custom_tool_call"), e.whole.Str())
	case "response.output_item.done":
		if it := d.findWhole(e); !it.done {
			d.settle(it, e.item)
		}
	case "response.content_part.done", "response.reasoning_text.done", "response.reasoning_summary_text.done",
		"response.reasoning_summary_part.added", "response.reasoning_summary_part.done":
	case "response.created", "response.in_progress", "response.queued":
		d.a.Start(e.response.Get("id").Str(), e.response.Get("model").Str())
	case "response.completed", "response.incomplete", "response.done", "response.cancelled":
		return d.response(e.response)
	case "response.failed":
		return d.failed(e.response)
	case "error":
		return failure(v)
	default:
		if len(e.kind) == 0 && v.Get("error").Exists() {
			return failure(v)
		}
		d.a.Raw(string(e.kind), v)
	}
	return nil
}

// Usage returns nothing, because only the last event has counts.
func (d *decoder) Usage() (u llm.Usage, final bool) { return u, false }

// End does nothing, because only the last event completes a response.
func (d *decoder) End() {}

// find returns the item that an event is about. It creates an item that was not announced.
func (d *decoder) find(e *event, kind string) *item {
	index := int64(-1)
	if e.output.Kind() == '0' {
		index = e.output.Int()
	}
	if it := d.last; it != nil && it.is(index, kind) {
		return it
	}
	for _, it := range slices.Backward(d.items) {
		if it.is(index, kind) {
			d.last = it
			return it
		}
	}
	it := d.newItem(index)
	it.kind = kind
	return it
}

// is reports whether an event with this index and kind is about the item. Some servers send no index, or the
// same one for all items.
func (it *item) is(index int64, kind string) bool {
	return it.kind == kind && (it.index == index || index < 0 && !it.done)
}

// findWhole is like find, for events with a whole item. If the item it finds is done and has another id, it
// creates a new one.
func (d *decoder) findWhole(e *event) *item {
	kind, id := e.item.Get("type").Str(), e.item.Get("id").Str()
	it := d.find(e, kind)
	if it.done && id != it.id {
		it = d.newItem(it.index)
		it.kind = kind
	}
	return it
}

func (d *decoder) newItem(index int64) *item {
	it := &item{index: index, part: -1, chapter: -1}
	if d.a.Hold(itemCost) {
		d.items = append(d.items, it)
	}
	d.last = it
	return it
}

// itemCost approximates an item's memory without its content. It also limits the time to find an item.
const itemCost = 2048

// added begins an item.
func (d *decoder) added(e *event, v wire.Value) {
	it := d.findWhole(e)
	kind := it.kind
	if it.id = e.item.Get("id").Str(); !d.a.Hold(len(it.id)) {
		return
	}
	switch {
	case it.done || it.part >= 0:
	case kind == "reasoning":
		it.part = d.a.BeginThinking()
	case isCall(kind):
		it.part = d.a.BeginCall(callID(e.item), e.item.Get("name").Str(), kind == "custom_tool_call")
	case kind != "message":
		d.a.Raw(string(e.kind), v)
	}
}

func callID(item wire.Value) string {
	if id := item.Get("call_id").Str(); id != "" {
		return id
	}
	return item.Get("id").Str()
}

// maxContent limits the parts of one message, because a large index would allocate that many.
const maxContent = 1 << 12

// text returns the part for the event's content index, or -1, and opens it if necessary.
func (d *decoder) text(e *event) int {
	it := d.find(e, "message")
	if it.done {
		return -1
	}
	return d.textAt(it, e.content.Int())
}

func (d *decoder) textAt(it *item, n int64) int {
	if n < 0 || n >= maxContent {
		return -1
	}
	for int64(len(it.texts)) <= n {
		if !d.a.Hold(16) {
			return -1
		}
		it.texts = append(it.texts, -1)
	}
	if it.texts[n] < 0 {
		it.texts[n] = d.a.BeginText()
	}
	return it.texts[n]
}

// call returns the part for a call item, or -1, and opens it if necessary.
func (d *decoder) call(e *event, kind string) int {
	it := d.find(e, kind)
	if it.done {
		return -1
	}
	if it.part < 0 {
		it.part = d.a.BeginCall(e.id.Str(), "", kind == "custom_tool_call")
	}
	return it.part
}

// reasoning appends to a reasoning item, with a blank line between its parts.
func (d *decoder) reasoning(e *event, chapter wire.Value) {
	it := d.find(e, "reasoning")
	if it.done {
		return
	}
	if it.part < 0 {
		it.part = d.a.BeginThinking()
	}
	if n := chapter.Int(); n != it.chapter {
		if it.chapter >= 0 && d.a.SoFar(it.part) != "" {
			d.a.Delta(it.part, paragraph)
		}
		it.chapter = n
	}
	d.a.Delta(it.part, e.delta.Str())
}

// settle completes an item with its final form.
func (d *decoder) settle(it *item, v wire.Value) {
	kind := v.Get("type").Str()
	it.kind, it.done = kind, true
	if id := v.Get("id").Str(); id != "" {
		it.id = id
	}
	switch {
	case kind == "message":
		d.settleMessage(it, v)
	case kind == "reasoning":
		if it.part < 0 {
			it.part = d.a.BeginThinking()
		}
		d.a.Settle(it.part, reasoningText(v))
		d.a.SetState(it.part, d.a.State(d.linkedReasoning(v)))
		d.a.End(it.part)
	case isCall(kind):
		d.settleCall(it, v)
	default:
		if action := v.Get("action", "type"); kind == "web_search_call" && (action.Is("search") || !action.Exists()) {
			d.searches++ // opening a page that was found costs nothing
		}
		d.a.Part(llm.Opaque{Kind: kind, State: d.a.State(d.linked(v))})
	}
	d.pass(kind, v.Get("id").Str())
}

// pass records that an item is complete, for later links.
func (d *decoder) pass(kind, id string) {
	d.place++
	if kind == "reasoning" {
		d.after, d.place = "", 0
		if linkable(id) && d.a.Hold(len(id)) {
			d.after = id
		}
	}
}

// linkTo returns the link for the current item's part.
func (d *decoder) linkTo(part int) string {
	return link{d.after, d.place, wire.Digest(d.a.SoFar(part))}.String()
}

// linked returns the current item with its link.
func (d *decoder) linked(item wire.Value) []byte {
	return linked(item, link{d.after, d.place, wire.Digest("")})
}

// linkedReasoning is linked for reasoning. It has a link even if it is the first, which says that the next item has one.
func (d *decoder) linkedReasoning(item wire.Value) []byte {
	if !linkable(item.Get("id").Str()) {
		return item
	}
	return linked(item, link{cmp.Or(d.after, "-"), d.place, wire.Digest("")})
}

func (d *decoder) settleMessage(it *item, v wire.Value) {
	rest := messageRest(v)
	n := int64(0)
	for c := v.Get("content").Elements(); c.Next(); n++ {
		text := c.Value.Get("text")
		switch kind := c.Value.Get("type").Str(); kind {
		case "refusal":
			d.refused = true
			text = c.Value.Get("refusal")
		case "output_text", "text":
		default:
			d.a.Part(llm.Opaque{Kind: contentKind + kind, State: d.a.State(c.Value)})
			continue
		}
		i := d.textAt(it, n)
		d.a.Settle(i, text.Str())
		d.a.SetState(i, d.a.State(textState(rest, answerRest(c.Value), d.linkTo(i))))
		d.a.End(i)
	}
	for k, i := range it.texts { // texts that the final form does not repeat
		if int64(k) >= n {
			d.a.SetState(i, d.a.State(textState(rest, nil, d.linkTo(i))))
		}
		d.a.End(i)
	}
}

// relink sets an item's states again, because the reasoning before it has another ID in the whole response.
func (d *decoder) relink(it *item, v wire.Value) {
	if isCall(it.kind) {
		d.a.SetState(it.part, d.a.State(callState(v, d.linkTo(it.part))))
	}
	rest := messageRest(v)
	n := 0
	for c := v.Get("content").Elements(); c.Next() && n < len(it.texts); n++ {
		if i := it.texts[n]; i >= 0 {
			d.a.SetState(i, d.a.State(textState(rest, answerRest(c.Value), d.linkTo(i))))
		}
	}
}

func (d *decoder) settleCall(it *item, v wire.Value) {
	custom := it.kind == "custom_tool_call"
	whole := v.Get("arguments")
	if custom {
		whole = v.Get("input")
	}
	id, name := callID(v), v.Get("name").Str()
	if it.part < 0 {
		it.part = d.a.BeginCall(id, name, custom)
	}
	d.a.SetCall(it.part, id, name)
	d.a.Settle(it.part, whole.Str())
	d.a.SetState(it.part, d.a.State(callState(v, d.linkTo(it.part))))
	if v.Get("status").Is("incomplete") {
		d.a.Drop(it.part)
		return
	}
	d.calls++
	d.a.End(it.part)
}
