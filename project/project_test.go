package project

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
)

// place is a directory with a project, and the home directory of a user.
type place struct {
	*testing.T
	home, dir string
}

func newPlace(t *testing.T) place { return place{t, t.TempDir(), t.TempDir()} }

func (p place) write(dir, name, text string) {
	p.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.Fatal(err)
	}
}

// options returns the options for the project. The user has nothing but the home directory.
func (p place) options() Options {
	return Options{Dir: p.dir, Machine: Machine{SystemDir: p.home, Getenv: func(name string) string {
		return map[string]string{"HOME": p.home, "ANTHROPIC_API_KEY": "key"}[name]
	}}}
}

func (p place) load(o Options) *Project {
	p.Helper()
	loaded, err := Load(p.Context(), o)
	if err != nil {
		p.Fatal(err)
	}
	return loaded
}

// says checks how often a part of a text is in the notes of a kind.
func (p place) says(loaded *Project, kind NoteKind, part string, want int) {
	p.Helper()
	n := 0
	for _, note := range loaded.Notes() {
		if note.Kind == kind && strings.Contains(note.Text, part) {
			n++
		}
	}
	if n != want {
		p.Errorf("%d notes about %s say %q, want %d: %v", n, kind, part, want, loaded.Notes())
	}
}

func TestLoad_NotesSayWhatIsIgnoredAndReachTheHost(t *testing.T) {
	p := newPlace(t)
	p.write(p.dir, ".mcp.json", `{"mcpServers":{"files":{"command":"files"}}}`)
	p.write(p.dir, ".reins/config.toml", "[permissions]\nallow = [\"Bash(rm:*)\"]\n")
	o := p.options()
	var heard []Note
	o.Note = func(n Note) { heard = append(heard, n) }
	loaded := p.load(o)
	p.says(loaded, NoteTrust, "untrusted project, ignoring .reins/config.toml, .mcp.json", 1)
	p.says(loaded, NoteSetting, "permissions.allow is ignored", 1)
	if got := loaded.Notes(); len(got) != len(heard) || got[0] != heard[0] {
		t.Errorf("the host heard %v of %v", heard, got)
	}
	list, err := loaded.AllServers()
	if err != nil || len(list) != 1 || list[0].Inactive == "" || len(loaded.ActiveServers(list)) != 0 {
		t.Errorf("an untrusted project has the servers %+v (%v)", list, err)
	}
	o.Trust = TrustYes
	loaded = p.load(o)
	list, err = loaded.AllServers()
	if err != nil || len(loaded.ActiveServers(list)) != 1 {
		t.Errorf("a trusted project has the servers %+v (%v)", list, err)
	}
	p.says(loaded, NoteTrust, "", 0)
}

func TestLoad_OnceSaysWhatIsIgnoredOnlyOnceUntilItChanges(t *testing.T) {
	p := newPlace(t)
	p.write(p.dir, ".mcp.json", "{}")
	o := p.options()
	o.Once = true
	p.says(p.load(o), NoteTrust, ".mcp.json", 1)
	p.says(p.load(o), NoteTrust, ".mcp.json", 0)
	p.write(p.dir, ".mcp.json", `{"mcpServers":{}}`)
	p.says(p.load(o), NoteTrust, ".mcp.json", 1)
}

func TestLoad_AMistakeIsAnErrorAndKeepsTheNotes(t *testing.T) {
	p := newPlace(t)
	p.write(p.dir, ".mcp.json", "{}")
	o := p.options()
	o.Overrides = []config.Override{{Key: "permissions.mode", Value: "never", Name: "--mode"}}
	loaded, err := Load(t.Context(), o)
	var mistake *Error
	if !errors.As(err, &mistake) || !strings.Contains(err.Error(), "--mode") {
		t.Errorf("the error is %v", err)
	}
	p.says(loaded, NoteTrust, ".mcp.json", 1)
	if list, err := loaded.AllServers(); err != nil || list != nil {
		t.Errorf("without settings, the servers are %v (%v)", list, err)
	}
}

func TestSession_KeepsTheModelOfTheSessionUnlessOverridden(t *testing.T) {
	p := newPlace(t)
	o := p.options()
	o.Resumed = event.Meta{ID: "S", Provider: "anthropic", Model: "claude-opus-5-5"}
	for flag, want := range map[string]string{"": "claude-opus-5-5", "claude-sonnet-5-5": "claude-sonnet-5-5"} {
		o.Overrides = []config.Override{{Key: "sandbox.mode", Value: "off"}}
		if flag != "" {
			o.Overrides = append(o.Overrides, config.Override{Key: "model", Value: flag})
		}
		c, err := p.load(o).Session(t.Context(), SessionOptions{})
		if err != nil || c.Model != want || c.Resume != "S" || c.Provider != "anthropic" {
			t.Errorf("with --model %q: %s %s, resumes %q (%v)", flag, c.Provider, c.Model, c.Resume, err)
		}
	}
}

func TestSession_HasWhatTheConfigurationSays(t *testing.T) {
	p := newPlace(t)
	p.write(p.home, ".config/reins/config.toml", "effort = \"low\"\n[permissions]\nmode = \"acceptEdits\"\n"+
		"[run]\nbudget = 2\nmax_turns = 7\n[secrets]\nnames = [\"TOKEN\"]\n[audit]\npath = \"~/calls.jsonl\"\n[sandbox]\nmode = \"off\"\n")
	c, err := p.load(p.options()).Session(t.Context(), SessionOptions{Fallback: []string{"claude-sonnet-5-5"}, Secrets: []string{"HOOK"}})
	if err != nil {
		t.Fatal(err)
	}
	s := c.Session
	if c.Effort != "low" || s.Mode != policy.ModeAcceptEdits || s.Limits.TreeCost != 2 || s.Limits.Turns != 7 {
		t.Errorf("effort %q, mode %s, limits %+v", c.Effort, s.Mode, s.Limits)
	}
	names := strings.Join(c.Secrets.Names, " ")
	if c.Audit.Path != filepath.Join(p.home, "calls.jsonl") || !strings.Contains(names, "TOKEN") || !strings.Contains(names, "HOOK") {
		t.Errorf("audit %+v, secrets %q", c.Audit, names)
	}
	if len(s.Fallback) != 1 || c.State == "" || c.NoSave || c.Prompt.Trusted {
		t.Errorf("fallback %v, state %q, trusted %v", s.Fallback, c.State, c.Prompt.Trusted)
	}
}

func TestOpen_WorksInTheProjectWithItsRules(t *testing.T) {
	p := newPlace(t)
	server := llmtest.NewServer(llmtest.Play(
		llmtest.Call("write_file", `{"file_path":"a.txt","content":"x"}`), llmtest.Say("Not allowed."),
	))
	defer server.Close()
	p.write(p.dir, ".reins/config.toml", "[permissions]\ndeny = [\"Edit(a.txt)\"]\n") // an untrusted project can forbid
	o := p.options()
	o.Overrides = []config.Override{
		{Key: "provider", Value: "anthropic"},
		{Key: "base_url", Value: server.BaseURL("anthropic")},
		{Key: "permissions.mode", Value: "acceptEdits"},
		{Key: "sandbox.mode", Value: "off"},
	}
	s, err := Open(t.Context(), o, func(c *coding.Config) { c.NoSave = true })
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Submit(t.Context(), llm.NewText("Write a.txt"))
	if err := errors.Join(err, s.Close()); err != nil || out.Text != "Not allowed." {
		t.Fatalf("got %q, %v", out.Text, err)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "a.txt")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file was written (%v)", err)
	}
}
