//go:build unix

package coding

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/hook"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
)

// claudeProject has hooks as they are written for Claude Code.
var claudeProject = map[string]string{
	".claude/settings.json": `{
  "permissions": {"allow": ["Bash(ls:*)"]},
  "hooks": {
    "SessionStart": [{"matcher": "startup|resume", "hooks": [{"type": "command", "command": "\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/session.sh"}]}],
    "UserPromptSubmit": [{"hooks": [{"type": "command", "command": ".claude/hooks/prompt.sh"}]}],
    "PreToolUse": [
      {"matcher": "Bash", "hooks": [
        {"type": "command", "command": "$CLAUDE_PROJECT_DIR/.claude/hooks/block-rm.sh", "timeout": 10},
        {"type": "command", "command": "python3 $CLAUDE_PROJECT_DIR/.claude/hooks/rewrite.py"}]},
      {"matcher": "Edit|MultiEdit|Write", "hooks": [{"type": "command", "command": "python3 $CLAUDE_PROJECT_DIR/.claude/hooks/protect.py"}]}],
    "PostToolUse": [{"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "$CLAUDE_PROJECT_DIR/.claude/hooks/format.sh"}]}],
    "Stop": [{"hooks": [{"type": "command", "command": "$CLAUDE_PROJECT_DIR/.claude/hooks/stop.sh"}]}]
  }
}`,
	".claude/hooks/session.sh": `#!/bin/sh
echo "Ticket: RE-42"
`,
	".claude/hooks/prompt.sh": `#!/bin/sh
words=$(sed 's/.*"prompt":"\([^"]*\)".*/\1/' | wc -w | tr -d ' ')
echo "{\"hookSpecificOutput\": {\"hookEventName\": \"UserPromptSubmit\", \"additionalContext\": \"words: $words\"}}"
`,
	".claude/hooks/block-rm.sh": `#!/bin/sh
if grep -q '"command": *"rm -rf'; then
  echo "rm -rf is forbidden here" >&2
  exit 2
fi
exit 0
`,
	".claude/hooks/rewrite.py": `import json, sys
data = json.load(sys.stdin)
assert data["tool_name"] == "Bash", data
tool_input = data["tool_input"]
if "npm" in tool_input["command"]:
    tool_input["command"] = tool_input["command"].replace("npm", "pnpm")
    print(json.dumps({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "allow", "permissionDecisionReason": "pnpm is used here", "updatedInput": tool_input}}))
`,
	".claude/hooks/protect.py": `import json, os, sys
path = json.load(sys.stdin)["tool_input"]["file_path"]
if not path.startswith(os.environ["CLAUDE_PROJECT_DIR"] + "/"):
    print("outside: " + path, file=sys.stderr)
    sys.exit(2)
if os.path.basename(path) == ".env":
    print(".env is protected", file=sys.stderr)
    sys.exit(2)
`,
	".claude/hooks/format.sh": `#!/bin/sh
file=$(sed 's/.*"file_path":"\([^"]*\)".*/\1/')
echo formatted >> "$file"
`,
	".claude/hooks/stop.sh": `#!/bin/sh
if grep -q '"stop_hook_active":true'; then exit 0; fi
echo '{"decision": "block", "reason": "run the tests before you stop"}'
`,
}

