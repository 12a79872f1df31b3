//go:build unix

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

// startedTurns are the answers of the model in docs/getting-started.md by prompt.
var startedTurns = map[string][]llmtest.Turn{
	"What does this project do?": {
		act("", nil, call("list_dir", "path", "."), call("read_file", "file_path", "greet.sh")),
		act("`greet.sh` greets the person whose name you pass. `test.sh` tests it.", sees("Hello")),
	},
	"Run the test and fix what fails": {
		act("I'll run the test.", nil, call("shell", "command", "sh test.sh")),
		act("The comma and the exclamation mark are missing.", sees("want Hello, Ann!"),
			call("read_file", "file_path", "greet.sh")),
		act("", sees("echo"), call("edit_file", "file_path", "greet.sh", "old_string", `"Hello $1"`, "new_string", `"Hello, $1!"`)),
		act("", sees("greet.sh"), call("shell", "command", "sh test.sh")),
		act("The greeting lacked its punctuation. The test passes now.", sees("ok")),
	},
	"Add a comment that explains the usage": {
		act("", nil, call("edit_file", "file_path", "greet.sh", "old_string", "#!/bin/sh\n", "new_string", "#!/bin/sh\n# Usage: greet.sh NAME\n")),
		act("Done.", sees("greet.sh")),
	},
}

// startedReply plays the model of the page.
func startedReply(_ int, r *llm.Request) llmtest.Turn {
	var turns []llmtest.Turn
	done := 0
	for _, m := range r.Messages {
		switch prompt := startedTurns[m.Text()]; {
		case m.Role == llm.RoleAssistant:
			done++
		case m.Role == llm.RoleUser && prompt != nil:
			turns, done = prompt, 0
		}
	}
	if done >= len(turns) {
		return llmtest.Fail(400)
	}
	return turns[done]
}

// varying matches what differs between two runs of the page.
var varying = regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:]+Z|(under |<)?\b[\d.]+ ?(ms|s|min)\b( ago)?|just now|\b[A-Z2-7]{26}\b|` +
	`\$[\d.]+|\b[\d.]+k\b|(?m)^reins: .*sandbox.*\n`)

// TestDocs_GettingStartedShowsRealOutput runs the commands of docs/getting-started.md in order. Blocks marked sh only
// have to succeed. Blocks marked console show commands with their output.
func TestDocs_GettingStartedShowsRealOutput(t *testing.T) {
	const file = "../../docs/getting-started.md"
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	server := llmtest.StartServer(llmtest.ServerConfig{Script: &llmtest.Script{Reply: startedReply}, Key: canary})
	defer server.Close()
	run := startedShell(t, server)
	var page, want, got strings.Builder
	for i, block := range strings.Split(string(b), "```") {
		kind, body, _ := strings.Cut(block, "\n")
		switch {
		case i%2 == 1 && kind == "sh":
			run(body)
		case i%2 == 1 && kind == "console":
			var output strings.Builder
			for line := range strings.Lines(body) {
				if command, ok := strings.CutPrefix(line, "$ "); ok {
					output.WriteString(line + run(command))
				}
			}
			want.WriteString(body)
			got.WriteString(output.String())
			block = kind + "\n" + output.String()
		}
		if i > 0 {
			page.WriteString("```")
		}
		page.WriteString(block)
	}
	for _, v := range server.Violations() {
		t.Error(v)
	}
	if *updateScripts {
		if err := os.WriteFile(file, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(varying.ReplaceAllString(want.String(), "#"), varying.ReplaceAllString(got.String(), "#")); diff != "" {
		t.Errorf("the page differs from the commands; run go test ./internal/cli -run Docs -update (-page +commands):\n%s", diff)
	}
}

// startedShell returns a function that runs commands in a new project and returns their output.
func startedShell(t *testing.T, server *llmtest.Server) func(string) string {
	home := t.TempDir()
	dir := filepath.Join(home, "greet")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "reins")); err != nil {
		t.Fatal(err)
	}
	return func(script string) string {
		c := exec.CommandContext(t.Context(), "sh", "-ec", script)
		c.Dir = dir
		c.Env = []string{
			"PATH=" + bin + string(filepath.ListSeparator) + os.Getenv("PATH"), "HOME=" + home, quickExit,
			"TEST_SYSTEM_DIR=" + filepath.Join(home, "etc"), "REINS_HOME=" + filepath.Join(home, "state"),
			"ANTHROPIC_API_KEY=" + canary, "ANTHROPIC_BASE_URL=" + server.BaseURL("anthropic"),
		}
		out, err := c.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
		return string(out)
	}
}
