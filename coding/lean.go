package coding

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// leanTools lists the tools of the lean tier, in order. They are the same for all families.
var leanTools = []string{"read_file", "edit_file", "write_file", "shell"}

// leanInputs are the input schemas of the lean tools: those of the standard tools without arguments that need other
// tools, and without descriptions of what the names say.
var leanInputs = map[string]string{
	"read_file": `{"type":"object","properties":{"file_path":{"type":"string"},` +
		`"offset":{"type":"integer","description":"first line, from 1"},` +
		`"limit":{"type":"integer","description":"number of lines"}},"required":["file_path"],"additionalProperties":false}`,
	"edit_file": `{"type":"object","properties":{"file_path":{"type":"string"},"old_string":{"type":"string"},` +
		`"new_string":{"type":"string"},"replace_all":{"type":"boolean"}},` +
		`"required":["file_path","old_string","new_string"],"additionalProperties":false}`,
	"write_file": `{"type":"object","properties":{"file_path":{"type":"string"},"content":{"type":"string"}},` +
		`"required":["file_path","content"],"additionalProperties":false}`,
	"shell": `{"type":"object","properties":{"command":{"type":"string"},"timeout_ms":{"type":"integer"},"workdir":{"type":"string"},` +
		`"outside_sandbox":{"type":"boolean","description":"needs approval: only if the sandbox made the command fail"}},` +
		`"required":["command"],"additionalProperties":false}`,
}

// leanProfileTools returns the standard tools of the lean tier with short descriptions. They do the same otherwise.
func leanProfileTools(c ToolConfig) []tool.Tool {
	c = c.WithDefaults()
	usual, most := c.DefaultTimeout.Milliseconds(), c.MaxTimeout.Milliseconds()
	descriptions := map[string]string{
		"read_file":  "Read a file. Returns numbered lines, at most 2000.",
		"edit_file":  "Replace a string in a file. It must occur once, unless replace_all is set.",
		"write_file": "Create a file, or replace all of it.",
		"shell":      fmt.Sprintf("Run a command. It is stopped after timeout_ms (default %d, at most %d).", usual, most),
	}
	all := tools.New(c)
	var chosen []tool.Tool
	for _, name := range leanTools {
		t := all[slices.IndexFunc(all, func(t tool.Tool) bool { return t.Spec().Name == name })]
		spec := t.Spec()
		spec.Description, spec.Input = descriptions[name], json.RawMessage(leanInputs[name])
		chosen = append(chosen, described{t, spec})
	}
	return chosen
}

// leanRegistry returns the tools of a session in the lean tier: those of the profile and, in plan mode, the tool that
// leaves it. The model finds tools of the host and of MCP servers with tool_search.
func (b *builder) leanRegistry(p *Profile) (*tool.Registry, error) {
	r := &tool.Registry{}
	if err := registerEach(r, p.Tools); err != nil {
		return nil, err
	}
	r.Alias(p.Aliases...)
	for _, t := range b.config.Tools {
		name := t.Spec().Name
		switch _, builtin := tierOf[name]; {
		case name == "exit_plan_mode" && b.session.Mode == policy.ModePlan, slices.Contains(leanTools, name):
		case builtin:
			continue
		default:
			t = tool.Defer(t)
		}
		if err := r.Register(t); err != nil {
			return nil, err
		}
	}
	return r, nil
}
