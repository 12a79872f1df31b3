package requests

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// generationConfig reads the settings. Settings that no request field represents exactly become options.
func (p *geminiParser) generationConfig(v wire.Value) {
	if !v.Exists() {
		return
	}
	f := wire.CamelMembers(v)
	rest := wire.Encoder{Buf: []byte("{")}
	for m := v.Members(); m.Next(); {
		key := wire.Camel(m.Key)
		if !p.setting(key, m.Value, f) {
			value := m.Value
			if key == "thinkingConfig" {
				value = renamed(value)
			}
			rest.Member([]byte(key), value)
		}
	}
	rest.Close('}')
	if len(rest.Buf) > len("{}") || v.Kind() == '{' && len(f) == 0 {
		p.options["generationConfig"] = json.RawMessage(rest.Buf)
	}
}

// setting reads one setting and reports whether the request represents it exactly.
func (p *geminiParser) setting(key string, v wire.Value, all map[string]wire.Value) bool {
	switch key {
	case "maxOutputTokens":
		n, ok := whole(v)
		p.r.MaxTokens = max(n, 0)
		return ok && n > 0
	case "temperature":
		p.r.Temperature = number(v)
		return p.r.Temperature != nil
	case "topP":
		p.r.TopP = number(v)
		return p.r.TopP != nil
	case "topK":
		n, ok := whole(v)
		if ok {
			p.r.TopK = &n
		}
		return ok
	case "stopSequences":
		p.r.Stop = texts(v)
		return len(p.r.Stop) > 0
	case "thinkingConfig":
		return p.thinking(v)
	case "responseMimeType":
		return p.output(v, all)
	case "responseJsonSchema":
		return p.output(all["responseMimeType"], all)
	}
	return false
}

// output reads the response format, if it is JSON with or without a JSON Schema.
func (p *geminiParser) output(mime wire.Value, all map[string]wire.Value) bool {
	_, openAPI := all["responseSchema"]
	if !mime.Is("application/json") || openAPI {
		return false
	}
	p.r.Output = &llm.OutputFormat{}
	if schema := all["responseJsonSchema"]; schema != nil {
		p.r.Output.Schema = json.RawMessage(schema.Clone())
	}
	return true
}

// thinking reads the effort, and reports whether Encode would write the same for it.
func (p *geminiParser) thinking(v wire.Value) bool {
	f := wire.CamelMembers(v)
	thoughts := f["includeThoughts"]
	level, budget := f["thinkingLevel"].Str(), f["thinkingBudget"]
	if budget != nil {
		if n, ok := whole(budget); ok {
			p.r.ThinkingBudget = &n
			shown := thoughts.Bool()
			return len(f) == 1 && n == 0 || len(f) == 2 && shown && n != 0
		}
		return false
	}
	p.r.Effort = strings.ToLower(level)
	known := p.r.Effort == "minimal" || p.r.Effort == "low" || p.r.Effort == "medium" || p.r.Effort == "high"
	return p.r.Model == "" && known && p.r.Effort == level && len(f) == 2 && thoughts.Bool()
}

// renamed returns an object with its members in camelCase.
func renamed(v wire.Value) wire.Value {
	if v.Kind() != '{' {
		return v
	}
	e := wire.Encoder{Buf: []byte("{")}
	for m := v.Members(); m.Next(); {
		e.Member([]byte(wire.Camel(m.Key)), m.Value)
	}
	e.Close('}')
	return e.Buf
}

func whole(v wire.Value) (int, bool) {
	if v.Kind() != '0' {
		return 0, false
	}
	f := v.Float()
	n := int(f)
	return n, float64(n) == f && n < 1<<31 && n > -1<<31
}

// toolConfig reads the tool choice. What ToolChoice cannot represent, such as several allowed names, becomes an
// option.
func (p *geminiParser) toolConfig(v wire.Value) {
	if !v.Exists() {
		return
	}
	rest := wire.Encoder{Buf: []byte("{")}
	for m := v.Members(); m.Next(); {
		key := wire.Camel(m.Key)
		if key == "functionCallingConfig" && p.choice(m.Value) && p.declares() {
			continue
		}
		rest.Member([]byte(key), renamed(m.Value))
	}
	if rest.Close('}'); len(rest.Buf) > len("{}") {
		p.options["toolConfig"] = json.RawMessage(rest.Buf)
	}
}

// choice reads the tool choice and reports whether ToolChoice represents it exactly.
func (p *geminiParser) choice(v wire.Value) bool {
	f := wire.CamelMembers(v)
	names := texts(f["allowedFunctionNames"])
	mode := f["mode"].Str()
	choice := &p.r.ToolChoice
	switch strings.ToUpper(mode) {
	case "AUTO", "VALIDATED":
		choice.Mode = llm.ToolAuto
	case "NONE":
		choice.Mode = llm.ToolNone
	case "ANY":
		choice.Mode = llm.ToolRequired
		if len(names) == 1 {
			choice.Mode, choice.Name = llm.ToolNamed, names[0]
		}
	}
	exact := mode == "AUTO" || mode == "NONE" || mode == "ANY"
	switch len(f) {
	case 1:
		return exact
	case 2:
		return exact && choice.Mode == llm.ToolNamed
	}
	return false
}

// declares reports whether the request declares functions.
func (p *geminiParser) declares() bool {
	return slices.ContainsFunc(p.r.Tools, func(t llm.ToolDef) bool { return t.Hosted.Dialect == "" })
}
