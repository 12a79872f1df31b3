package coding_test

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/reins-agent/reins/coding"
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
