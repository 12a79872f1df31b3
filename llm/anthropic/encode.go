package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

var (
	// breakpoint is the last member in a block that ends a cached prefix.
	breakpoint = []byte(`,"cache_control":{"type":"ephemeral"}`)
	closing    = []byte("]}")
)

// Encode builds the HTTP request for r.
func (d *dialect) Encode(r *llm.Request) (*llm.Call, error) {
	if r.Model == "" {
		return nil, errors.New("the request names no model")
	}
	opts := r.Options[Name]
	stream := streams(r, opts)
	p := d.plan(r, opts)
	if p.err != nil {
		return nil, p.err
	}
	call := &llm.Call{Path: "/v1/messages", Stream: stream, Header: header(opts, p.betas)}
	h, err := p.head(r, opts, stream)
	if err != nil {
		return nil, err
	}
	if _, replaced := opts.Body["messages"]; replaced {
		h.Close('}')
		call.Body = llm.Body{h.Buf}
		return call, nil
	}
	h.Key("messages")
	h.Open('[')
	mark := !r.NoCache && !h.manual
	call.Body = make(llm.Body, 1, 7)
	var last prefix
	r.Cache.Encoder(Name, func() any { return new(history) }, func(e any) {
		call.Body, last, mark, err = e.(*history).add(call.Body, r, p, mark)
	})
	if err != nil {
		return nil, err
	}
	if mark && h.mark > 0 {
		h.Buf = slices.Insert(h.Buf, h.mark, p.breakpoint...)
	}
	call.Body[0] = h.Buf
	if p.prefix.on || r.Compact != "" {
		call.Seal = func(m *llm.Message) { last.seal(r.Model, m) }
	}
	return call, nil
}

func streams(r *llm.Request, opts llm.Options) bool {
	if v, ok := opts.Body["stream"]; ok {
		return string(bytes.TrimSpace(v)) == "true"
	}
	return !r.Unary
}

func header(opts llm.Options, planned []string) http.Header {
	h := http.Header{"Anthropic-Version": {version}}
	betas := slices.Clone(opts.Betas)
	for _, b := range planned {
		if !slices.Contains(betas, b) {
			betas = append(betas, b)
		}
	}
	for k, v := range opts.Header {
		if http.CanonicalHeaderKey(k) == "Anthropic-Beta" {
			betas = append(betas, v)
		} else {
			h.Set(k, v)
		}
	}
	if len(betas) > 0 {
		h.Set("Anthropic-Beta", strings.Join(betas, ","))
	}
	return h
}

// head is a request body up to its messages.
type head struct {
	wire.Head
	mark   int  // breakpoint position, or 0
	manual bool // the caller places cache breakpoints
}

// head writes the body up to the messages, and completes the plan with the message prefix.
func (p *plan) head(r *llm.Request, opts llm.Options, stream bool) (*head, error) {
	h := &head{Head: wire.Head{Options: merged(opts.Body, *p)}}
	h.manual = setsCacheControl(opts.Body)
	h.Buf = make([]byte, 0, wire.HeadSize(r))
	h.Open('{')
	if h.Set("model") {
		h.Str(r.Model)
	}
	if h.Set("max_tokens") {
		h.Int(p.maxTokens)
	}
	if stream && h.Set("stream") {
		h.Bool(true)
	}
	h.sampling(r, *p)
	if r.Tier != "" && h.Set("service_tier") {
		h.Str(r.Tier)
	}
	if r.Compact != "" && h.Set("compaction") {
		h.compaction(r.Compact)
	}
	if p.thinking != nil && h.Set("thinking") {
		h.Raw(p.thinking)
	}
	if p.output != nil && h.Set("output_config") {
		h.Raw(p.output)
	}
	if c := container(r); c != "" && h.Set("container") {
		h.Str(c)
	}
	tools, err := h.tools(r, *p)
	if err != nil {
		return nil, err
	}
	system := h.system(r, *p)
	if p.model.Rules.PrefixCheck {
		if theirs, ok := opts.Body["tools"]; ok {
			tools = theirs
		}
		if theirs, ok := opts.Body["system"]; ok {
			system = theirs
		}
		p.prefix = newPrefix(system, tools)
	}
	h.Extra()
	return h, nil
}

// compaction requests a summary with the caller's instructions instead of the server's prompt.
func (h *head) compaction(instructions string) {
	h.Open('{')
	h.Field("type", "summarize")
	h.Field("instructions", instructions)
	h.Close('}')
}

func (h *head) sampling(r *llm.Request, p plan) {
	on := p.thinks
	if t := r.Temperature; t != nil && !(on && *t != 1) && h.Set("temperature") {
		h.Float(*t)
	}
	if t := r.TopP; t != nil && r.Temperature == nil && !(on && *t < 0.95) && h.Set("top_p") {
		h.Float(*t)
	}
	if k := r.TopK; k != nil && !on && h.Set("top_k") {
		h.Int(int64(*k))
	}
	if len(r.Stop) > 0 && h.Set("stop_sequences") {
		h.Open('[')
		for _, s := range r.Stop {
			h.Str(s)
		}
		h.Close(']')
	}
}

// system writes the system blocks and returns them.
func (h *head) system(r *llm.Request, p plan) []byte {
	b := blocks{model: r.Model}
	for i := range r.Messages {
		m := &r.Messages[i]
		if !instructs(m.Role) || p.stays(r, i) {
			continue
		}
		for _, part := range m.Parts {
			b.system(part)
		}
	}
	if len(b.Buf) == 0 || !h.Set("system") {
		return nil
	}
	h.manual = h.manual || b.manual
	h.Open('[')
	if b.mark > 0 {
		h.mark = len(h.Buf) + b.mark
	}
	h.Raw(b.Buf)
	h.Close(']')
	return b.Buf
}

// container returns the container in the last answer, or "".
func container(r *llm.Request) string {
	for _, m := range slices.Backward(r.Messages) {
		if m.Role != llm.RoleAssistant {
			continue
		}
		for _, p := range m.Parts {
			if o, ok := p.(llm.Opaque); ok && o.Kind == containerKind && o.State.For(Name, r.Model) {
				if v, err := wire.ParseJSON(o.State.Data); err == nil {
					return v.Get("id").Str()
				}
			}
		}
		return ""
	}
	return ""
}

// merged returns the caller's options, completed by the plan's thinking and output_config.
func merged(options map[string]json.RawMessage, p plan) map[string]json.RawMessage {
	options = maps.Clone(options)
	for name, ours := range map[string][]byte{"thinking": p.thinking, "output_config": p.output} {
		// An option with its own type is complete.
		theirs, err := wire.ParseJSON(options[name])
		if err == nil && len(ours) > 0 && theirs.Kind() == '{' && theirs.Get("type") == nil {
			rest := wire.Rest(ours, func(key string, _ wire.Value) bool { return theirs.Get(key) != nil })
			options[name] = json.RawMessage(overlay(theirs, rest))
		}
	}
	return options
}

func setsCacheControl(options map[string]json.RawMessage) bool {
	for name, v := range options {
		if name == "cache_control" && string(v) != "null" || bytes.Contains(v, []byte(`"cache_control"`)) {
			return true
		}
	}
	return false
}
