package coding_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

func TestToolNames_HasEveryToolOfTheDocumentation(t *testing.T) {
	b, err := os.ReadFile("../docs/tools.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("(?m)^\\| `([a-z_]+)`(?: \\(in| \\(if| \\(with| \\(see| \\|)").FindAllStringSubmatch(string(b), -1)
	if len(names) < 25 {
		t.Fatalf("the documentation lists only %d tools", len(names))
	}
	known := coding.ToolNames()
	for _, n := range names {
		if coding.Family(n[1]).Known() || n[1] == "chat" {
			continue
		}
		if !slices.Contains(known[n[1]], n[1]) {
			t.Errorf("%s is unknown", n[1])
		}
	}
}

func TestToolNames_AliasesStandForTheirTools(t *testing.T) {
	known := coding.ToolNames()
	for name, own := range map[string]string{
		"Task": "spawn_agent", "Agent": "spawn_agent", "TodoWrite": "todo_write", "exec_command": "shell", "write_stdin": "shell_input", "NotebookEdit": "notebook_edit",
		"ExitPlanMode": "exit_plan_mode", "Skill": "skill", "WebSearch": "web_search", "run_shell_command": "run_shell_command", "spawn_agent": "spawn_agent", "ask_user": "ask_user",
	} {
		if !slices.Contains(known[name], own) {
			t.Errorf("%s stands for %q, want %s too", name, known[name], own)
		}
	}
	if known["Bsh"] != nil {
		t.Error("Bsh is known")
	}
}

func TestAliases_OfTheToolProtocolTakeItsArguments(t *testing.T) {
	dir := t.TempDir()
	e, err := local.New(local.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("needle\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, args, want string }{
		{"list_dir", `{"path":".","ignore_globs":["x"]}`, "a.txt"},
		{"glob_file_search", `{"glob_pattern":"*.txt","target_directory":"."}`, "a.txt"},
		{"read_file", `{"path":"a.txt","offset":1,"limit":1}`, "needle"},
		{"grep", `{"pattern":"NEEDLE","path":".","glob":"*.txt","multiline":false,"head_limit":5,"-i":true}`, "needle"},
		{"run_terminal_cmd", `{"command":"echo hello","is_background":false}`, "hello"},
		{"apply_patch", `{"patch_text":"*** Begin Patch\n*** Add File: new\n+x\n*** End Patch"}`, "new"},
	} {
		provider, model := "gemini", "gemini-2.5-pro"
		if c.name == "apply_patch" {
			provider, model = "openai", "gpt-5.5"
		}
		r, err := coding.For(provider, model).Registry()
		if err != nil {
			t.Fatal(err)
		}
		pipe := &tool.Pipeline{Registry: r, Policy: policy.AllowAll{}} // names and arguments are judged, not permissions
		out := pipe.Run(t.Context(), tool.Call{ID: c.name, Name: c.name, Args: json.RawMessage(c.args), Env: e})
		if out.Result.Error != nil || !strings.Contains(out.Model, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, out.Model, c.want)
		}
	}
}
