package openai

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/wire"
)

var _ wire.Parser = (*dialect)(nil)

// Parse reads a request body. A member without a field in llm.Request becomes an option. A missing member
// that Encode would write becomes a null option. Null members count as missing, and a list of one text
// is the same as the text. A function without strict gets it from Encode, as false.
func (d *dialect) Parse(body []byte) (*llm.Request, []string, error) {
	v, err := wire.ParseJSON(body)
	if err != nil {
		return nil, nil, err
	}
	if v.Kind() != '{' {
		return nil, nil, errors.New("the request is not a JSON object")
	}
	p := parser{
		req:     &llm.Request{Model: v.Get("model").Str(), Unary: !v.Get("stream").Bool()},
		options: make(map[string]json.RawMessage),
	}
	if text := v.Get("instructions"); text.Kind() == '"' {
		p.req.Messages = append(p.req.Messages, llm.SystemText(text.Str()))
	}
	for m := v.Members(); m.Next(); {
		if m.Value.Exists() && !p.top(string(m.Key), m.Value) {
			p.options[string(m.Key)] = json.RawMessage(m.Value.Clone())
		}
	}
	p.defaults(d, v)
	if len(p.options) > 0 {
		p.req.Options = map[string]llm.Options{Name: {Body: p.options}}
	}
	return p.req, p.dropped, nil
}

type parser struct {
	req     *llm.Request
	options map[string]json.RawMessage
	dropped []string
}

// top reads a top-level member and reports whether the request represents all of it.
func (p *parser) top(key string, v wire.Value) bool {
	r := p.req
	switch key {
	case "model", "instructions":
		return v.Kind() == '"'
	case "stream":
		return v.Kind() == 't' || v.Kind() == 'f'
	case "input":
		return p.input(v)
	case "tools":
		return p.tools(v)
	case "tool_choice":
		return p.toolChoice(v)
	case "parallel_tool_calls":
		r.ParallelTools = new(v.Bool())
	case "max_output_tokens":
		r.MaxTokens = max(0, int(v.Int()))
		return r.MaxTokens > 0
	case "temperature":
		r.Temperature = number(v)
		return r.Temperature != nil
	case "top_p":
		r.TopP = number(v)
		return r.TopP != nil
	case "prompt_cache_key":
		r.CacheKey = v.Str()
		return r.CacheKey != ""
	case "reasoning":
		return p.reasoning(v)
	case "text":
		return p.text(v)
	default:
		return false
	}
	return true
}

func number(v wire.Value) *float64 {
	if v.Kind() != '0' {
		return nil
	}
	return new(v.Float())
}

// defaults adds null options for missing members that Encode would write, and removes options that are what
// Encode writes anyway.
func (p *parser) defaults(d *dialect, v wire.Value) {
	note := func(key, standard string, written bool) {
		switch {
		case !v.Get(key).Exists():
			if written {
				p.options[key] = json.RawMessage("null")
			}
		case written && compact(p.options[key]) == standard:
			delete(p.options, key)
		}
	}
	note("store", "false", true)
	note("include", `["`+encryptedReasoning+`"]`, d.reasons(p.req.Model))
	if !v.Get("reasoning", "summary").Exists() && d.summaries(p.req, d.model(p.req.Model)) != "" {
		p.req.Display = "omitted"
	}
	note("stream_options", `{"include_obfuscation":false}`, !p.req.Unary && !d.obfuscation)
}

func compact(raw json.RawMessage) string {
	b, err := json.Marshal(raw)
	if err != nil {
		return ""
	}
	return string(b)
}

// reasoning reads the effort; the rest becomes an option.
func (p *parser) reasoning(v wire.Value) bool {
	if v.Kind() != '{' {
		return false
	}
	p.req.Effort = v.Get("effort").Str()
	rest := wire.Rest(v, func(key string, _ wire.Value) bool { return key == "effort" && p.req.Effort != "" })
	if rest != nil || p.req.Effort == "" {
		p.options["reasoning"] = orEmpty(rest)
	}
	return true
}

