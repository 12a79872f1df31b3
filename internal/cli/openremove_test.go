package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	slash "github.com/reins-agent/reins/command"
	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/internal/memory"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/session"
)

// shown returns what a command shows, or its error.
func shown(t *testing.T, s session.Handle, line string) string {
	t.Helper()
	r, err := s.Run(t.Context(), line)
	if err != nil {
		return "error: " + err.Error()
	}
	for _, table := range r.Tables {
		for _, row := range table.Rows {
			r.Text += "\n" + strings.Join(row, " | ")
		}
	}
	return r.Text
}

func TestOpen_CommandsRemoveRulesAndNotes(t *testing.T) {
	t.Parallel()
	server := llmtest.NewServer(llmtest.Play())
	t.Cleanup(server.Close)
	state, dir := t.TempDir(), t.TempDir()
	file := filepath.Join(state, "mine.toml")
	if err := os.WriteFile(file, []byte("# mine\n[permissions]\nallow = [\"Bash(go test:*)\", \"Bash(make:*)\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := Host{Stdin: os.Stdin, Stdout: io.Discard, Stderr: io.Discard, Getenv: func(name string) string {
		return map[string]string{"REINS_HOME": state, "HOME": state, "REINS_CONFIG": file, "ANTHROPIC_API_KEY": canary}[name]
	}}
	cmd := newRun(h)
	var flags run
	cmd.ResetFlags()
	flags.connection.flags(h, cmd)
	flags.flags(h, cmd)
	args := []string{"--provider", "anthropic", "--base-url", server.BaseURL("anthropic"), "--cwd", dir, "--sandbox", "off"}
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	o := newOpener(h, flags)
	s, err := o.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if got := shown(t, s, "/permissions"); !strings.Contains(got, "allow | Bash(go test:*)") {
		t.Fatalf("/permissions shows %s", got)
	}
	if got := shown(t, s, "/permissions remove allow Bash(go test:*)"); !strings.HasPrefix(got, "Removed the rule") {
		t.Error(got)
	}
	if got := shown(t, s, "/permissions"); strings.Contains(got, "go test") || !strings.Contains(got, "Bash(make:*)") {
		t.Errorf("/permissions still shows %s", got)
	}
	b, err := os.ReadFile(file)
	if err != nil || string(b) != "# mine\n[permissions]\nallow = [\"Bash(make:*)\"]\n" {
		t.Errorf("the file is %q (%v)", b, err)
	}
	err = o.removeRule(slash.Rule{Effect: "allow", Rule: "Bash(make:*)", Origin: "/elsewhere.toml:3"})
	if err == nil || !strings.Contains(err.Error(), "remove it there") {
		t.Errorf("a rule of another file: %v", err)
	}

	store := memory.Open(home.Dir(state).Memory(), dir)
	if err := store.Create(t.Context(), memory.Project); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(store.Path(memory.Project), []byte("# M\n\n## Build\n\nmake\n\n## Test\n\nmake test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := shown(t, s, "/memory forget project Build"); !strings.HasPrefix(got, "Removed the project note") {
		t.Error(got)
	}
	if got := shown(t, s, "/memory"); strings.Contains(got, "Build") || !strings.Contains(got, "project | Test | make test") {
		t.Errorf("/memory shows %s", got)
	}
}
