package bedrock

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// Decode reads a whole answer.
func (dialect) Decode(body []byte, a *wire.Assembler) error {
	v, err := wire.ParseJSON(body)
	if err != nil {
		return err
	}
	content := v.Get("output", "message", "content")
	if content.Kind() != '[' {
		return errors.New("the response has no content")
	}
	d := &decoder{a: a, stop: v.Get("stopReason").Str()}
	a.Start("", a.Model)
	last := -1
	for it := content.Elements(); it.Next() && !a.Full(); {
		last = d.whole(it.Value)
	}
	if last >= 0 && finishReason(d.stop) == llm.FinishLength {
		a.Drop(last) // its input is an object, but members may be missing
	}
	d.usage, d.tier = v.Get("usage").Clone(), v.Get("serviceTier", "type").Str()
	for _, name := range []string{"trace", "additionalModelResponseFields"} {
		if extra := v.Get(name); extra.Exists() {
			a.Raw(name, extra)
		}
	}
	d.finish()
	return nil
}

// whole adds a block that arrived whole. It returns a tool call's part, which stays open, or -1.
func (d *decoder) whole(v wire.Value) int {
	if t := v.Get("text"); t.Kind() == '"' {
		i := d.a.BeginText()
		d.a.Delta(i, t.Str())
		d.a.End(i)
	} else if c := v.Get("toolUse"); c.Kind() == '{' && !c.Get("type").Is("server_tool_use") {
		i := d.a.BeginCall(c.Get("toolUseId").Str(), c.Get("name").Str(), false)
		d.a.Delta(i, string(c.Get("input")))
		d.calls = append(d.calls, i)
		return i
	} else if r := v.Get("reasoningContent"); r.Kind() == '{' {
		b := block{part: -1, redacted: []byte(r.Get("redactedContent").Str()), signature: []byte(r.Get("reasoningText", "signature").Str())}
		if len(b.redacted) == 0 {
			b.part = d.a.BeginThinking()
			d.a.Delta(b.part, r.Get("reasoningText", "text").Str())
		}
		d.end(&b)
	} else if c := v.Get("citationsContent"); c.Kind() == '{' {
		i := d.a.BeginText()
		for it := c.Get("content").Elements(); it.Next(); {
			d.a.Delta(i, it.Value.Get("text").Str())
		}
		d.a.SetState(i, d.a.State(v))
		d.a.End(i)
	} else {
		d.a.Part(llm.Opaque{Kind: kind(v), State: d.a.State(v)})
	}
	return -1
}

// kind returns a block's name, which is its only member.
func kind(v wire.Value) string {
	m := v.Members()
	m.Next()
	return string(m.Key)
}

func (dialect) NewDecoder(a *wire.Assembler) wire.Decoder {
	return &decoder{a: a, blocks: map[int64]*block{}}
}

// decoder reads stream events.
type decoder struct {
	a      *wire.Assembler
	blocks map[int64]*block
	calls  []int // the parts of tool calls
	stop   string
	usage  wire.Value
	tier   string // the service tier
}

// block is a content block that is being streamed.
type block struct {
	part                int // -1 for redacted thinking, which is added at its end
	signature, redacted []byte
	closed              bool
}

func (d *decoder) Event(ev wire.Event) error {
	v, err := wire.ParseJSON(ev.Data)
	if err != nil {
		return err
	}
	index := v.Get("contentBlockIndex").Int()
	switch string(ev.Name) {
	case "messageStart":
		d.a.Start("", d.a.Model)
	case "contentBlockStart":
		if c := v.Get("start", "toolUse"); c.Kind() == '{' {
			d.begin(index, func() int { return d.a.BeginCall(c.Get("toolUseId").Str(), c.Get("name").Str(), false) }, true)
		}
	case "contentBlockDelta":
		d.delta(index, v.Get("delta"), v)
	case "contentBlockStop":
		if b := d.blocks[index]; b != nil {
			d.end(b)
		}
	case "messageStop":
		d.stop = v.Get("stopReason").Str()
		if v.Get("additionalModelResponseFields").Exists() {
			d.a.Raw("messageStop", v)
		}
	case "metadata":
		d.usage, d.tier = v.Get("usage").Clone(), v.Get("serviceTier", "type").Str()
		if v.Get("trace").Exists() {
			d.a.Raw("metadata", v)
		}
		d.End()
	default:
		d.a.Raw(string(ev.Name), v)
	}
	return nil
}

// Usage returns the counts, which arrive last.
func (d *decoder) Usage() (u llm.Usage, final bool) { return d.counts(), d.usage != nil }

