package coding

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// Native is the profile with its tools under the names, with the parameters and the forms of
// output of the vendor's own agent: codex, Claude Code or gemini-cli. They are our tools all the
// same, behind thin wrappers. The profile's instructions follow, unless the host has replaced
// them; tools that the host added stay. The generic family has no agent of its own, so its
// profiles come back as they are.
func (p *Profile) Native() *Profile {
	n := *p
	if p.native || p.Family == GenericFamily {
		return &n
	}
	n.native = true
	n.Tools = append(p.nativeTools(), p.added()...)
	n.Aliases = append(nativeAliases(p.Family), p.addedAliases()...)
	if p.Instructions == p.instructions() {
		n.Instructions = n.instructions()
	}
	return &n
}

func (p *Profile) nativeTools() []tool.Tool {
	switch p.Family {
	case OpenAIFamily:
		return codexTools(p)
	case AnthropicFamily:
		return claudeTools(p)
	}
	return geminiTools(p)
}

// get is the tool that the profile has under one of our names, or else the standard one.
func (p *Profile) get(name string) tool.Tool {
	for _, t := range slices.Backward(p.Tools) {
		if t.Spec().Name == name {
			return t
		}
	}
	return p.standard(name)
}

// added are the tools of the profile that are not of our set.
func (p *Profile) added() []tool.Tool {
	standard := p.set()
	return slices.DeleteFunc(slices.Clone(p.Tools), func(t tool.Tool) bool {
		return slices.ContainsFunc(standard, func(s tool.Tool) bool { return s.Spec().Name == t.Spec().Name })
	})
}

func (p *Profile) addedAliases() []tool.Alias {
	standard := standardAliases()
	return slices.DeleteFunc(slices.Clone(p.Aliases), func(a tool.Alias) bool {
		return slices.ContainsFunc(standard, func(s tool.Alias) bool { return s.Name == a.Name })
	})
}

// standardAliases are the vendors' names for our tools, and for those of subagents.
func standardAliases() []tool.Alias {
	return append(NativeAliases(), subagentAliases()...)
}

// subagentAliases lead to the tools for subagents, which a session adds.
var subagentAliases = sync.OnceValue(func() []tool.Alias {
	claude := map[string]string{
		"prompt": "task", "subagent_type": "agent_type", "description": "", "run_in_background": "",
		"effort": "", "name": "", "isolation": "", "team_name": "", "mode": "",
	}
	return []tool.Alias{
		{Name: "Agent", Tool: "spawn_agent", Params: claude},
		{Name: "Task", Tool: "spawn_agent", Params: claude},
		{Name: "invoke_agent", Tool: "spawn_agent", Params: map[string]string{"agent_name": "agent_type", "prompt": "task"}},
	}
})

// nativeAliases are older names that the vendors gave to their tools.
func nativeAliases(f Family) []tool.Alias {
	return append(olderNames(f), subagentAliases()...)
}

func olderNames(f Family) []tool.Alias {
	switch f {
	case OpenAIFamily:
		return []tool.Alias{{Name: "shell_command", Tool: "exec_command", Params: map[string]string{"command": "cmd", "timeout_ms": ""}}}
	case AnthropicFamily:
		return []tool.Alias{
			{Name: "BashOutput", Tool: "TaskOutput", Params: map[string]string{"bash_id": "task_id"}},
			{Name: "KillShell", Tool: "TaskStop"},
		}
	case GeminiFamily:
		return []tool.Alias{{Name: "search_file_content", Tool: "grep_search", Params: map[string]string{"path": "dir_path", "include": "include_pattern"}}}
	}
	return nil
}

func nativeWording(f Family) wording {
	switch f {
	case OpenAIFamily:
		return wording{Patch: "apply_patch", Shell: "exec_command", Input: "write_stdin", Plan: "update_plan"}
	case AnthropicFamily:
		return wording{
			Read: "Read", Write: "Write", Edit: "Edit", Grep: "Grep", Glob: "Glob",
			Shell: "Bash", Output: "TaskOutput", Stop: "TaskStop", Plan: "TodoWrite",
		}
	}
	return wording{
		Read: "read_file", Write: "write_file", Edit: "replace", Grep: "grep_search", Glob: "glob", List: "list_directory",
		Shell: "run_shell_command", Output: "shell_output", Input: "shell_input", Stop: "shell_stop", Plan: "write_todos",
	}
}

// native describes a vendor's tool that is one of ours.
type native[In any] struct {
	name        string
	description string
	enums       map[string][]any // the values of parameters, by their path
	to          func(in In) any  // the arguments of our tool
	// show gives the result the vendor's form; nil leaves it as it is.
	show func(c *tool.Call, in In, res tool.Result) tool.Result
}

// over makes the vendor's tool. What it touches and what it needs is what ours touches and needs.
func (n native[In]) over(inner tool.Tool) tool.Tool {
	spec := inner.Spec()
	spec.Name, spec.Input, spec.Freeform = n.name, nil, nil
	if n.description != "" {
		spec.Description = n.description
	}
	return newNative(spec, n.enums, func(ctx context.Context, c *tool.Call, in In) []policy.Access {
		return inner.Access(ctx, with(c, n.to(in)))
	}, func(ctx context.Context, c *tool.Call, in In) (tool.Result, error) {
		res, err := inner.Run(ctx, with(c, n.to(in)))
		if err != nil || n.show == nil {
			return res, err
		}
		return n.show(c, in, res), nil
	})
}

// newNative makes a tool whose parameters may have lists of values.
func newNative[In any](spec tool.Spec, enums map[string][]any, access tool.Access[In], run tool.Run[In]) tool.Tool {
	t := tool.New(spec, access, run)
	if len(enums) == 0 {
		return t
	}
	spec.Input = withEnums(t.Spec().Input, enums)
	return tool.New(spec, access, run)
}

func withEnums(schema json.RawMessage, enums map[string][]any) json.RawMessage {
	var root jsonschema.Schema
	if err := json.Unmarshal(schema, &root); err != nil {
		panic(fmt.Sprintf("coding: a schema that was just made cannot be read: %v", err))
	}
	for path, values := range enums {
		s := &root
		for _, name := range strings.Split(path, ".") {
			if s.Items != nil {
				s = s.Items
			}
			s = s.Properties[name]
		}
		s.Enum = values
	}
	b, err := json.Marshal(&root)
	if err != nil {
		panic(fmt.Sprintf("coding: a schema has no JSON form: %v", err))
	}
	return b
}

// with is a call with other arguments.
func with(c *tool.Call, args any) *tool.Call {
	b, err := json.Marshal(args)
	if err != nil {
		panic(fmt.Sprintf("coding: the arguments of a tool have no JSON form: %v", err))
	}
	inner := *c
	inner.Args = b
	return &inner
}

// hint is a piece of advice in a message of our tools.
var (
	hint     = regexp.MustCompile(`\b(Use|by setting the) [^.\n]*`)
	hintWord = regexp.MustCompile(`\b[a-z]+(_[a-z]+)*\b`)
)

// renamed is a message of our tools whose advice speaks of the vendor's names.
func renamed(message string, names map[string]string) string {
	return hint.ReplaceAllStringFunc(message, func(h string) string {
		return hintWord.ReplaceAllStringFunc(h, func(w string) string {
			if n, ok := names[w]; ok {
				return n
			}
			return w
		})
	})
}
