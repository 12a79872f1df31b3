//go:build unix

package tui

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/reins-agent/reins/internal/tui/term"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/session"
)

var sessionFilter = session.Filter{}

func TestRun_IdleIsSilent(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, nil, llmtest.Say("done"))
	r.sends("Begin")
	r.sees("done")
	r.sees(Placeholder)
	// A busy machine may still paint the end of the work. What repeats every second is never silent.
	for end := time.Now().Add(patient); ; {
		before := r.bytes()
		time.Sleep(1500 * time.Millisecond) // what must not happen has no condition to wait for
		sent := r.written()[before:]
		if sent == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("it sent %d bytes while it was idle: %q", len(sent), sent)
		}
	}
}

func (r *rig) bytes() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all.Len()
}

func TestRun_ControlBytesNeverReachTheTerminal(t *testing.T) {
	t.Parallel()
	const hostile = "a\x1b]0;owned\x07b\u009b2Jc\u202ed\re\x00f\x1b[?1049l\x1bP$q\x1b\\"
	r := start(t, 80, 24, nil,
		llmtest.Turn{Parts: []llm.Part{llm.Thinking{Text: hostile}, llm.Text{Text: hostile}}},
		call("write_file", "file_path", "x\x1b[31m.txt", "content", hostile),
		call("shell", "command", "printf '\\033]0;owned\\007\\033[?1049l'; echo end"),
		llmtest.Say("finished"))
	r.sends("Attack")
	r.sees("a␛]0;owned")
	r.sends("Again")
	r.approve("y")
	r.sees("finished")
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.screen.Strings {
		if strings.Contains(s, "owned") {
			t.Errorf("the terminal got the string %q", s)
		}
	}
	if len(r.screen.Unknown) > 0 || !r.screen.Modes["?1049"] {
		t.Errorf("the terminal got %q, alternate screen %v", r.screen.Unknown, r.screen.Modes["?1049"])
	}
}

func TestRun_ResizingLeavesNoGarbage(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 60 {
		fmt.Fprintf(&text, "line %d of a long answer\n\n", i)
	}
	r := start(t, 80, 24, nil, llmtest.Say(text.String()))
	r.sends("Begin")
	r.sees("line 59 of")
	for _, size := range [][2]int{{40, 10}, {120, 40}, {20, 5}, {60, 15}, {80, 24}, {40, 10}} {
		r.mu.Lock()
		r.screen.Resize(size[0], size[1])
		r.mu.Unlock()
		r.check(pty.Setsize(r.pty, &pty.Winsize{Rows: uint16(size[1]), Cols: uint16(size[0])}))
		r.resized(size[0], size[1])
	}
	r.sees("line 59 of")
	r.until("the placeholder in the new place", func(s string) bool {
		rows := r.screen.Rows()
		return strings.HasPrefix(rows[8], "> "+Placeholder) && strings.Count(s, Placeholder) == 1
	})
}

// resized tells the application the new size: the test has no controlling terminal that would send the signal.
func (r *rig) resized(w, h int) {
	r.app.post(func() { r.app.terminal(term.Resize{W: w, H: h}) })
}

func TestRun_SmallScreensAreUsable(t *testing.T) {
	t.Parallel()
	r := start(t, 40, 10, nil, call("shell", "command", "touch one"), llmtest.Say("done"))
	r.sends("Touch it")
	r.sees("touch one")
	r.approve("y")
	r.sees("done")
}

func TestRun_SearchFindsAndCopies(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, nil, llmtest.Say("See this:\n\n```go\nfunc needle() {}\n```\n\nThat is all."))
	r.sends("Begin")
	r.sees("That is all.")
	r.press("\x06") // ctrl+f
	r.sees("Search:")
	r.press("needle")
	r.sees("1 of 1")
	r.press(enter)
	r.sees("c: copy code")
	r.press("c")
	r.sees("Copied code block 1 of 1")
	r.press("q")
	r.sees(Placeholder)
	r.mu.Lock()
	defer r.mu.Unlock()
	if got := strings.Join(r.screen.Strings, "\n"); !strings.Contains(got, "52;c;ZnVuYyBuZWVkbGUoKSB7fQ") { // "func needle() {}"
		t.Errorf("the terminal got the strings %q", got)
	}
}

func TestRun_TheFirstLineIsReachable(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, nil, llmtest.Say("the very beginning\n\n"+strings.Repeat("a line\n\n", 500)+"the end"))
	r.sends("Begin")
	r.sees("the end")
	r.press("\x1b[1;5H") // ctrl+home
	r.sees("the very beginning")
	r.press("\x1b[1;5F")
	r.sees("the end")
}

func TestRun_TheFirstLineIsReachableAfterACompactionAndReopening(t *testing.T) {
	t.Parallel()
	first := start(t, 80, 24, nil, llmtest.Say("the very beginning\n\n"+strings.Repeat("a line\n\n", 200)+"the end"),
		llmtest.Say("a summary"), llmtest.Say("after it"))
	first.sends("Begin")
	first.sees("the end")
	first.sends("/compact")
	first.sees("summary")
	first.sends("Go on")
	first.sees("after it")
	first.press("\x1b[1;5H") // ctrl+home
	first.sees("the very beginning")
	id := first.handle.ID()
	first.press(ctrlQ)
	first.quits()
	again := start(t, 80, 24, func(_ *rig, o *Options) {
		o.First = func(ctx context.Context) (session.Handle, error) { return first.open(ctx, id) }
	})
	again.sees("after it")
	again.press("\x1b[1;5H")
	again.sees("the very beginning")
	again.press("\x1b[1;5F")
	again.sees("after it")
}

