package coding

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/hook"
	"github.com/reins-agent/reins/internal/patch"
	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/tool"
)

// Hooks are written for the tools of Claude Code. Calls of other tools are translated for them: they get the names and
// arguments of Claude Code, with absolute paths. Matchers may also use a tool's own name.

// claudeTools are the tools of Claude Code that are aliases of standard tools.
var claudeTools = []string{"Read", "Write", "Edit", "Bash", "BashOutput", "KillShell", "Glob", "Grep", "LS"}

// otherTools are tools that have no alias, or whose alias is for the standard tool of the same kind.
var otherTools = []tool.Alias{
	{Name: "Bash", Tool: "shell_input", Params: map[string]string{"command": "text"}},
	{Name: "Bash", Tool: "write_stdin", Params: map[string]string{"command": "chars"}},
	{Name: "Bash", Tool: "exec_command", Params: map[string]string{"command": "cmd"}},
	{Name: "Bash", Tool: "run_shell_command", Params: map[string]string{"run_in_background": "is_background"}},
	{Name: "Edit", Tool: "replace", Params: map[string]string{"replace_all": "allow_multiple"}},
	{Name: "Grep", Tool: "grep_search", Params: map[string]string{"path": "dir_path", "glob": "include_pattern"}},
	{Name: "LS", Tool: "list_directory", Params: map[string]string{"path": "dir_path"}},
	{Name: "Read", Tool: "view_image", Params: map[string]string{"file_path": "path"}},
	{Name: "NotebookEdit", Tool: "notebook_edit"},
	{Name: "WebFetch", Tool: "web_fetch"},
	{Name: "WebSearch", Tool: "web_search"},
	{Name: "Task", Tool: "spawn_agent", Params: map[string]string{"prompt": "task", "subagent_type": "agent_type"}},
	{Name: "delete_file", Tool: "delete_file", Params: map[string]string{"file_path": "path"}},
}

// hookNames are additional names of calls for matchers, so that a hook for Edit or Write sees all file changes.
var hookNames = map[string][]string{
	"delete_file": {"Edit", "Write"}, "NotebookEdit": {"Edit", "Write"}, "Task": {"Agent"}, "Edit": {"MultiEdit"},
}

// claudeAliases maps tools to their aliases in Claude Code.
var claudeAliases = sync.OnceValue(func() map[string]tool.Alias {
	all := make(map[string]tool.Alias)
	for _, a := range tools.Aliases() {
		if slices.Contains(claudeTools, a.Name) {
			all[a.Tool] = a
		}
	}
	for _, a := range otherTools {
		all[a.Tool] = a
	}
	return all
})

// HookCalls translates tool calls for [hook.Set.Translating]: hooks see them as calls of Claude Code, with the absolute
// paths of an environment. Open does this for the hooks of a session.
func HookCalls(paths env.Paths) func(dir, name string, args json.RawMessage) []hook.Call {
	return func(dir, name string, args json.RawMessage) []hook.Call {
		in := map[string]json.RawMessage{}
		if json.Unmarshal(args, &in) != nil {
			return nil
		}
		abs := func(path string) string { return paths.Abs(dir, path) }
		if calls := severalFiles(name, in, abs); calls != nil {
			return calls
		}
		a, ok := claudeAliases()[name]
		if !ok {
			a.Name = name
		}
		shown := renamed(in, inverse(a.Params))
		for _, key := range []string{"file_path", "path", "notebook_path"} {
			path := ""
			if json.Unmarshal(shown[key], &path) == nil && path != "" {
				shown[key] = raw(abs(path))
			}
		}
		return []hook.Call{
			{Name: a.Name, Names: hookNames[a.Name], Input: raw(shown), Back: func(input json.RawMessage) (json.RawMessage, error) {
				changed := map[string]json.RawMessage{}
				if err := json.Unmarshal(input, &changed); err != nil {
					return nil, err
				}
				return raw(renamed(changed, a.Params)), nil
			}},
		}
	}
}

// severalFiles translates a call for several files to one call for each of them. It returns nil for other calls.
func severalFiles(name string, in map[string]json.RawMessage, abs func(string) string) (calls []hook.Call) {
	var text string
	var files []string
	switch name {
	case "apply_patch":
		if json.Unmarshal(in["patch"], &text) == nil || json.Unmarshal(in["input"], &text) == nil {
			return patchCalls(text, abs)
		}
	case "read_many_files":
		if json.Unmarshal(in["paths"], &files) == nil {
			for _, f := range files {
				calls = append(calls, hook.Call{Name: "Read", Input: raw(map[string]string{"file_path": abs(f)})})
			}
		}
	}
	return calls
}

// patchCalls translates a patch to one call for each file that it changes, moves or deletes.
func patchCalls(text string, abs func(string) string) (calls []hook.Call) {
	p, err := patch.Parse(text)
	if err != nil {
		return nil
	}
	for _, op := range p.Ops {
		old, new := op.Texts()
		edit := func(path string) hook.Call {
			return hook.Call{
				Name:  "Edit",
				Names: []string{"MultiEdit", "Write"},
				Input: raw(map[string]string{"file_path": abs(path), "old_string": old, "new_string": new}),
			}
		}
		switch {
		case op.Action == patch.Add:
			calls = append(
				calls,
				hook.Call{
					Name:  "Write",
					Names: []string{"Edit"},
					Input: raw(map[string]string{"file_path": abs(op.Path), "content": op.Content}),
				},
			)
		case op.Action == patch.Delete:
			calls = append(
				calls,
				hook.Call{Name: "delete_file", Names: hookNames["delete_file"], Input: raw(map[string]string{"file_path": abs(op.Path)})},
			)
		case op.MoveTo != "":
			calls = append(calls, edit(op.Path), edit(op.MoveTo))
		default:
			calls = append(calls, edit(op.Path))
		}
	}
	return calls
}

// renamed returns arguments under other names. It drops those whose new name is empty.
func renamed(in map[string]json.RawMessage, names map[string]string) map[string]json.RawMessage {
	out := make(map[string]json.RawMessage, len(in))
	for k, v := range in {
		if to, ok := names[k]; ok {
			k = to
		}
		if k != "" {
			out[k] = v
		}
	}
	return out
}

func inverse(names map[string]string) map[string]string {
	out := make(map[string]string, len(names))
	for k, v := range names {
		if v != "" {
			out[v] = k
		}
	}
	return out
}

func raw(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("coding: " + err.Error()) // only strings and raw values
	}
	return b
}
