package requests

import (
	"encoding/json"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

type openaiParser struct{ *parser }

// readOpenAI reads a Responses API request. A missing member that Encode would write becomes a null option. Null
// members count as missing, and a list of one text is the same as the text. A function without strict gets it from
// Encode, as false.
func readOpenAI(common *parser, v wire.Value) error {
	p := openaiParser{common}
	p.r.Model, p.r.Unary = v.Get("model").Str(), !v.Get("stream").Bool()
	if text := v.Get("instructions"); text.Kind() == '"' {
		p.r.Messages = append(p.r.Messages, llm.SystemText(text.Str()))
	}
	for m := v.Members(); m.Next(); {
		if m.Value.Exists() && !p.top(string(m.Key), m.Value) {
			p.option(string(m.Key), m.Value)
		}
	}
	p.defaults(v)
	return nil
}

// top reads a top-level member and reports whether the request represents all of it.
func (p openaiParser) top(key string, v wire.Value) bool {
	r := p.r
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

// defaults adds null options for missing members that Encode would write, and removes options that are what
// Encode writes anyway.
func (p openaiParser) defaults(v wire.Value) {
	ours := p.encoded(&llm.Request{Model: p.r.Model, Unary: p.r.Unary, Effort: p.r.Effort})
	for _, key := range []string{"store", "include", "stream_options"} {
		switch written := ours.Get(key); {
		case !written.Exists():
		case !v.Get(key).Exists():
			p.options[key] = json.RawMessage("null")
		case same(wire.Value(p.options[key]), written):
			delete(p.options, key)
		}
	}
	if ours.Get("reasoning", "summary").Exists() && !v.Get("reasoning", "summary").Exists() {
		p.r.Display = "omitted"
	}
}

// reasoning reads the effort; the rest becomes an option.
func (p openaiParser) reasoning(v wire.Value) bool {
	if v.Kind() != '{' {
		return false
	}
	p.r.Effort = v.Get("effort").Str()
	rest := wire.Rest(v, func(key string, _ wire.Value) bool { return key == "effort" && p.r.Effort != "" })
	if rest != nil || p.r.Effort == "" {
		p.options["reasoning"] = orEmpty(rest)
	}
	return true
}

// text reads the format if it is JSON; the rest becomes an option.
func (p openaiParser) text(v wire.Value) bool {
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

func (p openaiParser) format(v wire.Value) bool {
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
	case v.Get("type").Is("json_schema") && wire.Value(o.Schema).Kind() == '{' && formatName(o.Name):
		if o.Strict == nil { // Encode's default differs from the API's
			o.Strict = new(bool)
		}
	default:
		return false
	}
	p.r.Output = &o
	return true
}

func (p openaiParser) tools(v wire.Value) bool {
	if v.Kind() != '[' {
		return false
	}
	for it := v.Elements(); it.Next(); {
		p.r.Tools = append(p.r.Tools, p.tool(it.Value))
	}
	return true
}

func (p openaiParser) toolChoice(v wire.Value) bool {
	switch mode := llm.ToolMode(v.Str()); mode {
	case llm.ToolAuto, llm.ToolNone, llm.ToolRequired:
		p.r.ToolChoice = llm.ToolChoice{Mode: mode}
		return true
	}
	kind := v.Get("type")
	name := v.Get("name").Str()
	n := 0
	for m := v.Members(); m.Next(); {
		n++
	}
	if !kind.Is("function") || name == "" || n != 2 {
		return false
	}
	p.r.ToolChoice = llm.ToolChoice{Mode: llm.ToolNamed, Name: name}
	return true
}

// tool reads a tool definition. One with members that ToolDef has no field for is also stored whole as a
// hosted tool.
func (p openaiParser) tool(v wire.Value) llm.ToolDef {
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
		t.Hosted = p.own(v)
	}
	return t
}

// formatName reports whether the API accepts a name for an output format.
func formatName(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	return name != "" && len(name) <= 64 && strings.Trim(name, letters) == ""
}