func TestRun_LateAnswersOfTheTerminalAreNeverText(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, nil)
	r.sees(Placeholder) // the first frame does not wait for an answer
	r.press("abc")
	r.sees("> abc")
	for _, answer := range []string{
		"\x1b]11;rgb:ffff/ffff/ffff\x1b\\",
		"\x1b]11;rgb:0000/0000/0000\a",
		"\x1b[?2026;2$y",
		"\x1b[?1u",
		"\x1bP>|term 1.0\x1b\\",
		"\x1b[12;34R",
		"\x1b[?62;22c",
	} {
		r.press(answer)
	}
	r.press("d")
	r.sees("> abcd")
	if got := r.text(); strings.Contains(got, "rgb") || strings.Contains(got, "12;34") || strings.Contains(got, "62;22") {
		t.Errorf("an answer is text:\n%s", got)
	}
}

func TestRun_APasteDoesNotSubmitAndArrivesWhole(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("a pasted line\n", 2000)
	r := start(t, 80, 24, nil, llmtest.Say("read"))
	r.sees(Placeholder)
	r.press("\x1b[200~" + big + "\x1b[201~")
	r.sees("lines")
	if len(r.script.Requests()) > 0 {
		t.Fatal("the paste was submitted")
	}
	r.press(enter)
	r.sees("read")
	m := last(r.script.Requests()).Messages
	if got := m[len(m)-1].Text(); got != big && got != strings.TrimSuffix(big, "\n") {
		t.Errorf("the model got %d bytes, want %d", len(got), len(big))
	}
}

func TestRun_KeysBeforeTheSessionAreKept(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	r := start(t, 80, 24, func(_ *rig, o *Options) {
		first := o.First
		o.First = func(ctx context.Context) (session.Handle, error) {
			<-gate
			return first(ctx)
		}
	}, llmtest.Say("at last"))
	r.sends("Begin early")
	r.sees("opening the session")
	r.press("more")
	r.sees("> more")
	close(gate)
	r.sees("at last")
	r.sees("> more")
}

func TestRun_SaysWhyThereIsNoSession(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, func(_ *rig, o *Options) {
		o.First = func(context.Context) (session.Handle, error) { return nil, fmt.Errorf("no API key") }
	})
	r.sees("No session: no API key")
	r.press("still a draft")
	r.sees("> still a draft")
	r.press(enter)
	r.sees("No session to send this to")
	r.sees("> still a draft")
}

func TestRun_NotifiesOnlyAnUnfocusedTerminal(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, nil, llmtest.Say("one"), llmtest.Say("two"))
	r.sends("First")
	r.sees("one")
	r.sees(Placeholder)
	r.press("\x1b[O") // focus lost
	r.sends("Second")
	r.sees("two")
	r.until("a notification", func(string) bool {
		return strings.Contains(strings.Join(r.screen.Strings, "\n"), "Reins is done: two")
	})
	if got := strings.Join(r.screen.Strings, "\n"); strings.Contains(got, "done: one") {
		t.Errorf("a focused terminal was notified: %q", got)
	}
}

func TestRun_ADraftSurvivesACrash(t *testing.T) {
	t.Parallel()
	drafts := filepath.Join(t.TempDir(), "drafts")
	r := start(t, 80, 24, func(_ *rig, o *Options) { o.Drafts = drafts })
	r.press("do not lose this")
	r.sees("> do not lose this")
	eventually(t, "a saved draft", func() bool { return saved(drafts, "do not lose this") })
	r.press(ctrlQ)
	r.quits()
	again := start(t, 80, 24, func(_ *rig, o *Options) { o.Drafts = drafts })
	again.sees("> do not lose this")
}

// eventually waits until something holds that the screen does not show.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(patient); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: it did not happen", what)
		}
	}
}

func saved(dir, text string) bool {
	found := false
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			b, _ := os.ReadFile(path)
			found = found || strings.Contains(string(b), text)
		}
		return nil
	})
	return found
}

func TestRun_InlineGivesFinishedItemsToTheTerminal(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 40 {
		fmt.Fprintf(&text, "line %d of a long answer\n\n", i)
	}
	r := start(t, 80, 24, func(_ *rig, o *Options) { o.Inline = true }, llmtest.Say(text.String()), llmtest.Say("short"))
	r.sends("Begin")
	r.until("the whole answer in the terminal's history", func(s string) bool {
		all := strings.Join(r.screen.History, "\n") + "\n" + s
		for i := range 40 {
			if strings.Count(all, fmt.Sprintf("line %d of a long answer", i)) != 1 {
				return false
			}
		}
		return true
	})
	if r.screen.Modes["?1049"] || r.screen.Clears > 0 {
		t.Errorf("alternate screen %v, %d clears", r.screen.Modes["?1049"], r.screen.Clears)
	}
	r.sends("Again")
	r.sees("short")
	r.press(ctrlQ)
	r.quits()
}
