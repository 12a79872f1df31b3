package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// Encode writes what stays the same over a conversation first and the input items last.
func (d *dialect) Encode(r *llm.Request) (*llm.Call, error) {
	options := r.Options[Name]
	call := &llm.Call{Path: "/responses", Header: make(http.Header), Stream: !r.Unary}
	for k, v := range options.Header {
		call.Header.Set(k, v)
	}
	m := d.model(r.Model)
	head, err := d.head(r, m, options.Body)
	if err != nil {
		return nil, err
	}
	form := newForm(r, m.Rules, options.Body)
	fixed, err := fixedPart(r, form, options.Body)
	if err != nil {
		return nil, err
	}
	if len(head) == len("{") {
		fixed = bytes.TrimPrefix(fixed, []byte(","))
	}
	if _, replaced := options.Body["input"]; replaced {
		call.Body = llm.Body{head, fixed, []byte("}")}
		return call, nil
	}
	key := []byte(`,"input":[`)
	if len(head)+len(fixed) == len("{") {
		key = key[1:]
	}
	items, err := d.input(r, form)
	if err != nil {
		return nil, err
	}
	call.Body = llm.Body{head, fixed, key, items, []byte("]}")}
	return call, nil
}

// form is how a request's messages are sent.
type form struct {
	stored bool          // the provider stores items and finds them by id
	late   bool          // system messages after the start stay in place
	inline bool          // added tools stay in place
	tools  []llm.ToolDef // tools at the start
}

func newForm(r *llm.Request, rules llm.Rules, options map[string]json.RawMessage) form {
	f := form{stored: stored(options), late: rules.LateSystem, tools: r.Tools}
	if _, replaced := options["tools"]; rules.InlineTools && !replaced && onlyAdds(r.Messages) {
		f.tools, f.inline = llm.BaseTools(r)
	}
	return f
}

// onlyAdds reports whether tools changed in the conversation, and were only added.
func onlyAdds(messages []llm.Message) bool {
	any := false
	for _, m := range messages {
		for _, p := range m.Parts {
			if c, ok := p.(llm.ToolChange); ok && len(c.Remove) > 0 {
				return false
			} else if ok {
				any = true
			}
		}
	}
	return any
}

// stored reports whether the options make the provider store the response. Without the member, that is its default.
func stored(body map[string]json.RawMessage) bool {
	v, replaced := body["store"]
	return replaced && strings.TrimSpace(string(v)) != "false"
}

// fixed writes the instructions and tools, which rarely change during a conversation. It identifies tools by their
// address, so they must not change after they were in a request with a cache.
type fixed struct {
	wire.Head
	text  string
	any   bool // there are instructions
	tools []llm.ToolDef
}

// fixedPart returns the instructions and tools, each after a comma. The bytes never change.
func fixedPart(r *llm.Request, form form, options map[string]json.RawMessage) (buf []byte, err error) {
	r.Cache.Encoder(Name+" fixed", func() any { return new(fixed) }, func(encoder any) {
		e := encoder.(*fixed)
		err = e.encode(r, form, options)
		buf = e.Buf
	})
	return buf, err
}

// encode encodes the instructions and tools, if they differ from the last request.
func (f *fixed) encode(r *llm.Request, form form, options map[string]json.RawMessage) error {
	text, any := instructions(r.Messages, form.late)
	same := text == f.text && any == f.any && sameTools(form.tools, f.tools, form.inline)
	if same && f.Buf != nil && reflect.DeepEqual(options, f.Options) {
		return nil
	}
	*f = fixed{wire.Head{Encoder: wire.Encoder{Buf: make([]byte, 0, wire.HeadSize(r))}, Options: options}, text, any, form.tools}
	f.Buf = append(f.Buf, ',')
	if any && f.Set("instructions") {
		f.Str(text)
	}
	err := tools(&f.Head, form.tools)
	switch {
	case err != nil:
		f.Buf = nil
	case len(f.Buf) == len(","):
		f.Buf = f.Buf[:0]
	}
	return err
}

// sameTools reports whether two lists are the same list or, if one was computed, have the same tools.
func sameTools(a, b []llm.ToolDef, computed bool) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || computed && reflect.DeepEqual(a, b))
}

// head writes the members before the fixed part.
func (d *dialect) head(r *llm.Request, m llm.Model, options map[string]json.RawMessage) ([]byte, error) {
	effort := wire.Effort(r.Effort, m.Efforts)
	if err := check(r, m, effort); err != nil {
		return nil, err
	}
	h := &wire.Head{Options: options}
	if options["reasoning"] != nil || options["text"] != nil {
		h.Options = maps.Clone(options)
		delete(h.Options, "reasoning")
		delete(h.Options, "text")
	}
	h.Buf = make([]byte, 0, 512)
	h.Open('{')
	if h.Set("model") {
		h.Str(r.Model)
	}
	d.transport(h, r)
	caching(h, r, m.Rules)
	sampling(h, r)
	merge(h, "reasoning", options["reasoning"], d.reasoning(r, m, effort))
	format, err := outputFormat(r.Output)
	if err != nil {
		return nil, err
	}
	merge(h, "text", options["text"], format)
	if r.ParallelTools != nil && h.Set("parallel_tool_calls") {
		h.Bool(*r.ParallelTools)
	}
	toolChoice(h, r)
	h.Extra()
	return h.Buf, nil
}

