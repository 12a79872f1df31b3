//go:build unix

package tui

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/tui/edit"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/session"
)

// asking opens sessions, the first of which asks a question.
func asking(t *testing.T, turns ...llmtest.Turn) (r *rig, opened *[]string) {
	opened = new([]string)
	r = start(t, 80, 24, func(r *rig, o *Options) {
		o.Prompt = "Begin"
		o.First = func(ctx context.Context) (session.Handle, error) {
			h, err := r.open(ctx, "")
			if err != nil {
				return nil, err
			}
			go r.handle.Ask(context.WithoutCancel(ctx), event.QuestionAsked{Type: event.QuestionTrust, Text: "trust this"})
			for rec := range h.Events(ctx, 0) {
				if _, ok := rec.Data.(event.QuestionAsked); ok {
					break
				}
			}
			return h, nil
		}
		o.Open = func(ctx context.Context, id string) (session.Handle, error) {
			*opened = append(*opened, id)
			return r.open(ctx, id)
		}
	}, turns...)
	r.sees("trust this")
	r.sees("Your message is sent when the question is answered.")
	if n := len(r.script.Requests()); n > 0 {
		t.Errorf("%d requests before the answer, want 0", n)
	}
	return r, opened
}

func TestRun_AMessageWaitsForTrustAndGoesToTheSessionThatHasIt(t *testing.T) {
	t.Parallel()
	r, opened := asking(t, llmtest.Say("done"))
	id := r.handle.ID()
	r.sees(Ready)
	r.press("y" + enter)
	r.sees("done")
	r.misses("Your message is sent")
	if len(*opened) != 1 || (*opened)[0] != id {
		t.Errorf("opened %q, want %q again", *opened, id)
	}
	r.press(ctrlQ)
	r.quits()
}

func TestRun_AMessageIsSentWithoutTrustAfterARefusal(t *testing.T) {
	t.Parallel()
	r, opened := asking(t, llmtest.Say("done"))
	r.sees(Ready)
	r.press("n" + enter)
	r.sees("done")
	if len(*opened) > 0 {
		t.Errorf("opened %q, want the same session", *opened)
	}
	r.press(ctrlQ)
	r.quits()
}

func TestRun_AMessageIsKeptWhenTheSessionDoesNotOpenAgain(t *testing.T) {
	t.Parallel()
	r, _ := asking(t)
	r.app.post(func() {
		r.app.o.Open = func(context.Context, string) (session.Handle, error) { return nil, errors.New("config.toml is broken") }
		r.app.edit.SetText("and more")
	})
	r.sees(Ready)
	r.press("y" + enter)
	r.sees("config.toml is broken")
	r.sees("reins --resume " + r.handle.ID())
	r.sees("> Begin")
	r.sees("  and more")
}

func TestRun_AMessageThatWaitsIsInTheDraftAfterTheEnd(t *testing.T) {
	t.Parallel()
	r, _ := asking(t)
	r.press(ctrlQ)
	r.quits()
	f, draft, err := edit.OpenDraft(filepath.Join(string(r.state), "input", "drafts"))
	r.check(err)
	defer f.Close()
	if want := (edit.Part{Text: "Begin"}); !slices.Equal(draft.Parts, []edit.Part{want}) {
		t.Errorf("the draft is %+v, want %+v", draft.Parts, want)
	}
}

func TestRun_AMessageThatWaitsIsNotSentToAnotherSession(t *testing.T) {
	t.Parallel()
	r, _ := asking(t, llmtest.Say("done"))
	r.app.post(func() { r.app.openSession("") })
	r.sees("> Begin")
	r.misses("trust this")
	if n := len(r.script.Requests()); n > 0 {
		t.Errorf("%d requests, want 0", n)
	}
}

func TestRun_TrustDoesNotInterruptWorkOfAnotherTerminal(t *testing.T) {
	t.Parallel()
	r, _ := asking(t,
		call("write_file", "file_path", "a.txt", "content", "made\n"),
		llmtest.Say("the other work is over"),
		llmtest.Say("done"))
	h := r.handle
	r.check(h.Submit(t.Context(), session.Input{Text: "Other work"}))
	answers := func(kind ask.Kind, choice string) {
		eventually(t, "a question", func() bool {
			list, err := h.Questions(t.Context())
			r.check(err)
			i := slices.IndexFunc(list, func(q ask.Question) bool { return q.Kind == kind })
			if i >= 0 {
				r.check(h.Answer(t.Context(), list[i].ID, ask.Answer{Choice: choice}))
			}
			return i >= 0
		})
	}
	eventually(t, "a call that waits", func() bool {
		list, err := h.Questions(t.Context())
		return err == nil && len(list) == 2
	})
	answers(ask.Kind(event.QuestionTrust), "y")
	r.misses("1 more question")
	answers(ask.Approval, "n")
	r.sees("the other work is over")
	r.sees("done")
}

// hearing is a session that tells what is submitted.
type hearing struct {
	session.Handle
	heard chan string
}

func (h hearing) Submit(ctx context.Context, in session.Input) error {
	h.heard <- in.Text
	return h.Handle.Submit(ctx, in)
}

func TestRun_MessagesThatWaitArriveInTheirOrder(t *testing.T) {
	t.Parallel()
	opens, heard := make(chan struct{}), make(chan string, 10)
	r := start(t, 80, 24, func(r *rig, o *Options) {
		o.First = func(ctx context.Context) (session.Handle, error) {
			<-opens
			h, err := r.open(ctx, "")
			return hearing{h, heard}, err
		}
	}, slow)
	r.app.post(func() {
		for n := range cap(heard) {
			r.app.send(edit.Message{Text: fmt.Sprint(n)}, false)
		}
		close(opens)
	})
	for n := range cap(heard) {
		if got := <-heard; got != fmt.Sprint(n) {
			t.Fatalf("message %d is %q", n, got)
		}
	}
}

func TestRun_APromptIsForTheSessionThatTheUserChooses(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, func(_ *rig, o *Options) { o.Choose, o.Prompt = true, "Begin" }, llmtest.Say("done"))
	r.app.post(func() {
		r.app.cover(nil)
		r.app.openSession("")
	})
	r.sees("› Begin")
	r.sees("done")
}