// claudeRig is a project with hooks for Claude Code.
func claudeRig(t *testing.T) (*openRig, *hook.Set) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3")
	}
	g := newOpenRig(t)
	g.dir, _ = filepath.EvalSymlinks(g.dir)
	for name, content := range claudeProject {
		path := filepath.Join(g.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	found, err := hook.ReadClaude([]byte(claudeProject[".claude/settings.json"]))
	if err != nil {
		t.Fatal(err)
	}
	var list []hook.Hook
	for _, f := range found {
		if f.Inactive != "" {
			t.Fatalf("%s is inactive: %s", f.Name, f.Inactive)
		}
		list = append(list, f.Hook)
	}
	set, err := hook.New(list...)
	if err != nil {
		t.Fatal(err)
	}
	return g, set.InProject(g.dir)
}

func TestHooks_WrittenForClaudeCodeRunUnchangedWithEveryToolset(t *testing.T) {
	type forms struct{ shell, write string } // of calls, with %s for the command or the path
	patch := `{"%s":"*** Begin Patch\n*** Add File: %%s\n+content\n*** End Patch"}`
	standard := forms{`shell {"command":"%s"}`, `write_file {"file_path":"%s","content":"content\n"}`}
	for name, c := range map[string]struct {
		model   string
		toolset Toolset
		forms
	}{
		"openai native":   {"gpt-5.2", Native, forms{`exec_command {"cmd":"%s"}`, "apply_patch " + fmt.Sprintf(patch, "input")}},
		"anthropic alias": {"claude-opus-4-6", Standard, forms{`Bash {"command":"%s"}`, `Write {"file_path":"%s","content":"content\n"}`}},
		"gemini native":   {"gemini-3-pro-preview", Native, forms{`run_shell_command {"command":"%s"}`, standard.write}},
		"generic":         {"qwen3-coder", Standard, standard},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, set := claudeRig(t)
			call := func(form, arg string) llmtest.Turn {
				tool, args, _ := strings.Cut(fmt.Sprintf(form, arg), " ")
				return llmtest.Call(tool, args)
			}
			g.model = llmtest.Play(call(c.shell, "rm -rf keep"), call(c.shell, "echo uses npm"), call(c.write, "a.txt"), call(c.write, ".env"),
				llmtest.Say("Done."), llmtest.Say("Tested."))
			if err := os.Mkdir(filepath.Join(g.dir, "keep"), 0o755); err != nil {
				t.Fatal(err)
			}
			s := g.open(Config{Model: c.model, Toolset: c.toolset, Session: agent.Config{Hooks: set, Policy: policy.AllowAll{}}})
			out, err := s.Submit(t.Context(), llm.Text{Text: "two words"})
			if err != nil || out.Text != "Tested." {
				t.Fatalf("%+v, %v", out, err)
			}
			var got strings.Builder
			for _, m := range s.Messages()[1:] {
				got.WriteString(text(m) + "\n")
			}
			for _, want := range []string{
				"SessionStart hook: Ticket: RE-42", "UserPromptSubmit hook: words: 2", "rm -rf is forbidden here", "uses pnpm", ".env is protected",
				"Stop hook: run the tests before you stop",
			} {
				if !strings.Contains(got.String(), want) {
					t.Errorf("the conversation lacks %q:\n%s", want, got.String())
				}
			}
			if b, err := os.ReadFile(filepath.Join(g.dir, "a.txt")); err != nil || string(b) != "content\nformatted\n" {
				t.Errorf("a.txt is %q, %v", b, err)
			}
			if _, err := os.Stat(filepath.Join(g.dir, ".env")); err == nil {
				t.Error(".env was written")
			}
			if _, err := os.Stat(filepath.Join(g.dir, "keep")); err != nil {
				t.Error("keep was removed")
			}
		})
	}
}

// text returns what a message says, with the results of tools.
func text(m llm.Message) string {
	out := m.Text()
	for _, p := range m.Parts {
		if r, ok := p.(llm.ToolResult); ok {
			out += r.Text()
		}
	}
	return out
}

