package handletest

import (
	"bytes"
	"image"
	"image/png"
	"testing"

	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/view"
)

func queue(t *testing.T, r *rig) {
	r.play(write("a.txt", "x"), llmtest.Say("done"), llmtest.Say("done"), llmtest.Say("done"))
	r.check(r.Submit(t.Context(), session.Input{Text: "Begin"}))
	q := r.asked()
	for _, text := range []string{"one", "two", "three"} {
		r.check(r.FollowUp(t.Context(), session.Input{Text: text}))
	}
	list, err := r.Queue(t.Context())
	r.check(err)
	if len(list) != 3 || list[0].Text != "one" {
		t.Fatalf("the queue is %+v", list)
	}
	r.check(r.Withdraw(t.Context(), list[1].Seq))
	r.editImage()
	r.check(r.Requeue(t.Context(), []session.Edit{{Seq: list[2].Seq}, {Seq: list[0].Seq, Text: "ONE"}}))
	list, err = r.Queue(t.Context())
	r.check(err)
	if len(list) != 2 || list[0].Text != "three" || list[1].Text != "ONE" {
		t.Errorf("the queue is %+v", list)
	}
	r.check(r.Answer(t.Context(), q.ID, ask.Answer{Choice: "n"}))
	r.done()
}

// editImage edits the text of a waiting message with an image, which stays, and withdraws the message.
func (r *rig) editImage() {
	r.t.Helper()
	var b bytes.Buffer
	r.check(png.Encode(&b, image.NewGray(image.Rect(0, 0, 2, 2))))
	r.check(r.FollowUp(r.t.Context(), session.Input{Text: "look", Media: []session.Media{{Type: "image/png", Data: b.Bytes()}}}))
	last := func() view.Queued {
		list, err := r.Queue(r.t.Context())
		r.check(err)
		return list[len(list)-1]
	}
	for _, text := range []string{"look here", "look here\n[image]"} { // without and with the words for the image
		r.check(r.Requeue(r.t.Context(), []session.Edit{{Seq: last().Seq, Text: text}}))
		if got := last().Text; got != "look here\n[image]" {
			r.t.Errorf("the message edited to %q is %q, want its image once", text, got)
		}
	}
	r.check(r.Withdraw(r.t.Context(), last().Seq))
}
