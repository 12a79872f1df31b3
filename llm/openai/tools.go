package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/wire"
)

// toolBytes is about how much room the tools take.
func toolBytes(defs []llm.ToolDef) int {
	n := 0
	for _, t := range defs {
		n += len(t.Name) + len(t.Description) + len(t.Parameters) + len(t.Hosted.Data) + 100
	}
	return n
}

// tools writes the tool definitions, if there are any for this dialect.
func tools(h *wire.Head, defs []llm.ToolDef) error {
	defs = usable(defs)
	if len(defs) == 0 || !h.Set("tools") {
		return nil
	}
	h.Open('[')
	for _, t := range defs {
		if err := tool(&h.Encoder, t); err != nil {
			return err
		}
	}
	h.Close(']')
	return nil
}

// usable leaves out the tools that other providers run.
func usable(defs []llm.ToolDef) []llm.ToolDef {
	for i, t := range defs {
		if !foreign(t) {
			continue
		}
		kept := append([]llm.ToolDef(nil), defs[:i]...)
		for _, t := range defs[i+1:] {
			if !foreign(t) {
				kept = append(kept, t)
			}
		}
		return kept
	}
	return defs
}

func foreign(t llm.ToolDef) bool { return len(t.Hosted.Data) > 0 && t.Hosted.Dialect != Name }

func tool(e *wire.Encoder, t llm.ToolDef) error {
	if len(t.Hosted.Data) > 0 {
		e.Raw(t.Hosted.Data)
		return nil
	}
	e.Open('{')
	e.Key("type")
	if t.Freeform != nil {
		e.Str("custom")
	} else {
		e.Str("function")
	}
	e.Key("name")
	e.Str(t.Name)
	e.StrField("description", t.Description)
	if t.Freeform != nil {
		grammar(e, *t.Freeform)
	} else if err := parameters(e, t); err != nil {
		return err
	}
	e.Close('}')
	return nil
}

// grammar writes what text a freeform tool takes; any text is the API's default.
func grammar(e *wire.Encoder, f llm.Freeform) {
	if f == (llm.Freeform{}) {
		return
	}
	e.Key("format")
	e.Open('{')
	e.Key("type")
	e.Str("grammar")
	e.Key("syntax")
	e.Str(f.Syntax)
	e.Key("definition")
	e.Str(f.Definition)
	e.Close('}')
}

func parameters(e *wire.Encoder, t llm.ToolDef) error {
	e.Key("parameters")
	if len(t.Parameters) == 0 {
		e.Raw([]byte(`{"type":"object","properties":{}}`))
	} else {
		v, err := wire.ParseJSON(t.Parameters)
		if err != nil {
			return fmt.Errorf("the parameters of tool %q are no JSON: %w", t.Name, err)
		}
		e.Raw(v)
	}
	if t.Strict != nil {
		e.Key("strict")
		e.Bool(*t.Strict)
	}
	return nil
}

func toolChoice(h *wire.Head, r *llm.Request) {
	if r.ToolChoice.Mode == "" || !h.Set("tool_choice") {
		return
	}
	if r.ToolChoice.Mode != llm.ToolNamed {
		h.Str(string(r.ToolChoice.Mode))
		return
	}
	kind := "function"
	for _, t := range r.Tools {
		if t.Name == r.ToolChoice.Name && t.Freeform != nil {
			kind = "custom"
		}
	}
	h.Open('{')
	h.Key("type")
	h.Str(kind)
	h.Key("name")
	h.Str(r.ToolChoice.Name)
	h.Close('}')
}

// outputFormat is the members that we write of the text object.
func outputFormat(o *llm.OutputFormat) ([]byte, error) {
	if o == nil {
		return nil, nil
	}
	var e wire.Encoder
	e.Key("format")
	if len(o.Schema) == 0 {
		e.Raw([]byte(`{"type":"json_object"}`))
		return e.Buf, nil
	}
	schema, err := wire.ParseJSON(o.Schema)
	if err != nil {
		return nil, fmt.Errorf("the schema of the output is no JSON: %w", err)
	}
	e.Open('{')
	e.Key("type")
	e.Str("json_schema")
	e.Key("name")
	e.Str(formatName(o.Name))
	e.StrField("description", o.Description)
	e.Key("schema")
	e.Raw(schema)
	strict := schema.Get("type").Is("object") && closed(schema)
	if o.Strict != nil {
		strict = *o.Strict
	}
	e.Key("strict")
	e.Bool(strict)
	e.Close('}')
	return e.Buf, nil
}

// formatName makes a name that the API takes: at most 64 letters, digits, dashes and underscores.
func formatName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
	if name == "" {
		return "output"
	}
	return name[:min(len(name), 64)]
}

// unsupported are the keywords that strict output does not take.
var unsupported = []string{"allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "patternProperties"}

// closed reports whether every object of the schema names all its members as required and allows
// no others, and the schema has no unsupported keyword: what strict output demands. A property
// that is named like a keyword is taken for one, which errs on the safe side.
func closed(schema wire.Value) bool {
	switch schema.Kind() {
	case '[':
		for it := schema.Elements(); it.Next(); {
			if !closed(it.Value) {
				return false
			}
		}
	case '{':
		for _, keyword := range unsupported {
			if schema.Get(keyword) != nil {
				return false
			}
		}
		if schema.Get("type").Is("object") || schema.Get("properties").Kind() == '{' {
			if schema.Get("additionalProperties").Kind() != 'f' || !allRequired(schema) {
				return false
			}
		}
		for m := schema.Members(); m.Next(); {
			if !closed(m.Value) {
				return false
			}
		}
	}
	return true
}

func allRequired(schema wire.Value) bool {
	required := make(map[string]bool)
	for it := schema.Get("required").Elements(); it.Next(); {
		required[it.Value.Str()] = true
	}
	for m := schema.Get("properties").Members(); m.Next(); {
		if !required[string(m.Key)] {
			return false
		}
	}
	return true
}

// strictly is a pointer for a Strict field.
func strictly(v wire.Value) *bool {
	b := v.Bool()
	return &b
}

// toolFrom reads a tool definition. One with members that ToolDef has no place for is kept whole
// as a hosted tool, next to what can be read of it.
func toolFrom(v wire.Value) llm.ToolDef {
	var t llm.ToolDef
	whole := llm.State{Dialect: Name, Data: v.Clone()}
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
			t.Strict = strictly(m.Value)
			known = known && (m.Value.Kind() == 't' || m.Value.Kind() == 'f')
		case "format":
			f, ok := freeform(m.Value)
			t.Freeform = &f
			known = known && ok
		default:
			known = false
		}
	}
	if v.Get("type").Is("custom") && t.Freeform == nil {
		t.Freeform = &llm.Freeform{}
	}
	if !known || t.Freeform == nil && t.Parameters == nil {
		t.Hosted = whole
	}
	return t
}

func freeform(v wire.Value) (f llm.Freeform, ok bool) {
	if !v.Get("type").Is("grammar") {
		return f, false
	}
	return llm.Freeform{Syntax: v.Get("syntax").Str(), Definition: v.Get("definition").Str()}, true
}
