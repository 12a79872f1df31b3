//go:build unix

package tui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/tui/dialog"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/session"
)

// failing is a session whose methods fail once they are told to, and that tells what it was answered.
type failing struct {
	session.Handle
	submit, requeue error
	answers         chan ask.Answer
}

func (f *failing) Submit(ctx context.Context, in session.Input) error {
	if f.submit != nil && in.Text == "in blue" {
		return f.submit
	}
	return f.Handle.Submit(ctx, in)
}

func (f *failing) Requeue(ctx context.Context, edits []session.Edit) error {
	if f.requeue != nil {
		return f.requeue
	}
	return f.Handle.Requeue(ctx, edits)
}

func (f *failing) Answer(ctx context.Context, id string, a ask.Answer) error {
	f.answers <- a
	return f.Handle.Answer(ctx, id, a)
}

// finishing is a session whose commands are unavailable until someone has waited for its work.
type finishing struct {
	session.Handle
	waited atomic.Bool
}

func (f *finishing) Wait(ctx context.Context) (session.Outcome, error) {
	defer f.waited.Store(true)
	return f.Handle.Wait(ctx)
}

func (f *finishing) Run(ctx context.Context, line string) (session.Result, error) {
	if !f.waited.Load() {
		return session.Result{}, &session.UnavailableError{Name: "continue", Reason: session.ErrBusy.Error()}
	}
	return f.Handle.Run(ctx, line)
}

func TestRun_ACommandWaitsForTheLastStepsOfWorkThatIsShownAsOver(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, func(r *rig, o *Options) {
		o.First = func(ctx context.Context) (session.Handle, error) {
			h, err := r.open(ctx, "")
			return &finishing{Handle: h}, err
		}
	}, slow, llmtest.Say("now I am done"))
	r.sends("Begin")
	r.sees(Working)
	r.press(esc)
	r.sees(Placeholder)
	r.sends("/continue")
	r.sees("now I am done")
}

// fails makes the session one that fails.
func fails(f *failing) func(*rig, *Options) {
	f.answers = make(chan ask.Answer, 8)
	return func(r *rig, o *Options) {
		o.First = func(ctx context.Context) (session.Handle, error) {
			h, err := r.open(ctx, "")
			f.Handle = h
			return f, err
		}
	}
}

// queues sends a message that waits until the agent can read it.
func (r *rig) queues(message string) {
	r.t.Helper()
	r.press(message)
	r.sees("> " + message)
	r.press(enter)
	r.sees("soon: " + message)
}

func TestRun_AnAnswerIsForTheQuestionAsItWasShown(t *testing.T) {
	t.Parallel()
	f := &failing{}
	r := start(t, 80, 24, fails(f), call("shell", "command", "touch one"), llmtest.Say("done"))
	r.sends("Touch it")
	r.sees("touch one")
	r.sees(Ready)
	list, err := r.handle.Questions(t.Context())
	r.check(err)
	again := slices.Clone(list)
	again[0].Asked = again[0].Asked.Add(time.Second)
	again[0].Rows = []ask.Row{{Kind: ask.RowCommand, Text: "touch two"}}
	r.app.post(func() { r.app.setQuestions(again) })
	r.sees("touch two")
	r.misses("$ touch one")
	r.approve("y")
	select {
	case got := <-f.answers:
		if !got.Asked.Equal(again[0].Asked) {
			t.Errorf("the answer is for a question of %v, want %v", got.Asked, again[0].Asked)
		}
	case <-time.After(patient):
		t.Fatal("the question is not answered")
	}
	r.sees("answered elsewhere")
	if len(r.script.Requests()) != 1 {
		t.Error("an answer to another question allowed the call")
	}
}

