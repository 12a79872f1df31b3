package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/event/filestore"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// newSession implements the script command "newsession FILE...". Each file is a session: its first line
// is an event.Meta with an age, and the others are records without numbers and times. $WORK is the
// directory of the script, and $LONG a text that is too long for a record.
func newSession(ts *testscript.TestScript, neg bool, files []string) {
	if neg || len(files) == 0 {
		ts.Fatalf("usage: newsession FILE…")
	}
	for _, file := range files {
		lines := strings.Split(strings.TrimSpace(ts.ReadFile(file)), "\n")
		var m struct {
			event.Meta
			Age string    `json:"age"`
			At  time.Time `json:"at"` // instead of an age
		}
		ts.Check(json.Unmarshal([]byte(lines[0]), &m))
		age, err := parseAge(m.Age)
		ts.Check(err)
		then := time.Now().Add(-age)
		if !m.At.IsZero() {
			then = m.At
		}
		var records []event.Record
		for i, line := range lines[1:] {
			line = strings.ReplaceAll(line, "$LONG", strings.Repeat("x", 80_000))
			var r event.Record
			ts.Check(json.Unmarshal([]byte(line), &r))
			r.Seq, r.Time, r.Session = event.Seq(i+1), then, m.ID
			records = append(records, r)
		}
		m.Dir = strings.ReplaceAll(m.Dir, "$WORK", ts.Getenv("WORK"))
		ts.Check(saveSession(scriptStore(ts, then), m.Meta, records))
	}
}

func saveSession(s event.Store, m event.Meta, records []event.Record) error {
	w, err := s.Create(context.Background(), m)
	if err != nil {
		return err
	}
	return errors.Join(event.Save(context.Background(), w, records...), w.Close())
}

// scriptStore returns the store of a script, with a fixed time.
func scriptStore(ts *testscript.TestScript, now time.Time) *filestore.Store {
	dir, err := stateDir(Host{Getenv: ts.Getenv})
	ts.Check(err)
	s, err := filestore.New(filestore.Config{Dir: dir.Sessions(), Now: func() time.Time { return now }})
	ts.Check(err)
	return s
}

// holdSession implements "holdsession ID", which keeps a session open until the script ends.
func holdSession(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: holdsession ID")
	}
	w, err := scriptStore(ts, time.Now()).Open(context.Background(), args[0])
	ts.Check(err)
	ts.Defer(func() { _ = w.Close() })
}

// spoil implements "spoil FILE OLD NEW", which replaces the first OLD in a file.
func spoil(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: spoil FILE OLD NEW")
	}
	name := ts.MkAbs(args[0])
	b, err := os.ReadFile(name)
	ts.Check(err)
	if !bytes.Contains(b, []byte(args[1])) {
		ts.Fatalf("%s has no %q in it", args[0], args[1])
	}
	ts.Check(os.WriteFile(name, bytes.Replace(b, []byte(args[1]), []byte(args[2]), 1), 0o600))
}

