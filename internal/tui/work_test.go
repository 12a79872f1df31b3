//go:build unix

package tui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/internal/tui/dialog"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
)

// slow is a turn that lasts until it is interrupted.
var slow = llmtest.Turn{Parts: []llm.Part{llm.Text{Text: "too late"}}, Delay: time.Hour}

func TestRun_OneEscStopsTheWork(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, nil, slow, llmtest.Say("now I am done"))
	r.sends("Begin")
	r.sees(Working)
	r.press(esc)
	r.sees(Placeholder)
	r.sends("/continue")
	r.sees("now I am done")
}

func TestRun_CtrlCStopsTheWorkAndTwiceQuits(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, nil, slow)
	r.sends("Begin")
	r.sees(Working)
	r.press(ctrlC)
	r.sees(Placeholder)
	r.sees("again to quit")
	r.press(ctrlC)
	r.quits()
}

func TestRun_CtrlCClearsADraftFirst(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, nil)
	r.press("half a thought")
	r.sees("> half a thought")
	r.press(ctrlC)
	r.sees(Placeholder)
	r.press("another one")
	r.sees("> another one")
}

func TestRun_SteersAndQueuesWhileTheAgentWorks(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, nil,
		call("write_file", "file_path", "a.txt", "content", "x"),
		llmtest.Say("first"), llmtest.Say("second"), llmtest.Say("third"))
	r.sends("Begin")
	r.sees(Ready)
	for i, text := range []string{"in blue", "then red", "then green"} {
		r.press(text)
		r.sees("> " + text)
		r.press([]string{enter, "\x1bs", "\x1bs"}[i]) // steer now, queue twice
		r.sees([]string{"soon: in blue", "later: then red", "later: then green"}[i])
	}
	r.press("\x1bq") // the list of waiting messages
	r.sees("Waiting messages (3)")
	r.sees("› later: then green")
	r.press("K")
	r.until("the new order", func(s string) bool { return strings.Index(s, "then green") < strings.Index(s, "then red") })
	r.press("d")
	r.misses("then green")
	r.press("j")
	r.sees("› later: then red")
	r.press(enter)
	r.sees("> then red")
	r.press("der")
	r.sees("> then redder")
	r.press(enter)
	r.sees("later: then redder")
	r.approve("y")
	r.sees("second")
	var inputs []string
	for _, m := range last(r.script.Requests()).Messages {
		if m.Role == llm.RoleUser {
			inputs = append(inputs, m.Text())
		}
	}
	if got := strings.Join(inputs, "|"); !strings.HasSuffix(got, "in blue|then redder") {
		t.Errorf("the model was told %q", got)
	}
}

func last[T any](list []T) T { return list[len(list)-1] }

func TestRun_NoStrayKeyAnswersAQuestion(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	r := start(t, 80, 24, func(r *rig, _ *Options) {
		r.guard = dialog.Guard{Quiet: time.Hour, Settle: time.Hour}
		r.script.Reply = func(n int, _ *llm.Request) llmtest.Turn {
			if n == 0 {
				<-gate
				return call("write_file", "file_path", "a.txt", "content", "made\n")
			}
			return llmtest.Say("done")
		}
	})
	r.sends("Make a.txt")
	r.sees(Working)
	draft := ""
	typing := func(n int) {
		for range n {
			key := string("yn1 "[len(draft)%4])
			draft += key
			r.press(key)
		}
		r.sees("> " + strings.TrimRight(draft, " "))
	}
	typing(10)
	close(gate)
	r.sees("a question waits until you stop typing")
	typing(21)
	if strings.Contains(r.text(), dialog.Phrase) {
		t.Error("the question appeared while keys arrived")
	}
	r.guards(func(g *dialog.Guard) { g.Quiet = time.Millisecond })
	r.sees(dialog.Phrase)
	r.press("y\r") // before the question takes keys
	r.press("y")
	r.sees("soon: " + draft)
	r.sees("> y")
	if r.file("a.txt") != "" {
		t.Fatal("stray keys have allowed the call")
	}
	r.guards(func(g *dialog.Guard) { g.Settle = time.Millisecond })
	r.sees(Ready)
	if got := r.text(); !strings.Contains(got, strings.TrimRight(draft[:20], " ")) {
		t.Errorf("the draft %q is not whole:\n%s", draft, got)
	}
	r.press(esc)
	r.misses(dialog.Phrase)
	if r.file("a.txt") != "" {
		t.Error("the call was allowed")
	}
}

func TestRun_RefusesWithAMessage(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, nil, call("shell", "command", "touch one"), llmtest.Say("I did not."))
	r.sends("Touch it")
	r.sees("touch one")
	r.sees(Ready)
	r.press("n")
	r.sees("› n")
	r.press(enter)
	r.sees("Tell the agent what to do instead")
	r.press("use two")
	r.sees("> use two")
	r.press(enter)
	r.sees("I did not.")
	m := last(r.script.Requests()).Messages
	if text := toolText(m[len(m)-1]); !strings.Contains(text, "the user said: use two") {
		t.Errorf("the model was told %q", text)
	}
}

