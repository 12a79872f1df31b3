package gemini

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/wire"
)

// Parse reads a request body. Members may be named in camelCase or in snake_case, as the API
// takes both; Encode writes camelCase. What this package does not model at the top, in
// generationConfig or in toolConfig goes into the options, where Encode finds it again.
//
// Encode gives back an equal body but for these: neighbouring contents of one role are merged and
// get a role, functions that stand together share a tool and have their schema as
// parametersJsonSchema, text that is empty and unsigned is left out, data is in the standard
// base64 alphabet, calls without args have empty ones, and responses without an object an empty
// result.
func (d dialect) Parse(body []byte) (*llm.Request, []string, error) {
	v, err := wire.ParseJSON(body)
	if err != nil {
		return nil, nil, err
	}
	if v.Kind() != '{' {
		return nil, nil, fmt.Errorf("a Gemini request is a JSON object, and this is not one")
	}
	p := parser{r: &llm.Request{}, options: make(map[string]json.RawMessage)}
	var system, contents, config, choice wire.Value
	for m := v.Members(); m.Next(); {
		switch key := camel(m.Key); key {
		case "systemInstruction":
			system = m.Value
		case "contents":
			contents = m.Value
		case "tools":
			p.tools(m.Value)
		case "generationConfig":
			config = m.Value
		case "toolConfig":
			choice = m.Value
		default:
			if key == "model" {
				p.r.Model = strings.TrimPrefix(m.Value.Str(), "models/")
			}
			p.options[key] = json.RawMessage(m.Value.Clone())
		}
	}
	p.system(system)
	p.contents(contents)
	p.generationConfig(config)
	p.toolConfig(choice)
	if len(p.options) > 0 {
		p.r.Options = map[string]llm.Options{Name: {Body: p.options}}
	}
	return p.r, p.dropped, nil
}

// parser builds a request.
type parser struct {
	r       *llm.Request
	options map[string]json.RawMessage
	dropped []string
	calls   int
	pending []llm.ToolCall // calls that no response answered yet
}

func (p *parser) drop(format string, args ...any) {
	p.dropped = append(p.dropped, fmt.Sprintf(format, args...))
}

// camel is a member's name in camelCase.
func camel(key []byte) string {
	if !strings.Contains(string(key), "_") {
		return string(key)
	}
	out := make([]byte, 0, len(key))
	for i := 0; i < len(key); i++ {
		if key[i] == '_' && i+1 < len(key) && key[i+1] >= 'a' && key[i+1] <= 'z' {
			i++
			out = append(out, key[i]-'a'+'A')
			continue
		}
		out = append(out, key[i])
	}
	return string(out)
}

// fields reads the members of an object whose names may be in either case.
func fields(v wire.Value) map[string]wire.Value {
	f := make(map[string]wire.Value)
	for m := v.Members(); m.Next(); {
		f[camel(m.Key)] = m.Value
	}
	return f
}

// own makes the state of something that stood in a request: any model of the dialect may get it.
func own(data []byte) llm.State {
	return llm.State{Dialect: Name, Data: append([]byte(nil), data...)}
}

func (p *parser) system(v wire.Value) {
	if !v.Exists() {
		return
	}
	msg := llm.Message{Role: llm.RoleSystem}
	f := fields(v)
	n := 0
	for it := f["parts"].Elements(); it.Next(); n++ {
		text := it.Value.Get("text")
		if text.Kind() != '"' {
			p.drop("systemInstruction.parts[%d]", n)
			continue
		}
		msg.Parts = append(msg.Parts, llm.Text{Text: text.Str()})
	}
	for m := v.Members(); m.Next(); {
		if key := string(m.Key); key != "parts" {
			p.drop("systemInstruction.%s", key)
		}
	}
	if len(msg.Parts) > 0 {
		p.r.Messages = append(p.r.Messages, msg)
	}
}

func (p *parser) tools(v wire.Value) {
	n := -1
	for it := v.Elements(); it.Next(); {
		n++
		rest := wire.Encoder{Buf: []byte("{")}
		for m := it.Value.Members(); m.Next(); {
			if camel(m.Key) != "functionDeclarations" {
				rest.Str(camel(m.Key))
				rest.Buf = append(rest.Buf, ':')
				rest.Raw(m.Value)
				continue
			}
			i := -1
			for decl := m.Value.Elements(); decl.Next(); {
				i++
				p.declaration(decl.Value, fmt.Sprintf("tools[%d].functionDeclarations[%d]", n, i))
			}
		}
		if rest.Close('}'); len(rest.Buf) > len("{}") {
			p.r.Tools = append(p.r.Tools, llm.ToolDef{Hosted: own(rest.Buf)})
		}
	}
}

func (p *parser) declaration(v wire.Value, path string) {
	var t llm.ToolDef
	for m := v.Members(); m.Next(); {
		switch camel(m.Key) {
		case "name":
			t.Name = m.Value.Str()
		case "description":
			t.Description = m.Value.Str()
		case "parametersJsonSchema":
			t.Parameters = json.RawMessage(m.Value.Clone())
		case "parameters":
			t.Parameters = jsonSchema(m.Value)
		default:
			p.drop("%s.%s", path, m.Key)
		}
	}
	p.r.Tools = append(p.r.Tools, t)
}
