package bedrock

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// Encode builds the HTTP request for r.
func (d dialect) Encode(r *llm.Request) (*llm.Call, error) {
	if r.Model == "" {
		return nil, errors.New("the request names no model")
	}
	m := d.info(r.Model)
	if err := check(r, m); err != nil {
		return nil, err
	}
	opts := r.Options[Name]
	call := &llm.Call{Path: "/model/" + url.QueryEscape(r.Model) + "/converse", Header: http.Header{}, Stream: !r.Unary}
	if call.Stream {
		call.Path += "-stream"
		call.Header.Set("Accept", "application/vnd.amazon.eventstream")
	}
	for k, v := range opts.Header {
		call.Header.Set(k, v)
	}
	h := wire.Head{Options: opts.Body}
	h.Buf = make([]byte, 0, wire.HeadSize(r))
	h.Open('{')
	d.inference(&h, r)
	if r.Tier != "" && h.Set("serviceTier") {
		h.Open('{')
		h.Field("type", r.Tier)
		h.Close('}')
	}
	if fields := reasoning(r, m); fields != "" && h.Set("additionalModelRequestFields") {
		h.Raw([]byte(fields))
	}
	tools(&h, r)
	system(&h, r)
	h.Extra()
	if !h.Set("messages") {
		h.Close('}')
		call.Body = llm.Body{h.Buf}
		return call, nil
	}
	h.Open('[')
	var err error
	r.Cache.Encoder(Name, func() any { return new(messageEncoder) }, func(encoder any) {
		e := encoder.(*messageEncoder)
		err = e.encode(r)
		messages, tail := e.body()
		call.Body = llm.Body{h.Buf, messages, tail}
	})
	return call, err
}

func (d dialect) inference(h *wire.Head, r *llm.Request) {
	var c wire.Encoder
	c.Open('{')
	limit := int64(r.MaxTokens)
	if m, ok := d.catalogue.Exact("bedrock", r.Model); ok && limit == 0 {
		limit = m.MaxOutput
	}
	if limit > 0 {
		c.Key("maxTokens")
		c.Int(limit)
	}
	if r.Temperature != nil {
		c.Key("temperature")
		c.Float(*r.Temperature)
	}
	if r.TopP != nil {
		c.Key("topP")
		c.Float(*r.TopP)
	}
	if len(r.Stop) > 0 {
		c.Key("stopSequences")
		c.Open('[')
		for _, s := range r.Stop {
			c.Str(s)
		}
		c.Close(']')
	}
	c.Close('}')
	if len(c.Buf) > len("{}") && h.Set("inferenceConfig") {
		h.Raw(c.Buf)
	}
}

// reasoning returns the fields that set the effort, or "" if the model has none.
func reasoning(r *llm.Request, m llm.Model) string {
	switch effort := r.Effort; {
	case m.Provider == "anthropic":
		return claudeFields(r, m)
	case effort == "":
	case strings.Contains(r.Model, "nova-2"):
		if effort == "none" {
			return `{"reasoningConfig":{"type":"disabled"}}`
		}
		return `{"reasoningConfig":{"type":"enabled","maxReasoningEffort":"` + level(effort) + `"}}`
	case strings.Contains(r.Model, "gpt-oss"):
		return `{"reasoning_effort":"` + level(effort) + `"}`
	}
	return ""
}

// level returns the nearest of the three levels that the models have.
func level(effort string) string {
	switch effort {
	case "none", "minimal", "low":
		return "low"
	case "medium":
		return "medium"
	}
	return "high"
}

const (
	anyParameters  = `{"type":"object"}`
	textParameters = `{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}`
)

// tools writes the tools and the choice among them.
func tools(h *wire.Head, r *llm.Request) {
	var c wire.Encoder
	defs := r.Tools
	called := calledTools(r.Messages)
	switch {
	case len(defs) == 0:
		defs = called
	case r.ToolChoice.Mode == llm.ToolNone && len(called) == 0:
		defs = nil
	}
	for _, t := range defs {
		if t.Hosted.Dialect == Name {
			c.Raw(t.Hosted.Data)
		} else if t.Hosted.Dialect == "" {
			toolSpec(&c, t)
		}
	}
	if len(c.Buf) == 0 || !h.Set("toolConfig") {
		return
	}
	h.Open('{')
	h.Key("tools")
	h.Open('[')
	h.Raw(c.Buf)
	h.Close(']')
	switch r.ToolChoice.Mode {
	case llm.ToolRequired:
		h.Key("toolChoice")
		h.Raw([]byte(`{"any":{}}`))
	case llm.ToolNamed:
		h.Key("toolChoice")
		h.Raw([]byte(`{"tool":{"name":`))
		h.Str(r.ToolChoice.Name)
		h.Buf = append(h.Buf, "}}"...)
	}
	h.Close('}')
}

// calledTools returns a tool for every name that a conversation's calls use.
func calledTools(messages []llm.Message) (defs []llm.ToolDef) {
	seen := map[string]bool{}
	for _, m := range messages {
		for _, c := range m.ToolCalls() {
			if !seen[c.Name] {
				seen[c.Name] = true
				defs = append(defs, llm.ToolDef{Name: c.Name})
			}
		}
	}
	return defs
}

func toolSpec(e *wire.Encoder, t llm.ToolDef) {
	e.Open('{')
	e.Key("toolSpec")
	e.Open('{')
	e.Field("name", t.Name)
	e.StrField("description", t.Description)
	e.Key("inputSchema")
	e.Open('{')
	e.Key("json")
	schema, err := wire.ParseJSON(t.Parameters)
	switch {
	case t.Freeform != nil:
		e.Raw([]byte(textParameters))
	case err != nil || schema.Kind() != '{':
		e.Raw([]byte(anyParameters))
	default:
		e.Raw(schema)
	}
	e.Buf = append(e.Buf, "}}}"...)
}

// system writes the instructions and the output schema.
func system(h *wire.Head, r *llm.Request) {
	var texts []string
	for _, m := range r.Messages {
		if m.Role != llm.RoleSystem && m.Role != llm.RoleDeveloper {
			continue
		}
		for _, p := range m.Parts {
			if t, ok := p.(llm.Text); ok && !blank(t.Text) {
				texts = append(texts, t.Text)
			}
		}
	}
	if r.Output != nil {
		text := "Answer with one JSON object and nothing else: no other text and no code fence."
		if len(r.Output.Schema) > 0 {
			text += " It must match this JSON Schema: " + string(r.Output.Schema)
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 || !h.Set("system") {
		return
	}
	h.Open('[')
	for _, t := range texts {
		h.Open('{')
		h.Field("text", t)
		h.Close('}')
	}
	h.Close(']')
}

// blank reports whether the API refuses a text because it has only white space.
func blank(s string) bool { return strings.TrimSpace(s) == "" }
