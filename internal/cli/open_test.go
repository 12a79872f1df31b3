package cli

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/session"
)

// openScripted opens a session as a face does, with a model that plays these turns.
func openScripted(t *testing.T, turns ...llmtest.Turn) (*shared, string) {
	t.Helper()
	server := llmtest.NewServer(llmtest.Play(turns...))
	t.Cleanup(server.Close)
	state, dir := t.TempDir(), t.TempDir()
	h := Host{Stdin: os.Stdin, Stdout: io.Discard, Stderr: io.Discard, Getenv: func(name string) string {
		return map[string]string{"REINS_HOME": state, "HOME": state, "ANTHROPIC_API_KEY": canary}[name]
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
	s, err := newOpener(h, flags).open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, dir
}

func TestOpen_AFaceAnswersTheQuestionsOfASavedSession(t *testing.T) {
	t.Parallel()
	s, dir := openScripted(t, act("", nil, call("write_file", "file_path", "a.txt", "content", "x\n")), llmtest.Say("Made."))
	if err := s.Submit(t.Context(), session.Input{Text: "Make it"}); err != nil {
		t.Fatal(err)
	}
	for r, err := range s.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if _, asks := r.Data.(event.ApprovalRequested); asks {
			break
		}
	}
	list, err := s.Questions(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("%d questions wait, error %v", len(list), err)
	}
	if !slices.ContainsFunc(list[0].Choices, func(c ask.Choice) bool { return c.Save == "personal" }) {
		t.Errorf("the choices are %+v, want also one that saves a rule", list[0].Choices)
	}
	if err := s.Answer(t.Context(), list[0].ID, ask.Answer{Choice: "y"}); err != nil {
		t.Fatal(err)
	}
	out, err := s.Wait(t.Context())
	if b, _ := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || out.Text != "Made." || string(b) != "x\n" {
		t.Errorf("the outcome is %+v (%v), the file %q", out, err, b)
	}
	commands, err := s.Commands(t.Context())
	for _, want := range []string{"mode", "undo", "resume"} {
		if !slices.ContainsFunc(commands, func(c session.Command) bool { return c.Name == want && c.Unavailable == "" }) {
			t.Errorf("the command /%s is not available in %+v (%v)", want, commands, err)
		}
	}
}
