package coding

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/audit"
	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

const plantedVar, plantedDotenv = "planted-in-the-variable", "planted-in-the-file"

// auditLines returns the lines of the audit log, which must be valid.
func (g *openRig) auditLines() (lines []audit.Line) {
	g.Helper()
	path := home.Dir(g.state).Audit()
	r, err := audit.Verify(path, "")
	if err != nil || !r.OK() {
		g.Fatalf("the audit log is not valid: %v %q", err, r.Problems)
	}
	for l, err := range audit.Read(path, 0) {
		if err != nil {
			g.Fatal(err)
		}
		lines = append(lines, l)
	}
	return lines
}

// without fails if a file of the state directory contains a text. Checkpoints have the files of the workspace as they
// are, because undo restores them.
func (g *openRig) without(text string) {
	g.Helper()
	err := filepath.WalkDir(g.state, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "checkpoints" {
			return filepath.SkipDir
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(text)) {
			g.Errorf("%s contains %q", path, text)
		}
		return err
	})
	if err != nil {
		g.Fatal(err)
	}
}

func TestOpen_AuditsEveryCallAndRedactsSecrets(t *testing.T) {
	g := newOpenRig(t)
	if err := os.WriteFile(filepath.Join(g.dir, ".env"), []byte("APP_SECRET="+plantedDotenv+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	g.model = llmtest.Play(
		llmtest.Call("shell", `{"command":"cat .env; printf 'planted-in-'; sleep 0.1; echo the-variable"}`),
		llmtest.Call("write_file", `{"file_path":"a.txt","content":"`+strings.Repeat("long ", 1000)+`"}`),
		llmtest.Call("read_file", `{"file_path":"/etc/denied"}`),
		llmtest.Call("no_such_tool", `{"password":"typed-by-the-model"}`),
		llmtest.Say("done"),
	)
	s := g.open(Config{Model: "m",
		Secrets: Secrets{Vars: []string{"DEPLOY_TOKEN=" + plantedVar}},
		Session: agent.Config{ID: "S1", Policy: policy.All(policy.Except("read_file"), policy.AllowAll{})},
		Prompt:  PromptConfig{User: "Use " + plantedVar},
	})
	g.ask(s)
	for _, r := range g.model.Requests() {
		for _, m := range r.Messages {
			for _, p := range m.Parts {
				text := ""
				switch p := p.(type) {
				case llm.Text:
					text = p.Text
				case llm.ToolResult:
					text = p.Text()
				}
				if strings.Contains(text, plantedVar) || strings.Contains(text, plantedDotenv) {
					t.Errorf("the model sees a secret: %s", text)
				}
			}
		}
	}
	g.without(plantedVar)
	g.without(plantedDotenv)
	lines := g.auditLines()
	if len(lines) != 4 {
		t.Fatalf("got %d audit lines, want 4", len(lines))
	}
	shell, write, denied, unknown := lines[0], lines[1], lines[2], lines[3]
	if shell.Trace != "S1" || shell.Name != "shell" || !shell.OK || len(shell.CommandsRun) != 1 || shell.Decision.Verdict != "allow" || shell.Decision.Rule == "" || shell.Version == "" {
		t.Errorf("the line of the command is %+v", shell)
	}
	if len(write.FilesChanged) != 1 || len(write.Args) > 3000 || !bytes.Contains(write.Args, []byte("(5000 bytes)")) {
		t.Errorf("the line of the write is %+v", write)
	}
	if denied.OK || denied.Error != string(tool.PermissionDenied) || denied.Decision.Verdict != "deny" {
		t.Errorf("the line of the refused call is %+v", denied)
	}
	if unknown.OK || unknown.Error != string(tool.UnknownTool) || string(unknown.Args) != `{"password":"[redacted:password]"}` {
		t.Errorf("the line of the unknown tool is %+v with %s", unknown, unknown.Args)
	}
}

func TestOpen_RefusesToolsWhileTheAuditLogCannotBeWritten(t *testing.T) {
	for _, optional := range []bool{false, true} {
		g := newOpenRig(t)
		dir := filepath.Dir(home.Dir(g.state).Audit())
		turn := 0
		g.model = &llmtest.Script{Reply: func(int, *llm.Request) llmtest.Turn {
			turn++
			switch turn {
			case 2: // the directory of the log becomes a file
				if err := os.Rename(dir, dir+".away"); err != nil {
					t.Error(err)
				}
				if err := os.WriteFile(dir, nil, 0o600); err != nil {
					t.Error(err)
				}
			case 4:
				if err := os.Remove(dir); err != nil {
					t.Error(err)
				}
				if err := os.Rename(dir+".away", dir); err != nil {
					t.Error(err)
				}
			case 5:
				return llmtest.Say("done")
			}
			return llmtest.Call("shell", `{"command":"echo ran >> log"}`)
		}}
		var warnings []string
		s := g.open(Config{Model: "m",
			Audit: Audit{Optional: optional}, Warn: func(err error) { warnings = append(warnings, err.Error()) },
			Session: agent.Config{Policy: policy.AllowAll{}},
		})
		g.ask(s)
		ran, err := os.ReadFile(filepath.Join(g.dir, "log"))
		if err != nil {
			t.Fatal(err)
		}
		// The second call runs and cannot be recorded, the third is refused, and the fourth runs again.
		runs, lines, says := 3, 4, "tools are refused until it can be written"
		if optional {
			runs, lines, says = 4, 2, "tool calls are not recorded"
		}
		if n := strings.Count(string(ran), "ran"); n != runs {
			t.Errorf("optional %v: %d calls ran, want %d", optional, n, runs)
		}
		if got := g.auditLines(); len(got) != lines {
			t.Errorf("optional %v: %d audit lines, want %d", optional, len(got), lines)
		}
		if len(warnings) != 1 || !strings.Contains(warnings[0], "cannot write the audit log") || !strings.Contains(warnings[0], says) {
			t.Errorf("optional %v: got warnings %q", optional, warnings)
		}
	}
}

func TestOpen_FailsIfTheAuditLogCannotBeOpened(t *testing.T) {
	g := newOpenRig(t)
	c := Config{Dir: g.dir, State: g.state, Audit: Audit{Path: filepath.Join(g.dir, "file", "audit.jsonl")}, Session: agent.Config{Client: g.model, Model: "m", Provider: "p"}}
	if err := os.WriteFile(filepath.Join(g.dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), "cannot open the audit log") {
		t.Errorf("got error %v", err)
	}
}

func TestOpen_SecretsOffRedactsOnlyTheAuditLog(t *testing.T) {
	g := newOpenRig(t)
	g.model = llmtest.Play(llmtest.Call("shell", `{"command":"echo planted-in-the-variable"}`), llmtest.Say("done"))
	s := g.open(Config{Model: "m", Secrets: Secrets{Off: true, Vars: []string{"DEPLOY_TOKEN=" + plantedVar}}, Session: agent.Config{Policy: policy.AllowAll{}}})
	r := g.ask(s)
	if last := r.Messages[len(r.Messages)-1]; !strings.Contains(resultText(last), plantedVar) {
		t.Errorf("the model sees %q", resultText(last))
	}
	if got := string(g.auditLines()[0].Args); got != `{"command":"echo [redacted:DEPLOY_TOKEN]"}` {
		t.Errorf("the audit log has %s", got)
	}
}

func resultText(m llm.Message) (text string) {
	for _, p := range m.Parts {
		if r, ok := p.(llm.ToolResult); ok {
			text += r.Text()
		}
	}
	return text
}
