package requests

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

const (
	// unsigned is the state of a thought without a signature.
	unsigned = "!"
	// callIDPrefix is the prefix of ids for calls that came without one.
	callIDPrefix = "gemini-call-"
)

type geminiParser struct {
	*parser
	calls   int
	pending []llm.ToolCall // calls that no response answered yet
}

// readGemini reads a Gemini API request, with names in camelCase or snake_case. Members of the body, generationConfig
// or toolConfig that have no field become options.
//
// Encoding the result returns an equal body, except that consecutive contents with the same role are merged and get a
// role, consecutive functions share a tool and have their schema as parametersJsonSchema, empty unsigned text is
// omitted, data is in the standard base64 alphabet, calls without args get empty args, responses without an object get
// an empty result, and responses with a call's ID get the call's name.
func readGemini(common *parser, v wire.Value) error {
	p := geminiParser{parser: common}
	var system, contents, config, choice wire.Value
	for m := v.Members(); m.Next(); {
		switch key := wire.Camel(m.Key); key {
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
			p.option(key, m.Value)
		}
	}
	p.system(system)
	p.contents(contents)
	p.generationConfig(config)
	p.toolConfig(choice)
	return nil
}

func (p *geminiParser) system(v wire.Value) {
	if !v.Exists() {
		return
	}
	msg := llm.Message{Role: llm.RoleSystem}
	f := wire.CamelMembers(v)
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

func (p *geminiParser) tools(v wire.Value) {
	n := -1
	for it := v.Elements(); it.Next(); {
		n++
		rest := wire.Encoder{Buf: []byte("{")}
		for m := it.Value.Members(); m.Next(); {
			if wire.Camel(m.Key) != "functionDeclarations" {
				rest.Member([]byte(wire.Camel(m.Key)), m.Value)
				continue
			}
			i := -1
			for decl := m.Value.Elements(); decl.Next(); {
				i++
				p.declaration(decl.Value, fmt.Sprintf("tools[%d].functionDeclarations[%d]", n, i))
			}
		}
		if rest.Close('}'); len(rest.Buf) > len("{}") {
			p.r.Tools = append(p.r.Tools, llm.ToolDef{Hosted: p.own(rest.Buf)})
		}
	}
}

func (p *geminiParser) declaration(v wire.Value, path string) {
	var t llm.ToolDef
	for m := v.Members(); m.Next(); {
		switch wire.Camel(m.Key) {
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
