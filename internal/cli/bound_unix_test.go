//go:build unix

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

// explorer is a model that thinks, runs a command, and is done after three of them.
func explorer(n int, r *llm.Request) llmtest.Turn {
	if r.Compact != "" {
		return llmtest.Say("The repository was explored.")
	}
	for _, m := range r.Messages[max(0, len(r.Messages)-3):] { // a system message may follow the prompt
		if m.Role == llm.RoleUser && strings.Contains(m.Text(), "about to be compacted") {
			return llmtest.Say("Goal: explore. Next: go on.")
		}
	}
	thinking := llm.Thinking{Text: fmt.Sprintf("Thought %d.", n)}
	shell := ""
	for _, t := range r.Tools {
		if t.Name == "shell" || t.Name == "Bash" || t.Name == "exec_command" || t.Name == "run_shell_command" {
			shell = t.Name
		}
	}
	if n%4 == 3 || shell == "" {
		return llmtest.Turn{Parts: []llm.Part{thinking, llm.Text{Text: "Done."}}}
	}
	key := "command"
	if shell == "exec_command" {
		key = "cmd"
	}
	args, _ := json.Marshal(map[string]string{key: fmt.Sprintf("echo %d; ls", n)})
	return llmtest.Turn{Parts: []llm.Part{thinking, llm.ToolCall{Name: shell, Arguments: string(args)}}}
}

// TestRun_CurrentModelsAcceptWhateverTheUserDoes runs the real program with its defaults, in a subdirectory of a repository.
func TestRun_CurrentModelsAcceptWhateverTheUserDoes(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	program := plainReins(t)
	for _, m := range []struct{ provider, model, other string }{
		{"anthropic", "claude-sonnet-5-5", "claude-haiku-5-5"},
		{"anthropic", "claude-fable-5-2", "claude-opus-5-5"},
		{"openai", "gpt-6.1-sol", "gpt-6-luna"},
		{"gemini", "gemini-3.8-flash", "gemini-4-argon"},
	} {
		t.Run(m.model, func(t *testing.T) {
			t.Parallel()
			server := llmtest.StartServer(llmtest.ServerConfig{Script: &llmtest.Script{Reply: explorer}, Key: canary, NeverDrop: true, CountDrops: true})
			defer server.Close()
			repo := t.TempDir()
			dir := filepath.Join(repo, "sub")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command("git", "-C", repo, "init", "-q").CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			reins := func(args ...string) {
				t.Helper()
				cmd := exec.Command(program, args...)
				cmd.Dir, cmd.Env = dir, append(runEnv(home), "REINS_STATE_DIR="+filepath.Join(repo, ".state"))
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("reins %s: %v\n%s", strings.Join(args, " "), err, out)
				}
			}
			base := server.BaseURL(m.provider)
			run := func(args ...string) {
				t.Helper()
				reins(append([]string{"run", "--yes", "--base-url", base, "--provider", m.provider}, args...)...)
			}
			run("--model", m.model, "explore the repository")
			run("--continue", "go on")
			run("--continue", "--append-system", "Be brief.", "go on")
			run("--continue", "--tool-tier", "lean", "go on")
			run("--continue", "--tool-tier", "all", "go on")
			reins("undo", "--yes")
			run("--continue", "--model", m.other, "go on")
			run("--continue", "--model", m.model, "go on")
			reins("compact", "--base-url", base)
			run("--continue", "go on")
			run("--continue", "--effort", "low", "go on")
			for _, v := range server.Violations() {
				t.Errorf("the server refused a request: %v", v)
			}
			if n := len(server.Bodies()); n < 30 {
				t.Errorf("got %d requests, want at least 30", n)
			}
		})
	}
}