// counts returns the counts with their service tier.
func (d *decoder) counts() llm.Usage {
	u := usage(d.usage)
	u.Tier = d.tier
	return u
}

// End finishes the answer if its stop reason arrived.
func (d *decoder) End() {
	if d.stop != "" {
		d.finish()
	}
}

// begin returns the block with this index, and opens it if it is new.
func (d *decoder) begin(index int64, open func() int, call bool) *block {
	b := d.blocks[index]
	if b == nil {
		b = &block{part: open()}
		d.blocks[index] = b
		if call {
			d.calls = append(d.calls, b.part)
		}
	}
	return b
}

func (d *decoder) delta(index int64, delta, v wire.Value) {
	switch {
	case delta.Get("text").Kind() == '"':
		b := d.begin(index, d.a.BeginText, false)
		d.a.Delta(b.part, delta.Get("text").Str())
	case delta.Get("toolUse").Kind() == '{':
		if b := d.blocks[index]; b != nil {
			d.a.Delta(b.part, delta.Get("toolUse", "input").Str())
		}
	case delta.Get("reasoningContent").Kind() == '{':
		d.thinking(index, delta.Get("reasoningContent"))
	default:
		d.a.Raw("contentBlockDelta", v)
	}
}

func (d *decoder) thinking(index int64, delta wire.Value) {
	open := d.a.BeginThinking
	if delta.Get("redactedContent").Exists() {
		open = func() int { return -1 }
	}
	const blockCost = 512 // approximate memory for a block without its content
	if d.a.Hold(blockCost + len(delta)) {
		b := d.begin(index, open, false)
		d.a.Delta(b.part, delta.Get("text").Str())
		b.signature = append(b.signature, delta.Get("signature").Str()...)
		b.redacted = append(b.redacted, delta.Get("redactedContent").Str()...)
	}
}

// end closes a block.
func (d *decoder) end(b *block) {
	if b.closed {
		return
	}
	b.closed = true
	state := b.state()
	if b.part < 0 {
		d.a.Part(llm.Thinking{Redacted: true, State: d.a.State(state)})
		return
	}
	if state != nil {
		d.a.SetState(b.part, d.a.State(state))
	}
	d.a.End(b.part)
}

// state returns the thinking State to send back, or nil.
func (b *block) state() []byte {
	if len(b.signature)+len(b.redacted) == 0 {
		return nil
	}
	var e wire.Encoder
	e.Open('{')
	e.StrField("signature", string(b.signature))
	e.StrField("redactedContent", string(b.redacted))
	e.Close('}')
	return e.Buf
}

// finish completes the answer. A complete call without arguments gets {}.
func (d *decoder) finish() {
	reason := finishReason(d.stop)
	if reason == llm.FinishStop && len(d.calls) > 0 {
		reason = llm.FinishToolCalls
	}
	for _, index := range slices.Sorted(maps.Keys(d.blocks)) {
		d.end(d.blocks[index])
	}
	for _, i := range d.calls {
		if reason == llm.FinishToolCalls && d.a.SoFar(i) == "" {
			d.a.Delta(i, "{}")
		}
		d.a.End(i)
	}
	if d.usage != nil {
		d.a.Usage(d.counts())
	}
	d.a.Finish(reason, d.stop)
}

func finishReason(raw string) llm.FinishReason {
	switch raw {
	case "end_turn", "stop_sequence":
		return llm.FinishStop
	case "tool_use":
		return llm.FinishToolCalls
	case "max_tokens", "model_context_window_exceeded":
		return llm.FinishLength
	case "content_filtered", "guardrail_intervened":
		return llm.FinishContentFilter
	case "malformed_model_output", "malformed_tool_use":
		return llm.FinishError
	}
	return llm.FinishOther
}

// usage reads the token counts. inputTokens exclude cached tokens.
func usage(raw wire.Value) llm.Usage {
	u := llm.Usage{
		Output:     raw.Get("outputTokens").Int(),
		CacheRead:  raw.Get("cacheReadInputTokens").Int(),
		CacheWrite: raw.Get("cacheWriteInputTokens").Int(),
	}
	u.Input = raw.Get("inputTokens").Int() + u.CacheRead + u.CacheWrite
	for it := raw.Get("cacheDetails").Elements(); it.Next(); {
		if it.Value.Get("ttl").Is("1h") {
			u.CacheWriteLong += it.Value.Get("inputTokens").Int()
		}
	}
	if raw.Kind() == '{' {
		u.Raw = json.RawMessage(slices.Clone(raw))
	}
	return u
}