func TestParseAge(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"30d": 30 * day, "0d": 0, "2w": 14 * day, "12h": 12 * time.Hour, "1h30m": 90 * time.Minute, "90s": 90 * time.Second,
	} {
		if got, err := parseAge(s); err != nil || got != want {
			t.Errorf("%s: %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "d", "30", "-3d", "-3h", "3 d", "99999999999999d", "99999999999999999999999d", "1.5d", "3y"} {
		if got, err := parseAge(s); err == nil {
			t.Errorf("%q is %v", s, got)
		}
	}
}

func TestTable_CountsColumnsNotBytes(t *testing.T) {
	for s, want := range map[string]int{"abc": 3, "é": 1, "e\u0301": 1, "日本": 4, "🦊": 2, "": 0} {
		if got := show.Width(s); got != want {
			t.Errorf("%q takes %d columns, want %d", s, got, want)
		}
	}
	for _, c := range []struct {
		text string
		most int
		tail bool
		want string
	}{
		{"abcdef", 6, false, "abcdef"}, {"abcdef", 5, false, "abcd…"}, {"abcdef", 5, true, "…cdef"},
		{"日本語", 5, false, "日本…"}, {"日本語", 4, false, "日…"}, {"abc", 1, false, "…"},
	} {
		if got := show.Cut(c.text, c.most, c.tail); got != c.want {
			t.Errorf("%q cut to %d is %q, want %q", c.text, c.most, got, c.want)
		}
	}
}

// hostile is text that sets the title of a terminal, clears it, changes the direction of writing, and hides
// characters.
const hostile = "\x1b]0;owned\x07\x1b[2J\u202eX\u009b31m\u200b\u2060\u00ad\u3164\ufeff\ufe01\U000E0041\r\nY"

func hostileRecords(id string) []event.Record {
	cost := 0.5
	var records []event.Record
	add := func(agent string, d event.Data) {
		records = append(records, event.Record{Seq: event.Seq(len(records) + 1), Time: time.Now(), Session: id, Agent: agent, Data: d})
	}
	arguments, _ := json.Marshal(map[string]string{"command": hostile, hostile: "needle"})
	add("", event.SessionStart{ID: id, Setup: event.Setup{ModelSetup: event.ModelSetup{Provider: hostile, Model: hostile}}, Dir: hostile})
	add("", event.UserInput{Message: llm.UserText(hostile + "needle")})
	add("", event.TextEnd{Call: 1, ID: hostile, Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
		llm.Text{Text: hostile + "needle"}, llm.ToolCall{ID: hostile, Name: hostile, Arguments: string(arguments)},
	}}})
	add("", event.ModelCallEnd{Call: 1, Provider: hostile, Model: hostile, Cost: &cost})
	add("", event.ToolCallStart{ID: hostile, Name: hostile, Arguments: arguments})
	add("", event.Checkpoint{ID: hostile, Files: 1})
	add("", event.ToolCallEnd{ID: hostile, Name: hostile, Output: tool.Text(hostile + "needle"), Model: hostile, Error: &tool.Error{Code: hostile, Message: hostile}})
	add("", event.Warning{Message: hostile})
	add("", event.SubagentStart{ID: hostile, Task: hostile})
	add(hostile, event.UserInput{Message: llm.UserText(hostile)})
	add(hostile, event.ModelCallEnd{Call: 1, Provider: hostile, Model: hostile, Cost: &cost})
	add("", event.SubagentEnd{ID: hostile, Status: hostile})
	add("", event.ModelFallback{From: hostile, To: hostile})
	add("", event.Compaction{Method: hostile, Reason: hostile})
	add("", event.ProcessingEnd{Outcome: hostile, State: hostile, Question: hostile})
	return records
}

func TestAttack_NothingInAnImportedSessionActsOnTheTerminal(t *testing.T) {
	home := t.TempDir()
	store, err := filestore.New(filestore.Config{Dir: filepath.Join(home, "sessions")})
	if err != nil {
		t.Fatal(err)
	}
	m := event.Meta{
		ID: "evil", Title: hostile, Prompt: hostile, Summary: hostile, Tags: []string{hostile}, Provider: hostile, Model: hostile,
		Dir: filepath.Join(home, "x"+hostile), Branch: hostile, Parent: hostile, ForkedAt: 1,
	}
	if err := saveSession(store, m, hostileRecords(m.ID)); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{
		"sessions list", "sessions list --json", "sessions show evil", "sessions show evil --json", "sessions show evil --events",
		"sessions search needle", "sessions search needle --json", "sessions search owned", "sessions verify", "sessions tag evil more",
		"cost evil", "cost evil --json", "diff evil", "diff evil --list", "diff evil --list --json", "diff evil @2",
		"undo evil", "undo evil --chat", "redo evil", "compact evil", "compact evil --no-model", "run --resume evil go",
		"sessions fork evil --id other", "sessions rm evil", "sessions rename evil --json x",
	} {
		var out bytes.Buffer
		h := Host{
			Args: strings.Fields(args), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out,
			Getenv: func(name string) string { return map[string]string{"REINS_HOME": home}[name] },
		}
		Main(h)
		if got := out.String(); got != show.Visible(got) {
			t.Errorf("%s: %q", args, got)
		}
		if out.Len() == 0 {
			t.Errorf("%s: it says nothing", args)
		}
	}
}
