package gemini

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/wire"
)

var _ wire.Parser = dialect{}

// Parse reads a request body with names in camelCase or snake_case; Encode writes camelCase. Members of the
// body, generationConfig or toolConfig that have no field become options.
//
// Encoding the result returns an equal body, except that consecutive contents of one role are merged and get
// a role, consecutive functions share a tool and have their schema as parametersJsonSchema, empty unsigned
// text is omitted, data is in the standard base64 alphabet, calls without args have empty ones, and
// responses without an object an empty result, and those with the id of a call the name of the call.
func (d dialect) Parse(body []byte) (*llm.Request, []string, error) {
	v, err := wire.ParseJSON(body)
	if err != nil {
		return nil, nil, err
	}
	if v.Kind() != '{' {
		return nil, nil, errors.New("the request is not a JSON object")
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

// camel returns a name in camelCase.
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

// fields returns the members of an object by their names in camelCase.
func fields(v wire.Value) map[string]wire.Value {
	f := make(map[string]wire.Value)
	for m := v.Members(); m.Next(); {
		f[camel(m.Key)] = m.Value
	}
	return f
}

// own returns state from a request: any model of the dialect may get it.
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
				rest.Member([]byte(camel(m.Key)), m.Value)
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
