package openai

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// tools writes the tool definitions, except tools that other providers host.
func tools(h *wire.Head, defs []llm.ToolDef) error {
	if !slices.ContainsFunc(defs, usable) || !h.Set("tools") {
		return nil
	}
	return toolList(&h.Encoder, defs)
}

func usable(t llm.ToolDef) bool { return len(t.Hosted.Data) == 0 || t.Hosted.Dialect == Name }

func toolList(e *wire.Encoder, defs []llm.ToolDef) error {
	e.Open('[')
	for _, t := range defs {
		if usable(t) {
			if err := tool(e, t); err != nil {
				return err
			}
		}
	}
	e.Close(']')
	return nil
}

func tool(e *wire.Encoder, t llm.ToolDef) error {
	if len(t.Hosted.Data) > 0 {
		e.Raw(t.Hosted.Data)
		return nil
	}
	kind := "function"
	if t.Freeform != nil {
		kind = "custom"
	}
	e.Open('{')
	e.Field("type", kind)
	e.Field("name", t.Name)
	e.StrField("description", t.Description)
	if t.Freeform != nil {
		grammar(e, *t.Freeform)
	} else if err := parameters(e, t); err != nil {
		return err
	}
	e.Close('}')
	return nil
}

// grammar writes a freeform tool's grammar. Without a grammar, the tool accepts any text.
func grammar(e *wire.Encoder, f llm.Freeform) {
	if f == (llm.Freeform{}) {
		return
	}
	e.Key("format")
	e.Open('{')
	e.Field("type", "grammar")
	e.Field("syntax", f.Syntax)
	e.Field("definition", f.Definition)
	e.Close('}')
}

func parameters(e *wire.Encoder, t llm.ToolDef) error {
	e.Key("parameters")
	if len(t.Parameters) == 0 {
		e.Raw([]byte(`{"type":"object","properties":{}}`))
	} else {
		v, err := wire.ParseJSON(t.Parameters)
		if err != nil {
			return fmt.Errorf("the parameters of tool %q are not JSON: %w", t.Name, err)
		}
		e.Raw(v)
	}
	e.Key("strict") // if it is missing, the API makes some schemas strict
	e.Bool(t.Strict != nil && *t.Strict)
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
	h.Field("type", kind)
	h.Field("name", r.ToolChoice.Name)
	h.Close('}')
}

// outputFormat returns the adapter's members for the text object.
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
		return nil, fmt.Errorf("the output schema is not JSON: %w", err)
	}
	e.Open('{')
	e.Field("type", "json_schema")
	e.Field("name", formatName(o.Name))
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

// formatName returns a valid name: at most 64 letters, digits, dashes and underscores.
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

// unsupported lists the keywords that strict output does not support.
var unsupported = []string{"allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "patternProperties"}

// closed reports whether the schema is valid for strict output: every object requires all its members and allows no
// others, and no keyword is unsupported. It mistakes a property named like a keyword for the keyword, which is safe.
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