func TestRun_AnEditedMessageThatCannotReplaceTheOldOneIsKept(t *testing.T) {
	t.Parallel()
	f := &failing{requeue: errors.New("message 1 is not waiting")}
	r := start(t, 80, 24, fails(f), call("shell", "command", "touch one"), llmtest.Say("done"))
	r.sends("Touch it")
	r.sees(Ready)
	r.queues("in blue")
	r.editsQueue("in blue")
	r.press("ish")
	r.sees("> in blueish")
	r.press(enter)
	r.sees("is not waiting")
	r.sees("> in blueish")
}

func TestRun_AnEditedMessageThatWasDeliveredIsKept(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, nil, call("shell", "command", "touch one"), llmtest.Say("done"))
	r.sends("Touch it")
	r.sees(Ready)
	r.queues("in blue")
	r.editsQueue("in blue")
	r.app.post(func() {
		for _, q := range r.app.queued() {
			r.app.live.state.Apply(event.Record{Seq: r.app.live.state.Last() + 1, Data: event.SteeringWithdrawn{Queued: q.Seq}})
		}
	})
	r.misses("soon: in blue")
	r.press(enter)
	r.sees("does not wait any more")
	r.press("ish")
	r.sees("> in blueish")
}

func TestRun_AClearedEditLeavesTheWaitingMessage(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, nil, call("shell", "command", "touch one"), llmtest.Say("done"))
	r.sends("Touch it")
	r.sees(Ready)
	r.queues("in blue")
	r.editsQueue("in blue")
	r.press(ctrlC)
	r.misses("> in blue")
	r.queues("and big")
	r.sees("soon: in blue")
}

func TestRun_AWaitingMessageThatCannotBeSubmittedIsKept(t *testing.T) {
	t.Parallel()
	f := &failing{submit: errors.New("the provider is gone")}
	r := start(t, 80, 24, fails(f), slow)
	r.sends("Begin")
	r.sees(Working)
	r.queues("in blue")
	r.press(esc)
	r.sees("with your next message: in blue")
	r.press("\x1bq")
	r.sees("Waiting messages (1)")
	r.press("s")
	r.sees("the provider is gone")
	r.sees("> in blue")
}

func TestRun_AMessageThatCannotBeSentIsKept(t *testing.T) {
	t.Parallel()
	f := &failing{submit: errors.New("the provider is gone")}
	r := start(t, 80, 24, fails(f))
	r.sees(Placeholder)
	r.press("in blue")
	r.sees("> in blue")
	r.press(enter)
	r.sees("the provider is gone")
	r.sees("> in blue")
}

func TestRun_AllMessagesForASessionThatDoesNotOpenAreKept(t *testing.T) {
	t.Parallel()
	open := make(chan struct{})
	r := start(t, 80, 24, func(_ *rig, o *Options) {
		o.First = func(context.Context) (session.Handle, error) {
			<-open
			return nil, errors.New("no key")
		}
	})
	for _, message := range []string{"first thing", "second thing"} {
		r.press(message)
		r.sees("> " + message)
		r.press(enter)
		r.misses("> " + message)
	}
	close(open)
	r.sees("> first thing")
	r.sees("second thing")
}

func TestRun_TextTypedAtAQuestionStaysText(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, nil, call("write_file", "file_path", "a.txt", "content", "made\n"), llmtest.Say("done"))
	r.sends("Make a.txt")
	r.sees(Ready)
	r.guards(func(g *dialog.Guard) { // the question takes the next key, and others after a pause that does not come
		g.Key(time.Now())
		g.Settle = time.Hour
	})
	r.press("why y") // the last letter is a choice
	r.sees("> why y")
	r.press("\x1b\rthen") // a new line, and not an answer
	r.sees("  then")
	if strings.Contains(r.text(), "› y") || r.file("a.txt") != "" {
		t.Errorf("a letter of a text selected an answer:\n%s", r.text())
	}
}

// editsQueue takes the only waiting message into the draft.
func (r *rig) editsQueue(message string) {
	r.t.Helper()
	r.press("\x1bq")
	r.sees("Waiting messages (1)")
	r.press(enter)
	r.sees("> " + message)
}