func TestRun_AllowsTheEditedCommand(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, nil, call("shell", "command", "touch one"), llmtest.Say("I did."))
	r.sends("Touch it")
	r.sees("touch one")
	r.sees(Ready)
	r.press("\x05") // ctrl+e
	r.sees("> touch one")
	r.press(" two")
	r.sees("> touch one two")
	r.press(enter)
	r.sees("I did.")
	if _, err := os.Stat(filepath.Join(r.dir, "two")); err != nil {
		t.Error(err)
	}
	m := last(r.script.Requests()).Messages
	if text := toolText(m[len(m)-1]); !strings.Contains(text, "approved with changed arguments") {
		t.Errorf("the model was told %q", text)
	}
}

func TestRun_ASessionThatEndsTakesItsQuestionAlong(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, nil, call("shell", "command", "touch one"))
	r.sends("Touch it")
	r.sees(Ready)
	r.mu.Lock()
	h := r.handle
	r.mu.Unlock()
	r.check(h.Close())
	r.sees("This session was closed.")
	r.sees("reins --resume " + h.ID())
	r.misses(dialog.Phrase)
	r.misses("waiting for your decision")
}

func toolText(m llm.Message) string {
	var b strings.Builder
	for _, p := range m.Parts {
		if res, ok := p.(llm.ToolResult); ok {
			b.WriteString(res.Text())
		}
	}
	return b.String()
}

func TestRun_UndoShowsWhatItChangesAndAsks(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, nil, call("write_file", "file_path", "a.txt", "content", "made\n"), llmtest.Say("I made it."))
	r.sends("Make a.txt")
	r.approve("y")
	r.sees("I made it.")
	r.sends("/undo")
	r.sees("Undo the last prompt?")
	r.sees("a.txt")
	if r.file("a.txt") != "made\n" {
		t.Error("the preview has changed the file")
	}
	r.approve("y")
	r.sees("Undone:")
	r.sees("> Make a.txt") // it is in the draft again
	if r.file("a.txt") != "" {
		t.Errorf("the file is %q", r.file("a.txt"))
	}
}

func TestRun_ForkOpensTheCopy(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, nil, llmtest.Say("one"), llmtest.Say("two"))
	r.sends("First")
	r.sees("one")
	r.mu.Lock()
	before := r.handle.ID()
	r.mu.Unlock()
	r.sends("/fork")
	r.until("another session", func(string) bool { return r.handle.ID() != before })
	r.sees("› First")
	r.sends("Second")
	r.sees("two")
	list, err := r.manager.List(t.Context(), sessionFilter)
	r.check(err)
	if len(list.Sessions) != 2 {
		t.Errorf("there are %d sessions, want 2", len(list.Sessions))
	}
}

func TestRun_AUserCommandJoinsTheConversation(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, nil, llmtest.Say("I see."))
	r.sends("!echo some output; exit 3")
	r.sees("some output")
	r.sees("with your next message")
	r.sends("What was that?")
	r.sees("I see.")
	var told strings.Builder
	for _, m := range last(r.script.Requests()).Messages {
		told.WriteString(m.Text())
	}
	if !strings.Contains(told.String(), "echo some output; exit 3") || !strings.Contains(told.String(), "(exit status 3):\n\nsome output") {
		t.Errorf("the model was told %q", told.String())
	}
}

func TestRun_EscStopsAUserCommand(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, nil)
	r.sends("!echo begun; sleep 600")
	r.sees("  begun")
	r.press(esc)
	r.sees("with your next message")
	r.misses("$ echo begun; sleep 600 ·")
}

func TestRun_ModesChangeWithAKey(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, nil)
	r.sees("asks first")
	r.press(shiftTab)
	r.sees("accepts edits")
	r.press(shiftTab)
	r.sees("plan mode")
}

func TestRun_TheLastOfManyModeKeysCounts(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, nil)
	r.sees("asks first")
	for range 6 * len(modes) {
		r.press(shiftTab)
	}
	r.press(shiftTab)
	r.press(shiftTab)
	r.sees("plan mode")
	end := time.Now().Add(patient)
	for i, err := r.handle.Info(t.Context()); i.Mode != policy.ModePlan; i, err = r.handle.Info(t.Context()) {
		if err != nil || time.Now().After(end) {
			t.Fatalf("the session has mode %q (%v)", i.Mode, err)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestRun_AnUnknownCommandStaysInTheDraft(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, nil)
	r.sends("/mdoe plan")
	r.sees("did you mean /mode or /model?")
	r.sees("> /mdoe plan")
}
