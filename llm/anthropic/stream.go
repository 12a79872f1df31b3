package anthropic

import (
	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

func (d *dialect) NewDecoder(a *wire.Assembler) wire.Decoder { return &decoder{a: a} }

// decoder reads stream events.
type decoder struct {
	a          *wire.Assembler
	blocks     []block
	id         string // current message
	usage      wire.Value
	stopReason string
	container  wire.Value
	called     bool // a tool was called
	output     bool // the output tool was called
}

// event holds an event's members.
type event struct {
	kind, index, delta, block, message, usage wire.Value
}

func (d *decoder) Event(ev wire.Event) error {
	if string(ev.Data) == "[DONE]" {
		return nil
	}
	v, err := wire.ParseJSON(ev.Data)
	if err != nil {
		return err
	}
	var e event
	for m := v.Members(); m.Next(); {
		switch string(m.Key) {
		case "type":
			e.kind = m.Value
		case "index":
			e.index = m.Value
		case "delta":
			e.delta = m.Value
		case "content_block":
			e.block = m.Value
		case "message":
			e.message = m.Value
		case "usage":
			e.usage = m.Value
		}
	}
	switch {
	case e.kind.Is("content_block_delta"):
		d.delta(e.index.Int(), e.delta, v)
	case e.kind.Is("content_block_start"):
		d.begin(e.index.Int(), e.block)
	case e.kind.Is("content_block_stop"):
		d.stop(e.index.Int())
	case e.kind.Is("message_start"):
		d.start(e.message)
	case e.kind.Is("message_delta"):
		d.messageDelta(e, v)
	case e.kind.Is("message_stop"):
		d.finish()
	case e.kind.Is("ping"):
	case e.kind.Is("error") || v.Get("error").Exists() || string(ev.Name) == "error":
		return wire.BodyError(0, v)
	default:
		d.unknown(e.kind, ev, v)
	}
	return nil
}

// Usage returns the counts of message_start and of message_delta, which comes last.
func (d *decoder) Usage() (u llm.Usage, final bool) { return usage(d.usage), d.stopReason != "" }

// End does nothing, because only message_stop completes an answer.
func (d *decoder) End() {}

func (d *decoder) unknown(kind wire.Value, ev wire.Event, v wire.Value) {
	name := kind.Str()
	if name == "" {
		name = string(ev.Name)
	}
	d.a.Raw(name, v)
}

// start reads a message_start event. It may come twice for one message. A proxy that lost its server may
// continue with another message, which ends the open blocks.
func (d *decoder) start(message wire.Value) {
	id := message.Get("id").Str()
	again := d.id != "" && d.id == id
	if d.id != "" && !again {
		d.abandon()
	}
	d.id = id
	d.a.Start(id, message.Get("model").Str())
	d.addUsage(message.Get("usage"))
	d.transformed(message)
	if again {
		return
	}
	if s := message.Get("stop_reason").Str(); s != "" {
		d.stopReason = s
	}
	index := int64(0)
	for it := message.Get("content").Elements(); it.Next() && !d.a.Full(); index++ {
		d.begin(index, it.Value)
		if b := d.find(index); b != nil {
			b.filled = true
		}
	}
}

// abandon closes the open blocks in an interrupted message.
func (d *decoder) abandon() {
	for i := range d.blocks {
		if b := &d.blocks[i]; b.kind == callBlock {
			d.a.Drop(b.part)
		} else {
			d.close(b)
		}
	}
	d.blocks = d.blocks[:0]
}

func (d *decoder) messageDelta(e event, v wire.Value) {
	d.addUsage(e.usage)
	if s := e.delta.Get("stop_reason").Str(); s != "" {
		d.stopReason = s
	}
	d.transformed(v)
	d.detail(e.delta)
	if c := e.delta.Get("container"); c.Exists() {
		d.container = c.Clone()
	}
	if e.delta.Get("stop_details").Exists() || v.Get("context_management").Exists() {
		d.a.Raw("message_delta", v)
	}
}

// delta reads a content_block_delta event.
func (d *decoder) delta(index int64, delta, v wire.Value) {
	var kind, value, tokens wire.Value
	for m := delta.Members(); m.Next(); {
		switch {
		case string(m.Key) == "type":
			kind = m.Value
		case string(m.Key) == "estimated_tokens":
			tokens = m.Value
		case value == nil:
			value = m.Value
		}
	}
	b := d.find(index)
	if b == nil {
		b = d.announce(index, kind)
	}
	switch {
	case b == nil:
	case b.takes(kind):
		b.touched = true
		if n := tokens.Int(); n > 0 {
			b.tokens += n
			d.a.Progress(b.part, b.tokens)
		}
		d.a.Delta(b.part, b.unseen(value.Str()))
		return
	case b.add(kind, value, delta):
		b.touched = true
		d.a.Hold(len(delta))
		return
	}
	d.a.Raw("content_block_delta", v)
}

// announce opens the block for a delta without a start, if the delta determines its type.
func (d *decoder) announce(index int64, kind wire.Value) *block {
	switch {
	case kind.Is("text_delta"):
		d.begin(index, wire.Value(`{"type":"text"}`))
	case kind.Is("thinking_delta"):
		d.begin(index, wire.Value(`{"type":"thinking"}`))
	}
	return d.find(index)
}

// find returns the open block with this index, or nil.
func (d *decoder) find(index int64) *block {
	for i := len(d.blocks) - 1; i >= 0; i-- {
		if b := &d.blocks[i]; b.index == index && !b.closed {
			return b
		}
	}
	return nil
}

// blockCost approximates a block's memory without its content.
const blockCost = 512

// begin opens a block. It ignores a repeated start, and one for a block of message_start.
func (d *decoder) begin(index int64, v wire.Value) {
	kind, id := v.Get("type"), v.Get("id").Str()
	if b := d.find(index); b != nil {
		if kind.Is(b.typ) && b.id == id && (b.filled || !b.touched) {
			if b.filled {
				b.repeated = d.a.SoFar(b.part)
			}
			return
		}
		if b.kind == callBlock {
			d.a.Drop(b.part)
			b.closed = true
		} else {
			d.close(b)
		}
	}
	if !d.a.Hold(blockCost + len(v)) {
		return
	}
	b := block{index: index, id: id, typ: kind.Str()}
	switch {
	case b.typ == "text":
		b.kind, b.part = textBlock, d.a.BeginText()
		for it := v.Get("citations").Elements(); it.Next(); {
			b.cite(it.Value)
		}
		b.extra = extras(v, "type", "text", "citations")
		d.a.Delta(b.part, v.Get("text").Str())
	case b.typ == "thinking":
		b.kind, b.part = thinkingBlock, d.a.BeginThinking()
		b.signature = []byte(v.Get("signature").Str())
		b.extra = extras(v, "type", "thinking", "signature")
		d.a.Delta(b.part, v.Get("thinking").Str())
	case b.typ == "tool_use" && v.Get("name").Is(outputTool):
		b.kind, b.part = outputBlock, d.a.BeginText()
		b.input = input(v)
		d.output = true
	case b.typ == "tool_use":
		b.kind, b.part = callBlock, d.a.BeginCall(id, v.Get("name").Str(), false)
		b.input = input(v)
		b.extra = extras(v, "type", "id", "name", "input")
		d.called = true
	default:
		b.kind, b.opaque = opaqueBlock, newOpaque(v)
	}
	d.blocks = append(d.blocks, b)
}

func input(v wire.Value) string {
	if in := v.Get("input"); in.Exists() {
		return string(in)
	}
	return "{}"
}

// stop reads a content_block_stop event.
func (d *decoder) stop(index int64) {
	if b := d.find(index); b != nil {
		d.close(b)
	}
}

// close ends a block. A tool call without arguments stays open until the finish.
func (d *decoder) close(b *block) {
	if b.closed {
		return
	}
	b.closed = true
	switch b.kind {
	case opaqueBlock:
		d.a.Part(b.opaque.part(d.a))
		return
	case callBlock, outputBlock:
		if d.a.SoFar(b.part) == "" && b.input == "{}" {
			b.hollow = true
			return
		}
		d.fill(b)
		return
	}
	d.seal(b)
}

// fill ends a call. Without deltas, the input in its start becomes its arguments.
func (d *decoder) fill(b *block) {
	if d.a.SoFar(b.part) == "" {
		d.a.Delta(b.part, b.input)
	}
	d.seal(b)
}

// seal ends a block's part.
func (d *decoder) seal(b *block) {
	if s := b.state(); s != nil {
		d.a.SetState(b.part, d.a.State(s))
	}
	d.a.End(b.part)
}
