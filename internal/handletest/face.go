package handletest

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/view"
)

// face is a small user interface: it has a handle and folds what it shows, and knows nothing else of the session.
type face struct {
	t      *testing.T
	ctx    context.Context
	handle session.Handle
	next   func() (event.Record, error, bool)
	screen view.State
}

func openFace(t *testing.T, h session.Handle) *face {
	next, stop := iter.Pull2(h.Events(t.Context(), 0))
	t.Cleanup(stop)
	return &face{t: t, ctx: t.Context(), handle: h, next: next}
}

func (f *face) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// until reads on until the screen shows something.
func (f *face) until(what string, shows func() bool) {
	f.t.Helper()
	for !shows() {
		r, err, more := f.next()
		if err != nil || !more {
			f.t.Fatalf("the events ended without %s, error %v: %s", what, err, f.lines())
		}
		f.screen.Apply(r)
	}
}

// question waits for the next question.
func (f *face) question() ask.Question {
	f.t.Helper()
	f.until("a question", func() bool { return len(ask.Waiting(&f.screen)) > 0 })
	return ask.Waiting(&f.screen)[0]
}

// answer answers the next question.
func (f *face) answer(a ask.Answer) {
	f.t.Helper()
	q := f.question()
	f.must(f.handle.Answer(f.ctx, q.ID, a))
	f.until("an answered question", func() bool { _, open := ask.Find(ask.Waiting(&f.screen), q.ID); return !open })
}

// submit submits an input, and done waits for the end of the work.
func (f *face) submit(text string) {
	f.t.Helper()
	f.must(f.handle.Submit(f.ctx, session.Input{Text: text}))
	f.until("the input", func() bool { return f.screen.Stop().Outcome == "" && strings.Contains(f.lines(), text) })
}

func (f *face) done() {
	f.t.Helper()
	f.until("the end of the work", func() bool { return f.screen.Stop().Outcome != "" && len(f.screen.Queue()) == 0 })
	_, err := f.handle.Wait(f.ctx)
	f.must(err)
}

// lines shows the conversation, one line for each item.
func (f *face) lines() string {
	var b strings.Builder
	for _, i := range f.screen.Items(0, f.screen.Len()) {
		switch {
		case i.Undone != 0:
		case i.Kind == view.KindTool:
			fmt.Fprintf(&b, "%s %s: %s %s\n", i.Agent, i.Tool.Title, i.Tool.State, i.Tool.Outcome)
		case i.Kind == view.KindInput, i.Kind == view.KindText:
			fmt.Fprintf(&b, "%s %s: %s\n", i.Agent, i.Kind, i.Text)
		}
	}
	return b.String()
}

func (f *face) wants(parts ...string) {
	f.t.Helper()
	for _, part := range parts {
		if !strings.Contains(f.lines(), part) {
			f.t.Errorf("the face does not show %q:\n%s", part, f.lines())
		}
	}
}

// wholeSession drives a whole session through a face.
func wholeSession(t *testing.T, r *rig) {
	f := openFace(t, r.Handle)
	r.play(write("a.txt", "one\n"), llmtest.Say("Made a."), write("b.txt", "two\n"), llmtest.Say("Did not make b."))
	f.submit("Make a.txt")
	f.answer(ask.Answer{Choice: "y"})
	f.done()
	f.wants("write_file a.txt: done", "text: Made a.")
	f.submit("Make b.txt")
	f.answer(ask.Answer{Choice: "n", Text: "use c.txt"})
	f.done()
	f.wants("write_file b.txt: refused", "the user said: use c.txt", "text: Did not make b.")

	r.play(write("c.txt", "three\n"), llmtest.Say("In blue."), llmtest.Say("Then red."))
	f.submit("Make c.txt")
	f.question()
	f.must(f.handle.Steer(f.ctx, session.Input{Text: "make it blue"}))
	f.must(f.handle.FollowUp(f.ctx, session.Input{Text: "and green"}))
	f.must(f.handle.FollowUp(f.ctx, session.Input{Text: "and red"}))
	f.until("the queue", func() bool { return len(f.screen.Queue()) == 3 })
	green := slices.IndexFunc(f.screen.Queue(), func(q view.Queued) bool { return q.Text == "and green" })
	f.must(f.handle.Withdraw(f.ctx, f.screen.Queue()[green].Seq))
	f.answer(ask.Answer{Choice: "y"})
	f.done()
	f.wants("input: make it blue", "text: In blue.", "input: and red", "text: Then red.")

	_, err := f.handle.Undo(f.ctx, session.UndoOptions{})
	f.must(err)
	f.until("the undo", func() bool { return !strings.Contains(f.lines(), "and red") })
	res, err := f.handle.Run(f.ctx, "/mode acceptEdits")
	f.must(err)
	if i, err := f.handle.Info(f.ctx); err != nil || i.Mode != policy.ModeAcceptEdits || res.Text == "" {
		t.Errorf("the mode is %s (%v), and the command shows %+v", i.Mode, err, res)
	}
	r.delegating()
	f.submit("Delegate it")
	f.done()
	f.until("the subagent", func() bool { return len(f.screen.Agents()) == 2 })
	f.wants("1 text: There are none.", "text: None.")
}
