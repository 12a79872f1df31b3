package openai

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"strings"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/wire"
)

// Encode writes what stays the same over a conversation first and the input items last.
func (d *dialect) Encode(r *llm.Request) (*wire.Call, error) {
	options := r.Options[Name]
	call := &wire.Call{Path: "/responses", Header: make(http.Header), Stream: !r.Unary}
	for k, v := range options.Header {
		call.Header.Set(k, v)
	}
	head, err := d.head(r, options.Body)
	if err != nil {
		return nil, err
	}
	fixed, err := fixedPart(r, options.Body)
	if err != nil {
		return nil, err
	}
	if len(head) == len("{") {
		fixed = bytes.TrimPrefix(fixed, []byte(","))
	}
	if _, replaced := options.Body["input"]; replaced {
		call.Body = wire.Body{head, fixed, []byte("}")}
		return call, nil
	}
	key := []byte(`,"input":[`)
	if len(head)+len(fixed) == len("{") {
		key = key[1:]
	}
	items, err := d.input(r, stored(options.Body))
	if err != nil {
		return nil, err
	}
	call.Body = wire.Body{head, fixed, key, items, []byte("]}")}
	return call, nil
}

// stored reports whether the provider stores the response because of the options. Without the member, that is
// its default.
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
func fixedPart(r *llm.Request, options map[string]json.RawMessage) (buf []byte, err error) {
	r.Cache.Encoder(Name+" fixed", func() any { return new(fixed) }, func(encoder any) {
		e := encoder.(*fixed)
		err = e.encode(r, options)
		buf = e.Buf
	})
	return buf, err
}

// encode encodes the instructions and tools, if they are not those of the last request.
func (f *fixed) encode(r *llm.Request, options map[string]json.RawMessage) error {
	text, any := instructions(r.Messages)
	same := text == f.text && any == f.any && len(r.Tools) == len(f.tools) && (len(r.Tools) == 0 || &r.Tools[0] == &f.tools[0])
	if same && f.Buf != nil && reflect.DeepEqual(options, f.Options) {
		return nil
	}
	*f = fixed{wire.Head{Encoder: wire.Encoder{Buf: make([]byte, 0, wire.HeadSize(r))}, Options: options}, text, any, r.Tools}
	f.Buf = append(f.Buf, ',')
	if any && f.Set("instructions") {
		f.Str(text)
	}
	err := tools(&f.Head, r.Tools)
	switch {
	case err != nil:
		f.Buf = nil
	case len(f.Buf) == len(","):
		f.Buf = f.Buf[:0]
	}
	return err
}

// head writes the members before the fixed part.
func (d *dialect) head(r *llm.Request, options map[string]json.RawMessage) ([]byte, error) {
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
	d.sampling(h, r)
	merge(h, "reasoning", options["reasoning"], d.reasoning(r))
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
	if r.CacheKey != "" && h.Set("prompt_cache_key") {
		h.Str(r.CacheKey)
	}
}

func (d *dialect) sampling(h *wire.Head, r *llm.Request) {
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

// reasoning returns the adapter's members of the reasoning object.
func (d *dialect) reasoning(r *llm.Request) []byte {
	var e wire.Encoder
	e.StrField("effort", r.Effort)
	if d.summary != "" && r.Effort != "none" && d.reasons(r.Model) {
		e.StrField("summary", d.summary)
	}
	return e.Buf
}

// merge writes an object with the adapter's own members, given without braces, and those of an option, which
// win.
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
func instructions(messages []llm.Message) (text string, any bool) {
	var all []string
	for _, m := range messages {
		if m.Role == llm.RoleSystem && !inPlace(m) {
			all = append(all, m.Text())
		}
	}
	return strings.Join(all, "\n\n"), all != nil
}
