package tool

import (
	"encoding/json"
	"slices"

	"github.com/reins-agent/reins/llm"
)

// Arguments returns a model call's arguments as the object that a [Call] needs. A freeform call's text becomes the
// tool's string argument. Dialects without freeform tools offer that argument as "input"; it is renamed here.
func (r *Registry) Arguments(c llm.ToolCall) json.RawMessage {
	name := r.textArgument(c.Name)
	if c.Custom {
		if name == "" {
			name = "input"
		}
		return object(name, c.Arguments)
	}
	args := json.RawMessage(c.Arguments)
	if name == "" || name == "input" {
		return args
	}
	var given map[string]json.RawMessage
	var text string
	if json.Unmarshal(args, &given) != nil || len(given) != 1 || json.Unmarshal(given["input"], &text) != nil {
		return args
	}
	return object(name, text)
}

func object(name, text string) json.RawMessage {
	b, err := json.Marshal(map[string]string{name: text})
	if err != nil {
		panic("tool: cannot encode a string: " + err.Error())
	}
	return b
}

// textArgument returns the argument that takes a freeform tool's text: its first required string. It returns "" if the
// tool is not freeform.
func (r *Registry) textArgument(tool string) string {
	e, _, ok := r.find(tool)
	if !ok || e.tool.Spec().Freeform == nil || e.check.compile() != nil {
		return ""
	}
	required := e.check.schema.Required
	i := slices.IndexFunc(required, func(name string) bool {
		p := e.check.schema.Properties[name]
		return p != nil && p.Type == "string"
	})
	if i < 0 {
		return ""
	}
	return required[i]
}
