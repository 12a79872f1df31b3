package anthropic

import (
	"errors"
	"slices"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// Decode reads a whole answer.
func (d *dialect) Decode(body []byte, a *wire.Assembler) error {
	v, err := wire.ParseJSON(body)
	if err != nil {
		return err
	}
	if v.Get("type").Is("error") || v.Get("error").Exists() {
		return wire.BodyError(0, v)
	}
	content := v.Get("content")
	if content.Kind() != '[' {
		return errors.New("the response has no content")
	}
	dec := &decoder{a: a}
	a.Start(v.Get("id").Str(), v.Get("model").Str())
	dec.addUsage(v.Get("usage"))
	dec.transformed(v)
	dec.detail(v)
	dec.stopReason = v.Get("stop_reason").Str()
	index := int64(0)
	for it := content.Elements(); it.Next() && !a.Full(); index++ {
		dec.stop(index - 1) // the last block stays open, because it may be truncated
		dec.begin(index, it.Value)
	}
	dec.dropCut()
	dec.container = v.Get("container").Clone()
	for _, name := range []string{"stop_details", "context_management"} {
		if extra := v.Get(name); extra.Exists() {
			a.Raw(name, extra)
		}
	}
	dec.finish()
	return nil
}

// finish completes the answer.
func (d *decoder) finish() {
	reason := finishReason(d.stopReason)
	for i := range d.blocks {
		b := &d.blocks[i]
		d.close(b)
		if b.hollow {
			d.fillHollow(b, reason == llm.FinishLength && i == len(d.blocks)-1)
		}
	}
	if d.container.Kind() == '{' {
		d.a.Part(llm.Opaque{Kind: containerKind, State: d.a.State(d.container)})
	}
	u := usage(d.usage)
	if reason == llm.FinishCompaction {
		u = withCompaction(u, d.usage)
	}
	d.a.Usage(u)
	if reason == llm.FinishToolCalls && d.output && !d.called {
		reason = llm.FinishStop
	}
	d.a.Finish(reason, d.stopReason)
}

// dropCut drops the last call in a truncated unary answer: its input is an object, but members may be missing.
func (d *decoder) dropCut() {
	if n := len(d.blocks); n > 0 && d.blocks[n-1].kind == callBlock && finishReason(d.stopReason) == llm.FinishLength {
		d.a.Drop(d.blocks[n-1].part)
		d.blocks = d.blocks[:n-1]
	}
}

// fillHollow ends a call without arguments, or drops it if the answer was truncated.
func (d *decoder) fillHollow(b *block, cut bool) {
	if cut {
		d.a.Drop(b.part)
		return
	}
	d.fill(b)
}

// transformed reads which parts of the request the server left out.
func (d *decoder) transformed(v wire.Value) {
	var list []llm.Dropped
	for it := v.Get("input_transformations").Elements(); it.Next() && !d.a.Full(); {
		kind := it.Value.Get("type")
		if allowed := kind.Is("thinking_mismatch_allowed"); allowed || kind.Is("thinking_dropped") {
			list = append(list, llm.Dropped{Path: it.Value.Get("path").Str(), Reason: it.Value.Get("reason").Str(), Allowed: allowed})
		}
	}
	if len(list) > 0 {
		d.a.Dropped(list)
	}
}

// detail reads the refusal category.
func (d *decoder) detail(v wire.Value) {
	if category := v.Get("stop_details", "category").Str(); category != "" {
		d.a.Detail(category)
	}
}

func finishReason(raw string) llm.FinishReason {
	switch raw {
	case "end_turn", "stop_sequence":
		return llm.FinishStop
	case "tool_use":
		return llm.FinishToolCalls
	case "max_tokens", "model_context_window_exceeded":
		return llm.FinishLength
	case "refusal":
		return llm.FinishContentFilter
	case "pause_turn":
		return llm.FinishPause
	case "compaction":
		return llm.FinishCompaction
	}
	return llm.FinishOther
}

// usage reads a usage object. Its input_tokens exclude tokens read from or written to the cache.
func usage(raw wire.Value) llm.Usage {
	if raw.Kind() != '{' {
		return llm.Usage{}
	}
	var u llm.Usage
	u.Raw = []byte(raw)
	u.Tier = raw.Get("service_tier").Str()
	u.CacheRead = raw.Get("cache_read_input_tokens").Int()
	u.CacheWriteLong = raw.Get("cache_creation", "ephemeral_1h_input_tokens").Int()
	u.CacheWrite = raw.Get("cache_creation_input_tokens").Int()
	if u.CacheWrite == 0 {
		u.CacheWrite = u.CacheWriteLong + raw.Get("cache_creation", "ephemeral_5m_input_tokens").Int()
	}
	u.Input = raw.Get("input_tokens").Int() + u.CacheRead + u.CacheWrite
	u.Output = raw.Get("output_tokens").Int()
	u.Reasoning = raw.Get("output_tokens_details", "thinking_tokens").Int()
	u.Searches = raw.Get("server_tool_use", "web_search_requests").Int()
	return u
}

// withCompaction adds the tokens that a compaction used, which the message counts do not contain.
func withCompaction(u llm.Usage, raw wire.Value) llm.Usage {
	for it := raw.Get("iterations").Elements(); it.Next(); {
		if it.Value.Get("type").Is("compaction") {
			u = u.Add(usage(it.Value))
		}
	}
	u.Raw = []byte(raw)
	return u
}

// addUsage overwrites the counts from earlier events with those in v.
func (d *decoder) addUsage(v wire.Value) {
	switch {
	case v.Kind() != '{':
	case d.usage == nil:
		d.usage = v.Clone()
	default:
		before := len(d.usage)
		d.usage = overlay(d.usage, v)
		d.a.Hold(64 * max(0, len(d.usage)-before)) // more than its size, because merging takes time
	}
}

// overlay returns base with the non-null members of over in place of its own.
func overlay(base, over wire.Value) wire.Value {
	var e wire.Encoder
	e.Open('{')
	for m := base.Members(); m.Next(); {
		if v := over.Get(string(m.Key)); v.Exists() {
			m.Value = v
		}
		e.Member(m.Key, m.Value)
	}
	for m := over.Members(); m.Next(); {
		if base.Get(string(m.Key)) == nil {
			e.Member(m.Key, m.Value)
		}
	}
	e.Close('}')
	return wire.Value(e.Buf)
}

// extras returns the block members that are neither known nor empty, or nil.
func extras(v wire.Value, known ...string) []byte {
	return wire.Rest(v, func(key string, v wire.Value) bool {
		return !v.Exists() || string(v) == "[]" || slices.Contains(known, key)
	})
}
