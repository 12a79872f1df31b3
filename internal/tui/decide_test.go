//go:build unix

package tui

import (
	"context"
	"testing"

	"github.com/reins-agent/reins/event"
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
