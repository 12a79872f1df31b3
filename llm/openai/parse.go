package openai

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/wire"
)

// Parse reads a request body. A member that llm.Request has no place for becomes an option, and so
// does one whose absence must be remembered because Encode would write it: that option is null.
// Members that are null are taken as absent; a list of one text stands for the text, and the
// other way round.
func (d *dialect) Parse(body []byte) (*llm.Request, []string, error) {
	v, err := wire.ParseJSON(body)
	if err != nil {
		return nil, nil, err
	}
	if v.Kind() != '{' {
		return nil, nil, errors.New("the request body is no JSON object")
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

// top reads a top-level member and reports whether the request says all of it now.
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
		on := v.Bool()
		r.ParallelTools = &on
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
	f := v.Float()
	return &f
}

// defaults notes what Encode would write and this request does not say, and forgets the options
// that are what Encode writes anyway.
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
	note("stream_options", `{"include_obfuscation":false}`, !p.req.Unary && !d.obfuscation)
}

func compact(raw json.RawMessage) string {
	b, err := json.Marshal(raw)
	if err != nil {
		return ""
	}
	return string(b)
}

// reasoning takes the effort; the rest is an option.
func (p *parser) reasoning(v wire.Value) bool {
	if v.Kind() != '{' {
		return false
	}
	p.req.Effort = v.Get("effort").Str()
	rest := remaining(v, func(key string, _ wire.Value) bool { return key == "effort" && p.req.Effort != "" })
	if rest != nil || p.req.Effort == "" {
		p.options["reasoning"] = orEmpty(rest)
	}
	return true
}

// text takes the format if it asks for JSON; the rest is an option.
func (p *parser) text(v wire.Value) bool {
	if v.Kind() != '{' {
		return false
	}
	taken := p.format(v.Get("format"))
	rest := remaining(v, func(key string, _ wire.Value) bool { return taken && key == "format" })
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
			o.Strict = strictly(m.Value)
		default:
			return false
		}
	}
	switch {
	case v.Get("type").Is("json_object") && o.Name == "" && o.Description == "" && o.Strict == nil && o.Schema == nil:
	case v.Get("type").Is("json_schema") && wire.Value(o.Schema).Kind() == '{' && formatName(o.Name) == o.Name:
		if o.Strict == nil { // the API's default, which is not ours
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

func (p *parser) drop(format string, args ...any) {
	p.dropped = append(p.dropped, fmt.Sprintf(format, args...))
}
