package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/event"
)

// answers takes the answers to questions.
type answers []ask.Answer

func (a *answers) Answer(_ context.Context, _ string, answer ask.Answer) error {
	*a = append(*a, answer)
	return nil
}

// typist types a line when it sees a text.
type typist struct {
	keys       io.Writer
	sees, line string
}

func (w typist) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(w.sees)) {
		go func() { _, _ = io.WriteString(w.keys, w.line) }()
	}
	return len(b), nil
}

func TestAsker_AnswersTheQuestionAsItWasShown(t *testing.T) {
	in, keys := io.Pipe()
	defer keys.Close()
	a := newAsker(Host{
		Stdin:  in,
		Stderr: typist{keys, "Allow? ", "y\n"},
		Getenv: func(string) string { return "" },
	})
	q := ask.FromRequest(event.ApprovalRequested{ID: "1", Name: "shell", Tool: "shell"})
	q.Asked = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var given answers
	if err := a.decide(t.Context(), &given, q); err != nil {
		t.Fatal(err)
	}
	if len(given) != 1 || given[0].Choice != "y" || !given[0].Asked.Equal(q.Asked) {
		t.Errorf("the answers are %+v", given)
	}
}

func TestInit_KeepsAFileThatAppearedMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), agentsFile)
	if err := os.WriteFile(path, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	err := writeNew(path, "generated")
	if b, _ := os.ReadFile(path); err == nil || string(b) != "mine" {
		t.Errorf("the file is %q, error %v", b, err)
	}
}

func TestApprove_AnswersOnlyTheCallThatIsNamed(t *testing.T) {
	state := t.TempDir()
	h := Host{
		Stdin:  bytes.NewReader(nil),
		Stdout: io.Discard,
		Stderr: io.Discard,
		Getenv: func(name string) string { return map[string]string{"REINS_HOME": state}[name] },
	}
	sessions, err := openSessions(h)
	if err != nil {
		t.Fatal(err)
	}
	var records []event.Record
	for _, d := range []event.Data{
		event.ToolCallStart{ID: "1", Name: "shell"},
		event.ApprovalRequested{ID: "1", Name: "shell", Tool: "shell"},
		event.ToolCallStart{ID: "2", Name: "shell"},
		event.ApprovalRequested{ID: "2", Name: "shell", Tool: "shell"},
	} {
		records = append(records, event.Record{Seq: event.Seq(len(records) + 1), Time: time.Now(), Session: "two", Data: d})
	}
	if err := saveSession(sessions.Store, event.Meta{ID: "two", Dir: t.TempDir()}, records); err != nil {
		t.Fatal(err)
	}
	o := approveCommand{host: h, allow: true}
	if err := o.run(t.Context(), []string{"two"}); !errors.As(err, new(usageError)) {
		t.Errorf("approving a session with two calls: %v, want a usage error", err)
	}
	if err := o.run(t.Context(), []string{"two", "2"}); err != nil {
		t.Fatal(err)
	}
	list, err := sessions.Questions(t.Context(), "two")
	if err != nil || len(list) != 1 || list[0].ID != "1" {
		t.Errorf("the calls that wait are %+v (%v), want call 1", list, err)
	}
}
