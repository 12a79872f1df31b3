//go:build unix

package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/trust"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/project"
	"github.com/reins-agent/reins/session"
)

var configured = map[string]string{
	".reins/skills/x/SKILL.md": "---\nname: x\ndescription: finds the needle\n---\nFind it.\n",
	".mcp.json":                `{"mcpServers": {"files": {"command": "npx", "args": ["-y", "files-server"]}}}`,
	".reins/config.toml":       "model = 'claude-opus-5-5'\n",
}

func TestReins_AsksForTrustAndAboutServersInTheSession(t *testing.T) {
	t.Parallel()
	cmd := withFiles(t, nil, configured)
	s := emulate(t, cmd, 80, 24)
	s.sees(".reins/skills/x/SKILL.md: skill")
	s.answers("y")
	s.sees("npx -y files-server")
	s.answers("n")
	s.sees("claude-opus-5-5") // as the project wants
	s.sends("/skills")
	s.sees("finds the needle")
	s.press("\x1b")
	s.sends("ping")
	s.sees("pong")
	s.press("\x11")
	s.ends(0)

	s = emulate(t, again(cmd, cmd.Dir), 80, 24)
	s.sees("asks first")
	s.sends("ping")
	s.sees("pong")
	for _, part := range []string{"trust the files", "outside the sandbox", "Reins asks"} {
		if strings.Contains(s.written(), part) {
			t.Errorf("the second start shows %q, want no question", part)
		}
	}
	s.press("\x11")
	s.ends(0)
}

func TestReins_AsksAgainForTrustWhenFilesChange(t *testing.T) {
	t.Parallel()
	cmd := withFiles(t, nil, configured)
	s := emulate(t, cmd, 80, 24)
	s.sees("trust the files")
	s.answers("n")
	s.sees("untrusted project, ignoring")
	s.sends("ping")
	s.sees("pong")
	s.press("\x11")
	s.ends(0)

	s = emulate(t, again(cmd, cmd.Dir), 80, 24)
	s.sees("asks first")
	s.sends("ping")
	s.sees("pong")
	if strings.Contains(s.written(), "trust the files") {
		t.Error("the user is asked again about the same files")
	}
	s.press("\x11")
	s.ends(0)

	if err := os.WriteFile(filepath.Join(cmd.Dir, ".mcp.json"), []byte(`{"mcpServers": {}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	s = emulate(t, again(cmd, cmd.Dir), 80, 24)
	s.sees("trust the files")
	s.press("\x11")
	s.ends(0)
	s = emulate(t, again(cmd, cmd.Dir), 80, 24)
	s.sees("trust the files") // which was not answered
	s.press("\x11")
	s.ends(0)
}

func TestReins_TellsWhyAProjectCannotBeTrusted(t *testing.T) {
	t.Parallel()
	cmd := withFiles(t, nil, nil)
	if err := os.Symlink(filepath.Join(t.TempDir(), "outside"), filepath.Join(cmd.Dir, ".mcp.json")); err != nil {
		t.Fatal(err)
	}
	s := emulate(t, cmd, 80, 24)
	s.sees("cannot be trusted")
	s.press("\x11")
	s.ends(0)
}

func TestAttack_FlagsDoNotAgreeToTrust(t *testing.T) {
	t.Parallel()
	cmd := withFiles(t, nil, configured)
	s := emulate(t, cmd, 80, 24)
	s.sees("trust the files")
	out, err := beside(cmd, "approve", "--json").Output()
	var q struct{ Session, Kind string }
	if err := errors.Join(err, json.Unmarshal(out, &q)); err != nil || q.Kind != "trust" {
		t.Fatalf("the questions are %s, %v", out, err)
	}
	for _, flags := range [][]string{{"--allow"}, {"--choice", "y"}} {
		wantOutput(t, beside(cmd, append([]string{"approve", q.Session}, flags...)...), 2, "flags cannot agree to trust the files of ")
	}
	wantOutput(t, beside(cmd, "approve", q.Session, "--refuse"), 0, "refused: trust the files of ")
	s.sees("untrusted project, ignoring")
	s.press("\x11")
	s.ends(0)
}

func TestDecide_TellsThatAnAnswerCouldNotBeSavedBeforeTheNextSession(t *testing.T) {
	t.Parallel()
	s, err := session.Open(t.Context(), coding.Config{
		Provider: "script",
		Model:    "model",
		Dir:      t.TempDir(),
		NoSave:   true,
		Session:  agent.Config{Client: llmtest.Play(), ContextWindow: 200_000},
	}, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var told bytes.Buffer
	saving, full := make(chan struct{}), make(chan struct{})
	r := &opener{host: Host{Stderr: &told}}
	r.flags.project = &project.Project{Trusted: true}
	r.leaving = []decision{{event.QuestionAsked{Type: event.QuestionServer, Text: "run it"}, func(bool) error {
		close(saving)
		<-full
		return errors.New("the disk is full")
	}}}
	settle := r.decide(t.Context(), s)
	list, err := s.Questions(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("the questions are %+v, %v", list, err)
	}
	if err := s.Answer(t.Context(), list[0].ID, ask.Answer{Choice: "y"}); err != nil {
		t.Fatal(err)
	}
	<-saving
	settled := make(chan struct{})
	go func() {
		defer close(settled)
		settle()
	}()
	runtime.Gosched()
	close(full)
	<-settled
	if want := "reins: the disk is full\n"; told.String() != want {
		t.Errorf("the user is told %q, want %q", told.String(), want)
	}
}

func TestAttack_AChangedFileIsNamedFirst(t *testing.T) {
	st := trust.State{Changed: []string{"skill-24", "gone"}}
	for n := range 25 {
		st.Files = append(st.Files, trust.File{Path: fmt.Sprintf("skill-%d", n), What: "skill"})
	}
	rows := namedFiles(st)
	if len(rows) != 21 || rows[0] != "skill-24: skill, new or changed" || rows[1] != "skill-0: skill" ||
		!strings.HasPrefix(rows[20], "and 5 more; ") {
		t.Errorf("the files are named as %q", rows)
	}
}
