//go:build unix

package tui

import (
	"testing"

	"github.com/reins-agent/reins/internal/tui/dialog"
	"github.com/reins-agent/reins/llm/llmtest"
)

func TestRun_ShowsAnAnswerAndQuits(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, nil, llmtest.Say("Hello **you**, how are you?"))
	r.sees(Placeholder)
	r.press("Say hello")
	r.sees("> Say hello")
	r.press(enter)
	r.sees("Hello you, how are you?")
	r.sees("› Say hello")
	r.sees(Placeholder)
	r.press(ctrlQ)
	r.quits()
	r.until("the restored terminal", func(string) bool { return !r.screen.Modes["?1049"] && r.screen.Modes["?25"] })
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.screen.Unknown) > 0 {
		t.Errorf("the terminal got %q", r.screen.Unknown)
	}
}

func TestRun_ApprovesAnEditThatItShows(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, nil, call("write_file", "file_path", "a.txt", "content", "made\n"), llmtest.Say("I made it."))
	r.sends("Make a.txt")
	r.sees(dialog.Phrase)
	r.sees("+ made")
	if r.file("a.txt") != "" {
		t.Error("the question has changed the file")
	}
	r.approve("y")
	r.sees("I made it.")
	if r.file("a.txt") != "made\n" {
		t.Errorf("the file is %q", r.file("a.txt"))
	}
}

// approve answers the question once it takes keys: a letter selects, and enter answers.
func (r *rig) approve(letter string) {
	r.t.Helper()
	r.sees(Ready)
	r.press(letter)
	r.sees("› " + letter + "  ")
	r.press(enter)
}

// sends types a message and sends it.
func (r *rig) sends(s string) {
	r.t.Helper()
	r.press(s)
	r.sees("> " + s)
	r.press(enter)
}