// text reads the format if it is JSON; the rest becomes an option.
func (p *parser) text(v wire.Value) bool {
	if v.Kind() != '{' {
		return false
	}
	taken := p.format(v.Get("format"))
	rest := wire.Rest(v, func(key string, _ wire.Value) bool { return taken && key == "format" })
	if rest != nil || !taken {
		p.options["text"] = orEmpty(rest)
	}
	return true
}

func orEmpty(object []byte) json.RawMessage {
	if object == nil {
		return json.RawMessage("{}")
	}
	return object
}

func (p *parser) format(v wire.Value) bool {
	var o llm.OutputFormat
	for m := v.Members(); m.Next(); {
		switch string(m.Key) {
		case "type":
		case "name":
			o.Name = m.Value.Str()
		case "description":
			o.Description = m.Value.Str()
		case "schema":
			o.Schema = json.RawMessage(m.Value.Clone())
		case "strict":
			o.Strict = new(m.Value.Bool())
		default:
			return false
		}
	}
	switch {
	case v.Get("type").Is("json_object") && o.Name == "" && o.Description == "" && o.Strict == nil && o.Schema == nil:
	case v.Get("type").Is("json_schema") && wire.Value(o.Schema).Kind() == '{' && formatName(o.Name) == o.Name:
		if o.Strict == nil { // Encode's default differs from the API's
			o.Strict = new(bool)
		}
	default:
		return false
	}
	p.req.Output = &o
	return true
}

func (p *parser) tools(v wire.Value) bool {
	if v.Kind() != '[' {
		return false
	}
	for it := v.Elements(); it.Next(); {
		p.req.Tools = append(p.req.Tools, toolFrom(it.Value))
	}
	return true
}

func (p *parser) toolChoice(v wire.Value) bool {
	switch mode := llm.ToolMode(v.Str()); mode {
	case llm.ToolAuto, llm.ToolNone, llm.ToolRequired:
		p.req.ToolChoice = llm.ToolChoice{Mode: mode}
		return true
	}
	kind, name, n := v.Get("type"), v.Get("name").Str(), 0
	for m := v.Members(); m.Next(); {
		n++
	}
	if !kind.Is("function") || name == "" || n != 2 {
		return false
	}
	p.req.ToolChoice = llm.ToolChoice{Mode: llm.ToolNamed, Name: name}
	return true
}

// toolFrom reads a tool definition. One with members that ToolDef has no field for is also stored whole as a
// hosted tool.
func toolFrom(v wire.Value) llm.ToolDef {
	var t llm.ToolDef
	known := v.Get("name").Kind() == '"'
	for m := v.Members(); m.Next(); {
		switch string(m.Key) {
		case "type":
			known = known && (m.Value.Is("function") || m.Value.Is("custom"))
		case "name":
			t.Name = m.Value.Str()
		case "description":
			t.Description = m.Value.Str()
			known = known && t.Description != ""
		case "parameters":
			t.Parameters = json.RawMessage(m.Value.Clone())
			known = known && m.Value.Kind() == '{'
		case "strict":
			t.Strict = new(m.Value.Bool())
			known = known && (m.Value.Kind() == 't' || m.Value.Kind() == 'f')
		case "format":
			t.Freeform = &llm.Freeform{Syntax: m.Value.Get("syntax").Str(), Definition: m.Value.Get("definition").Str()}
			known = known && m.Value.Get("type").Is("grammar")
		default:
			known = false
		}
	}
	if v.Get("type").Is("custom") && t.Freeform == nil {
		t.Freeform = &llm.Freeform{}
	}
	if !known || t.Freeform == nil && t.Parameters == nil {
		t.Hosted = llm.State{Dialect: Name, Data: v.Clone()}
	}
	return t
}

func (p *parser) drop(format string, args ...any) {
	p.dropped = append(p.dropped, fmt.Sprintf(format, args...))
}
