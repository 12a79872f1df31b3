package panel

import (
	"testing"

	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/session"
)

func TestHelp_ShowsTheRealKeysAndTheCommands(t *testing.T) {
	m, err := keys.Read("keys.toml", []byte("[global]\nsessions = \"alt+1\"\ncost = \"f2\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	l := newLoop(t)
	o := l.options(&fake{commands: []session.Command{
		{Name: "model", Arguments: "[MODEL]", Summary: "Change the model", Source: session.SourceBuiltin},
		{Name: "shout", Summary: hostile, Source: session.SourceSkill, Unavailable: "it is late"},
	}})
	o.Keys = m
	p := NewHelp(o)
	has(t, everywhere(t, p), "loading…", "next permission mode")
	l.until("the commands are listed", func() bool { return p.loading == 0 })
	everywhere(t, p)
	seen := paint(t, p, 200, 400).Text()
	has(t, seen, "alt+1", "list the sessions", "/model [MODEL]", "Change the model")
	has(t, seen, "/shout", "(not available: it is late)", "日本語", "Keys: in views")
	if out := press(t, p, "esc"); !out.Close {
		t.Errorf("esc: %+v", out)
	}
}

func TestPages_SearchAndScroll(t *testing.T) {
	l := newLoop(t)
	p := NewHelp(l.options(&fake{}))
	l.until("the commands are listed", func() bool { return p.loading == 0 })
	press(t, p, "/", "'permission mode", "enter")
	has(t, paint(t, p, 80, 10).Text(), "next permission mode")
	press(t, p, "/", "'no such words", "enter")
	has(t, paint(t, p, 80, 10).Text(), `"no such words" was not found`)
	press(t, p, "end")
	has(t, paint(t, p, 80, 10).Text(), "send the edited plan")
	press(t, p, "home", "tab")
	has(t, paint(t, p, 80, 10).Text(), "Keys: in the draft")
}

func TestResult_ShowsTextTablesAndDiff(t *testing.T) {
	l := newLoop(t)
	p := NewResult("Changes", session.Result{
		Text: hostile,
		Tables: []session.Table{{
			Title:   "Files " + hostile,
			Columns: []string{"CHANGE", "FILE"},
			Rows:    [][]string{{"modified", hostile}, {"one"}},
		}},
		Diff: "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new " + hostile + "\n",
	}, l.options(&fake{}))
	has(t, everywhere(t, p), "CHANGE", "modified", "日本語", "- old")
}

func TestCommand_ShowsAnError(t *testing.T) {
	l := newLoop(t)
	p := NewCommand("Status", "/status", l.options(&fake{}))
	l.until("the command ran", func() bool { return p.loading == 0 })
	has(t, everywhere(t, p), "there is no /status")
}