// transport writes how the answer is sent and stored.
func (d *dialect) transport(h *wire.Head, r *llm.Request) {
	if !r.Unary && h.Set("stream") {
		h.Bool(true)
	}
	if !r.Unary && !d.obfuscation && h.Set("stream_options") {
		h.Raw([]byte(`{"include_obfuscation":false}`))
	}
	if h.Set("store") {
		h.Bool(false)
	}
	if d.reasons(r.Model) && h.Set("include") {
		h.Raw([]byte(`["` + encryptedReasoning + `"]`))
	}
	if r.Tier != "" && h.Set("service_tier") {
		h.Str(r.Tier)
	}
}

// check returns an error for settings that the model refuses.
func check(r *llm.Request, m llm.Model, effort string) error {
	sampled := *r
	sampled.TopK = nil // the API has none
	if err := wire.CheckSampling(&sampled, m.Rules, m.Reasoning && effort != "none"); err != nil {
		return err
	}
	return wire.CheckCacheTTL(r, m.Rules, cacheOptions, cacheRetention)
}

// The members that control the prompt cache.
const (
	cacheOptions   = "prompt_cache_options"
	cacheRetention = "prompt_cache_retention"
)

// caching writes how the prompt is cached.
func caching(h *wire.Head, r *llm.Request, rules llm.Rules) {
	if r.CacheKey != "" && h.Set("prompt_cache_key") {
		h.Str(r.CacheKey)
	}
	switch {
	case r.NoCache && rules.Cache == cacheOptions && h.Set(cacheOptions):
		h.Raw([]byte(`{"mode":"explicit"}`)) // and no breakpoints: without it, the API caches and charges for that
	case r.CacheTTL != "" && rules.Cache == cacheOptions && h.Set(cacheOptions):
		h.Open('{')
		h.Field("ttl", r.CacheTTL)
		h.Close('}')
	case r.CacheTTL != "" && rules.Cache == cacheRetention && h.Set(cacheRetention):
		h.Str(r.CacheTTL)
	}
}

func sampling(h *wire.Head, r *llm.Request) {
	if r.MaxTokens > 0 && h.Set("max_output_tokens") {
		h.Int(int64(r.MaxTokens))
	}
	if r.Temperature != nil && h.Set("temperature") {
		h.Float(*r.Temperature)
	}
	if r.TopP != nil && h.Set("top_p") {
		h.Float(*r.TopP)
	}
}

// reasoning returns the adapter's members for the reasoning object.
func (d *dialect) reasoning(r *llm.Request, m llm.Model, effort string) []byte {
	var e wire.Encoder
	e.StrField("effort", effort)
	if effort != "none" {
		e.StrField("summary", d.summaries(r, m))
	}
	return e.Buf
}

// summaries returns the kind of summaries to ask for, "" for none.
func (d *dialect) summaries(r *llm.Request, m llm.Model) string {
	kind := cmp.Or(d.summary, "auto")
	switch r.Display {
	case "":
		if d.summary == "" && (!m.Reasoning || d.noSummary.Load()) {
			return ""
		}
	case "summarized":
	default:
		kind = r.Display
	}
	if kind == "none" || kind == "omitted" || !d.reasons(r.Model) {
		return ""
	}
	return kind
}

// merge writes an object with the adapter's own members, given without braces, and the option's members, which win.
func merge(h *wire.Head, name string, option json.RawMessage, own []byte) {
	over, _ := wire.ParseJSON(option)
	if over != nil && over.Kind() != '{' {
		if over.Exists() {
			h.Key(name)
			h.Raw(over)
		}
		return
	}
	if over == nil && len(own) == 0 {
		return
	}
	h.Key(name)
	h.Open('{')
	for m := wire.Value("{" + string(own) + "}").Members(); m.Next(); {
		if over.Get(string(m.Key)) == nil {
			h.Member(m.Key, m.Value)
		}
	}
	for m := over.Members(); m.Next(); {
		h.Member(m.Key, m.Value)
	}
	h.Close('}')
}

// instructions joins the system messages, except those that stay in place.
func instructions(messages []llm.Message, late bool) (text string, any bool) {
	var all []string
	started := false
	for _, m := range messages {
		switch {
		case m.Role != llm.RoleSystem:
			started = true
		case !inPlace(m) && !(late && started) && says(m):
			all = append(all, m.Text())
		}
	}
	return strings.Join(all, "\n\n"), all != nil
}

// says reports whether a system message has more than tool changes.
func says(m llm.Message) bool {
	return len(m.Parts) == 0 || slices.ContainsFunc(m.Parts, func(p llm.Part) bool { _, change := p.(llm.ToolChange); return !change })
}