func TestHookCalls_AreThoseOfClaudeCode(t *testing.T) {
	f := HookCalls(env.PathsOf("linux"))
	for _, c := range []struct{ tool, args, want string }{
		{"shell", `{"command":"ls","timeout_ms":5,"background":true}`, `Bash {"command":"ls","run_in_background":true,"timeout":5}`},
		{"exec_command", `{"cmd":"ls","workdir":"x"}`, `Bash {"command":"ls","workdir":"x"}`},
		{"run_shell_command", `{"command":"ls","is_background":true}`, `Bash {"command":"ls","run_in_background":true}`},
		{"shell_input", `{"id":"1","text":"rm"}`, `Bash {"command":"rm","id":"1"}`},
		{"write_stdin", `{"session_id":1,"chars":"rm"}`, `Bash {"command":"rm","session_id":1}`},
		{"read_file", `{"file_path":"a/../b"}`, `Read {"file_path":"/w/b"}`},
		{"Read", `{"file_path":"/etc/passwd"}`, `Read {"file_path":"/etc/passwd"}`},
		{"edit_file", `{"file_path":"b","old_string":"x","new_string":"y"}`, `Edit+MultiEdit {"file_path":"/w/b","new_string":"y","old_string":"x"}`},
		{"replace", `{"file_path":"b","allow_multiple":true}`, `Edit+MultiEdit {"file_path":"/w/b","replace_all":true}`},
		{"grep", `{"pattern":"x","path":"src","glob_filter":"*.go","case_insensitive":true}`, `Grep {"-i":true,"glob":"*.go","path":"/w/src","pattern":"x"}`},
		{"list_directory", `{"dir_path":"src"}`, `LS {"path":"/w/src"}`},
		{"delete_file", `{"path":"b"}`, `delete_file+Edit+Write {"file_path":"/w/b"}`},
		{"spawn_agent", `{"task":"look","agent_type":"Explore"}`, `Task+Agent {"prompt":"look","subagent_type":"Explore"}`},
		{"mcp__a__b", `{"path":"x"}`, `mcp__a__b {"path":"/w/x"}`},
		{"read_many_files", `{"paths":["a","b"]}`, `Read {"file_path":"/w/a"}|Read {"file_path":"/w/b"}`},
		{"apply_patch", `{"patch":"*** Begin Patch\n*** Update File: a\n*** Move to: c\n@@\n x\n-y\n+z\n*** Delete File: d\n*** End Patch"}`,
			`Edit+MultiEdit+Write {"file_path":"/w/a","new_string":"x\nz\n","old_string":"x\ny\n"}|Edit+MultiEdit+Write {"file_path":"/w/c","new_string":"x\nz\n","old_string":"x\ny\n"}|delete_file+Edit+Write {"file_path":"/w/d"}`},
		{"apply_patch", `{"patch":"nonsense"}`, `apply_patch {"patch":"nonsense"}`},
	} {
		var got []string
		for _, h := range f("/w", c.tool, json.RawMessage(c.args)) {
			got = append(got, strings.Join(append([]string{h.Name}, h.Names...), "+")+" "+string(h.Input))
		}
		if diff := cmp.Diff(c.want, strings.Join(got, "|")); diff != "" {
			t.Errorf("%s %s:\n%s", c.tool, c.args, diff)
		}
	}
}

// Whatever a hook leaves unchanged comes back as it was, apart from absolute paths.
func TestHookCalls_ComeBack(t *testing.T) {
	f := HookCalls(env.PathsOf("linux"))
	args := map[string]string{
		"shell": `{"background":true,"command":"ls","timeout_ms":5}`, "exec_command": `{"cmd":"ls"}`, "shell_input": `{"id":"1","text":"x"}`,
		"grep":      `{"after":1,"case_insensitive":true,"glob_filter":"*.go","max_results":3,"path":"/w/src","pattern":"x"}`,
		"edit_file": `{"file_path":"/w/a","new_string":"y","old_string":"x","replace_all":true}`, "delete_file": `{"path":"/w/a"}`,
		"spawn_agent": `{"agent_type":"Plan","task":"x"}`, "own": `{"any":[1,2.50]}`,
	}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		calls := f("/w", name, json.RawMessage(args[name]))
		back, err := calls[0].Back(calls[0].Input)
		if err != nil || string(back) != args[name] {
			t.Errorf("%s: %s comes back as %s, %v", name, args[name], back, err)
		}
	}
}
