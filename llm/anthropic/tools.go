package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// outputTool is the reserved tool name for structured output on models that do not support it directly. The decoder
// turns calls to it into text.
const outputTool = "reins_json_output"

var anyObject = json.RawMessage(`{"type":"object"}`)

// tools writes the tools and the choice among them, and returns the tools.
func (h *head) tools(r *llm.Request, p plan) ([]byte, error) {
	var e wire.Encoder
	e.Open('[')
	n := 0
	for i := range p.tools {
		written, err := writeTool(&e, &p.tools[i])
		if err != nil {
			return nil, err
		}
		h.manual = h.manual || written && p.tools[i].Hosted.Dialect != "" && bytes.Contains(p.tools[i].Hosted.Data, []byte(`"cache_control"`))
		if written {
			n++
		}
	}
	if p.outputTool {
		writeOutputTool(&e, r.Output)
	}
	h.choice(r, p, n)
	if len(e.Buf) > 1 && h.Set("tools") {
		e.Close(']')
		h.Raw(e.Buf)
		if !p.endsHosted() {
			h.mark = len(h.Buf) - len("}]")
		}
	}
	return e.Buf, nil
}

// writeTool writes one tool and reports whether it did: hosted tools of other dialects are left out.
func writeTool(e *wire.Encoder, t *llm.ToolDef) (written bool, err error) {
	if t.Hosted.Dialect != "" {
		if t.Hosted.Dialect != Name {
			return false, nil
		}
		v, err := wire.ParseJSON(t.Hosted.Data)
		if err != nil || v.Kind() != '{' {
			return false, fmt.Errorf("the hosted tool %q is not a JSON object", t.Name)
		}
		e.Raw(v)
		return true, nil
	}
	if t.Name == outputTool {
		return false, fmt.Errorf("the tool name %q is reserved", outputTool)
	}
	e.Open('{')
	e.Field("name", t.Name)
	if t.Freeform != nil {
		e.Field("description", freeformDescription(t))
		e.Key("input_schema")
		e.Raw([]byte(`{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}`))
	} else {
		e.StrField("description", t.Description)
		e.Key("input_schema")
		schema := t.Parameters
		if len(bytes.TrimSpace(schema)) == 0 {
			schema = anyObject
		}
		if _, err := wire.ParseJSON(schema); err != nil {
			return false, fmt.Errorf("the parameters of tool %q are not JSON: %w", t.Name, err)
		}
		e.Raw(schema)
	}
	if t.Strict != nil {
		e.Key("strict")
		e.Bool(*t.Strict)
	}
	e.Close('}')
	return true, nil
}

// toolChange writes the blocks for a tool change.
func (b *blocks) toolChange(c *llm.ToolChange) {
	for _, removed := range c.Remove {
		b.begin("tool_removal")
		b.reference(removed.Tool.Name)
		b.end(nil)
	}
	for i := range c.Add {
		var e wire.Encoder
		if written, err := writeTool(&e, &c.Add[i]); !written || err != nil {
			continue
		}
		b.begin("tool_addition")
		b.Key("tool")
		b.begin("tool_definition")
		b.Key("definition")
		b.Raw(e.Buf)
		b.Close('}')
		b.end(nil)
	}
}

// reference writes a reference to a tool.
func (b *blocks) reference(name string) {
	b.Key("tool")
	b.begin("tool_reference")
	b.Field("name", name)
	b.Close('}')
}

func freeformDescription(t *llm.ToolDef) string {
	if t.Freeform.Definition == "" {
		return t.Description
	}
	return fmt.Sprintf("%s\n\nThe input must match this grammar (%s):\n%s", t.Description, t.Freeform.Syntax, t.Freeform.Definition)
}

func writeOutputTool(e *wire.Encoder, o *llm.OutputFormat) {
	description := "Call this tool to return the answer."
	if o.Description != "" {
		description += " " + o.Description
	}
	schema := o.Schema
	if len(schema) == 0 {
		schema = anyObject
	}
	e.Open('{')
	e.Field("name", outputTool)
	e.Field("description", description)
	e.Key("input_schema")
	e.Raw(schema)
	e.Close('}')
}

// choice writes the tool choice for n tools, not counting the output tool.
func (h *head) choice(r *llm.Request, p plan, n int) {
	kind := ""
	name := ""
	parallel := r.ParallelTools
	switch r.ToolChoice.Mode {
	case llm.ToolAuto:
		kind = "auto"
	case llm.ToolNone:
		kind = "none"
	case llm.ToolRequired:
		kind = "any"
	case llm.ToolNamed:
		kind, name = "tool", r.ToolChoice.Name
	default:
		if parallel != nil {
			kind = "auto"
		}
	}
	if p.outputTool {
		parallel = new(bool)
		switch {
		case !p.forces(r):
			kind = "auto"
		case n == 0 || kind == "none":
			kind, name = "tool", outputTool
		case kind != "tool":
			kind = "any"
		}
	} else if n == 0 {
		return
	}
	if kind == "" || !h.Set("tool_choice") {
		return
	}
	h.Open('{')
	h.Field("type", kind)
	h.StrField("name", name)
	if parallel != nil && kind != "none" {
		h.Key("disable_parallel_tool_use")
		h.Bool(!*parallel)
	}
	h.Close('}')
}

// endsHosted reports whether the last tool is hosted. Not all hosted tools may have a breakpoint.
func (p plan) endsHosted() bool {
	return !p.outputTool && len(p.tools) > 0 && p.tools[len(p.tools)-1].Hosted.Dialect != ""
}
