package chat

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// Encode encodes a request. The messages come last, so that the body is a prefix of the next request in the
// conversation.
func (d *dialect) Encode(r *llm.Request) (*llm.Call, error) {
	q := d.quirks(r.Model)
	opts := r.Options[Name]
	call := &llm.Call{Path: "/chat/completions", Header: http.Header{}, Stream: !r.Unary}
	for k, v := range opts.Header {
		call.Header.Set(k, v)
	}
	m, known := d.known(r.Model)
	caches, err := d.check(r, q, m)
	if err != nil {
		return nil, err
	}
	head := d.head(r, q, m, known, caches)
	q.ReasoningDue = q.ReasoningDue || m.Rules.NeedsThinking
	messages, tail, err := d.messages(r, q, caches)
	if err != nil {
		return nil, err
	}
	call.Body = llm.Body{head, messages, tail}
	return call, nil
}

// messages encodes the conversation: the part that the next request repeats, and the rest.
func (d *dialect) messages(r *llm.Request, q quirks, caches []byte) (fixed, tail []byte, err error) {
	encode := func(e *conversation) {
		e.quirks = q
		e.model = r.Model
		e.caches = caches
		e.serves = d.serves
		e.vision = true
		if m, ok := d.known(r.Model); ok {
			e.vision = m.Vision
		}
		fixed, tail, err = e.encode(r.Messages)
	}
	if r.Cache == nil {
		encode(&conversation{})
		return fixed, tail, err
	}
	// Several providers may alternate in one conversation. Each has its own buffer.
	r.Cache.Encoder(d.cacheKey, func() any { return new(conversation) }, func(e any) {
		encode(e.(*conversation))
	})
	return fixed, tail, err
}

// head encodes everything before the messages, with their opening bracket.
func (d *dialect) head(r *llm.Request, q quirks, m llm.Model, known bool, caches []byte) []byte {
	h := head{Head: wire.Head{Encoder: wire.Encoder{Buf: make([]byte, 0, wire.HeadSize(r))}, Options: r.Options[Name].Body}}
	h.drop("messages")
	h.Open('{')
	if h.Set("model") {
		h.Str(r.Model)
	}
	if !r.Unary {
		if h.Set("stream") {
			h.Bool(true)
		}
		if !q.NoStreamUsage {
			h.merge("stream_options", []byte(`{"include_usage":true}`))
		}
	}
	h.sampling(r, q, d.maxTokens(r))
	if !known || m.Reasoning {
		h.effort(r, q, m.Efforts)
	}
	if q.Split && h.Set("reasoning_split") {
		h.Bool(true)
	}
	h.output(r.Output, q)
	if r.CacheKey != "" && !q.NoCacheKey && h.Set("prompt_cache_key") {
		h.Str(r.CacheKey)
	}
	if caches != nil && h.Set(cacheControl) {
		h.Raw(caches)
	}
	if r.Tier != "" && h.Set("service_tier") {
		h.Str(r.Tier)
	}
	h.tools(r, q)
	h.Extra()
	h.Key("messages")
	h.Open('[')
	return h.Buf
}

// head is a wire.Head with objects that options can extend.
type head struct {
	wire.Head
	cloned bool
}

// drop removes an option.
func (h *head) drop(name string) {
	if _, ok := h.Options[name]; !ok {
		return
	}
	if !h.cloned {
		h.Options, h.cloned = maps.Clone(h.Options), true
	}
	delete(h.Options, name)
}

// merge writes an object, merged with the option called name. The option's members win; null members are dropped.
func (h *head) merge(name string, ours []byte) {
	opt, err := wire.ParseJSON(h.Options[name])
	if err != nil || opt.Kind() != '{' {
		if h.Set(name) {
			h.Raw(ours)
		}
		return
	}
	h.drop(name)
	h.Key(name)
	h.Open('{')
	for m := wire.Value(ours).Members(); m.Next(); {
		if opt.Get(string(m.Key)) == nil {
			h.member(m.Key, m.Value)
		}
	}
	for m := opt.Members(); m.Next(); {
		if m.Value.Exists() {
			h.member(m.Key, m.Value)
		}
	}
	h.Close('}')
}

func (h *head) member(key []byte, value wire.Value) {
	if b := h.Buf[len(h.Buf)-1]; b != '{' {
		h.Buf = append(h.Buf, ',')
	}
	h.Buf = wire.AppendString(h.Buf, string(key))
	h.Buf = append(h.Buf, ':')
	h.Raw(value)
}

func (h *head) sampling(r *llm.Request, q quirks, maxTokens int64) {
	if maxTokens > 0 && h.Set(cmp.Or(q.MaxTokens, "max_completion_tokens")) {
		h.Int(maxTokens)
	}
	if r.Temperature != nil && h.Set("temperature") {
		h.Float(*r.Temperature)
	}
	if r.TopP != nil && h.Set("top_p") {
		h.Float(*r.TopP)
	}
	if r.TopK != nil && !q.NoTopK && h.Set("top_k") {
		h.Int(int64(*r.TopK))
	}
	if len(r.Stop) > 0 && h.Set("stop") {
		h.Open('[')
		for _, s := range r.Stop {
			h.Str(s)
		}
		h.Close(']')
	}
}

// effort writes the reasoning effort in the server's form, as the nearest supported value.
func (h *head) effort(r *llm.Request, q quirks, supported []string) {
	if r.Effort == "" && r.ThinkingBudget == nil {
		return
	}
	effort := r.Effort
	if effort != "none" || q.Effort != effortTypeWord {
		effort = wire.Effort(effort, supported)
	}
	on := effort != "none"
	words := len(supported) > 0 && on && effort != ""
	var e wire.Encoder
	switch q.Effort {
	case effortObject:
		e.Open('{')
		if effort != "" {
			e.Key("effort")
			e.Str(effort)
		} else {
			e.Key("max_tokens")
			e.Int(int64(*r.ThinkingBudget))
		}
		e.Close('}')
		h.merge("reasoning", e.Buf)
	case effortType, effortAdaptive, effortTypeWord:
		if !words || q.Effort == effortTypeWord {
			h.merge("thinking", thinkingType(q, on))
		}
	case effortEnable:
		if (!words || r.ThinkingBudget != nil) && h.Set("enable_thinking") {
			h.Bool(on)
		}
		if r.ThinkingBudget != nil && h.Set("thinking_budget") {
			h.Int(int64(*r.ThinkingBudget))
		}
	case effortTemplate:
		h.merge("chat_template_kwargs", fmt.Appendf(nil, `{"enable_thinking":%t}`, on))
		words = false
	case effortNone:
		words = false
	}
	word := q.Effort == effortWord || q.Effort == effortTypeWord && on || words && q.Effort != effortObject
	if word && effort != "" && h.Set("reasoning_effort") {
		h.Str(effort)
	}
}

// thinkingType returns the object that switches thinking on or off.
func thinkingType(q quirks, on bool) []byte {
	switch {
	case !on:
		return []byte(`{"type":"disabled"}`)
	case q.Effort == effortAdaptive:
		return []byte(`{"type":"adaptive"}`)
	}
	return []byte(`{"type":"enabled"}`)
}

// output requests JSON.
func (h *head) output(o *llm.OutputFormat, q quirks) {
	if o == nil || !h.Set("response_format") {
		return
	}
	h.Open('{')
	h.Key("type")
	if len(o.Schema) == 0 || q.NoSchema {
		h.Str("json_object")
		h.Close('}')
		return
	}
	h.Str("json_schema")
	h.Key("json_schema")
	h.Open('{')
	h.Key("name")
	h.Str(cmp.Or(o.Name, "output"))
	h.StrField("description", o.Description)
	if o.Strict != nil {
		h.Key("strict")
		h.Bool(*o.Strict)
	}
	h.Key("schema")
	h.Raw(compact(o.Schema))
	h.Close('}')
	h.Close('}')
}

// tools writes the tools, and the members that servers refuse without tools.
func (h *head) tools(r *llm.Request, q quirks) {
	n := 0
	for _, t := range r.Tools {
		if offered(t, r.Model) {
			n++
		}
	}
	if n == 0 {
		return
	}
	if r.ParallelTools != nil && !q.NoParallel && h.Set("parallel_tool_calls") {
		h.Bool(*r.ParallelTools)
	}
	h.choice(r.ToolChoice, q)
	if !h.Set("tools") {
		return
	}
	h.Open('[')
	for _, t := range r.Tools {
		if offered(t, r.Model) {
			h.tool(t, q)
		}
	}
	h.Close(']')
}

// offered reports whether this dialect can send the tool.
func offered(t llm.ToolDef, model string) bool {
	return t.Hosted.Dialect == "" || t.Hosted.For(Name, model)
}

func (h *head) choice(c llm.ToolChoice, q quirks) {
	mode := string(c.Mode)
	if mode == "" || c.Mode == llm.ToolNamed && c.Name == "" {
		return
	}
	if q.NoRequired && (c.Mode == llm.ToolRequired || c.Mode == llm.ToolNamed) {
		mode = string(llm.ToolAuto)
	}
	if !h.Set("tool_choice") {
		return
	}
	if mode != string(llm.ToolNamed) {
		h.Str(mode)
		return
	}
	h.Open('{')
	h.Key("type")
	h.Str("function")
	h.Key("function")
	h.Open('{')
	h.Key("name")
	h.Str(c.Name)
	h.Close('}')
	h.Close('}')
}

func (h *head) tool(t llm.ToolDef, q quirks) {
	if t.Hosted.Dialect != "" {
		h.Raw(t.Hosted.Data)
		return
	}
	h.Open('{')
	h.Key("type")
	h.Str("function")
	h.Key("function")
	h.Open('{')
	h.Key("name")
	h.Str(t.Name)
	h.StrField("description", t.Description)
	if t.Strict != nil && !q.NoStrict && t.Freeform == nil {
		h.Key("strict")
		h.Bool(*t.Strict)
	}
	h.Key("parameters")
	switch {
	case t.Freeform != nil:
		h.freeform(*t.Freeform)
	case len(t.Parameters) > 0:
		h.Raw(compact(t.Parameters))
	default:
		h.Raw([]byte(`{"type":"object","properties":{}}`))
	}
	h.Close('}')
	h.Close('}')
}

// freeform writes the schema for free text.
func (h *head) freeform(f llm.Freeform) {
	h.Buf = append(h.Buf, `{"type":"object","properties":{"input":{"type":"string"`...)
	if f.Definition != "" {
		h.Buf = append(h.Buf, `,"description":`...)
		h.Buf = wire.AppendString(h.Buf, "Text that follows this "+f.Syntax+" grammar:\n"+f.Definition)
	}
	h.Buf = append(h.Buf, `}},"required":["input"],"additionalProperties":false}`...)
}

// compact removes white space from JSON, because providers charge for it.
func compact(raw []byte) []byte {
	if bytes.IndexByte(raw, '\n') < 0 && !bytes.Contains(raw, []byte(`": `)) {
		return raw
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}
