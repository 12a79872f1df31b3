package tui

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/tui/edit"
	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/screen"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/view"
)

// queued returns the user messages that wait.
func (a *app) queued() []view.Queued {
	if a.live == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(a.live.state.Queue()), func(q view.Queued) bool { return q.Agent != "" })
}

// queueLines shows the waiting messages above the draft.
func (a *app) queueLines(w, rows int) []text.Line {
	list := a.queued()
	if len(list) == 0 || rows < 1 {
		return nil
	}
	var lines []text.Line
	for i, q := range list {
		if len(lines) == rows-1 && i < len(list)-1 {
			s := "  … " + show.Plural(len(list)-i, "more waiting message") + ", " + a.keys.Key(keys.Queue) + " edits them"
			return append(lines, text.Line{{Text: a.rule.CutText(s, w), Style: text.Style{Role: text.Dim}}})
		}
		hint := ""
		if i == 0 {
			hint = "  (" + a.keys.Key(keys.Queue) + " edits)"
		}
		s := a.rule.CutText("  "+queuedText(q, a.working()), max(w-len(hint), 1))
		lines = append(lines, text.Line{{Text: s, Style: text.Style{Role: text.User}}, {Text: hint, Style: text.Style{Role: text.Dim}}})
	}
	return lines
}

// queuedText describes a waiting message.
func queuedText(q view.Queued, working bool) string {
	when := "soon: "
	switch {
	case !working:
		when = "with your next message: "
	case q.FollowUp:
		when = "later: "
	}
	return when + text.Clean(show.Summary(q.Text))
}

// queueEdit is a waiting message whose text is in the draft.
type queueEdit struct{ seq event.Seq }

// queueView edits the waiting messages.
type queueView struct {
	static
	at int
}

func (v *queueView) view(a *app, w, _ int) screen.Frame {
	list := a.queued()
	v.at = max(min(v.at, len(list)-1), 0)
	lines := []text.Line{bar(a.rule, "Waiting messages ("+strconv.Itoa(len(list))+")", "", w)}
	for _, s := range []string{"enter: edit  s: send now  d: withdraw  K, J: move up, down  esc: back"} {
		lines = append(lines, text.Line{{Text: a.rule.CutText(s, w), Style: text.Style{Role: text.Dim}}}, nil)
	}
	if len(list) == 0 {
		lines = append(lines, text.Line{{Text: "No message waits."}})
	}
	for i, q := range list {
		style, mark := text.Style{}, "  "
		if i == v.at {
			style, mark = text.Style{Role: text.Selected}, "› "
		}
		lines = append(lines, text.Line{{Text: a.rule.CutText(mark+queuedText(q, a.working()), w), Style: style}})
	}
	return screen.Frame{Lines: lines}
}

func (v *queueView) key(a *app, k keys.Key) {
	list := a.queued()
	action, _ := a.keys.Find(k, keys.List)
	switch name := k.String(); {
	case action == keys.ListCancel || name == "q":
		a.cover(nil)
	case action == keys.ListUp || name == "k":
		v.at--
	case action == keys.ListDown || name == "j":
		v.at++
	case len(list) == 0:
	case action == keys.ListAccept || name == "e":
		v.edit(a, list)
	case name == "d" || name == "delete" || name == "backspace":
		seq := list[v.at].Seq
		a.change(func(ctx context.Context, h session.Handle) error { return h.Withdraw(ctx, seq) })
	case name == "s":
		v.sendNow(a, list)
	case name == "K" || name == "shift+up" || name == "alt+up":
		v.move(a, list, -1)
	case name == "J" || name == "shift+down" || name == "alt+down":
		v.move(a, list, 1)
	}
	v.at = max(min(v.at, len(list)-1), 0)
}

// edit puts a message into the draft. Sending the draft replaces the message.
func (v *queueView) edit(a *app, list []view.Queued) {
	if !a.edit.Empty() {
		a.say("Send or clear the draft first.")
		a.cover(nil)
		return
	}
	a.cover(nil)
	a.queueEdit = &queueEdit{seq: list[v.at].Seq}
	a.edit.SetText(list[v.at].Text)
	a.say("Enter replaces the waiting message.")
}

// sendNow sends a message to the work in progress, or begins work with it.
func (v *queueView) sendNow(a *app, list []view.Queued) {
	q := list[v.at]
	if !a.working() {
		a.cover(nil)
		a.submitQueued(q)
		return
	}
	a.change(func(ctx context.Context, h session.Handle) error {
		return h.Requeue(ctx, []session.Edit{{Seq: q.Seq, Now: true}})
	})
}

// submitQueued begins work with a waiting message. A message that cannot be submitted comes into the draft.
func (a *app) submitQueued(q view.Queued) {
	l := a.live
	a.do(func(ctx context.Context) func() {
		err := l.Withdraw(ctx, q.Seq)
		if err != nil {
			return func() { a.sayError(err) }
		}
		err = deliver(ctx, l, session.Input{Text: q.Text, Plain: true}, false, false)
		return func() {
			if err != nil {
				a.restore(edit.Message{Text: q.Text})
			}
			a.sayError(err)
		}
	})
}

// move moves the selected message.
func (v *queueView) move(a *app, list []view.Queued, by int) {
	to := v.at + by
	if to < 0 || to >= len(list) {
		return
	}
	list[v.at], list[to] = list[to], list[v.at]
	v.at = to
	var edits []session.Edit
	for _, q := range list {
		edits = append(edits, session.Edit{Seq: q.Seq})
	}
	a.change(func(ctx context.Context, h session.Handle) error { return h.Requeue(ctx, edits) })
}

// requeue replaces a waiting message by the draft.
func (a *app) requeue() {
	seq, m := a.queueEdit.seq, a.edit.Message()
	if len(m.Images) > 0 {
		a.say("A waiting message takes no new images. Send them as a message of their own.")
		return
	}
	a.queueEdit = nil
	a.edit.Clear()
	list := a.queued()
	if !slices.ContainsFunc(list, func(q view.Queued) bool { return q.Seq == seq }) {
		a.restore(m)
		a.say("The message does not wait any more. Enter sends the draft as a new one.")
		return
	}
	if strings.TrimSpace(m.Text) == "" {
		a.change(func(ctx context.Context, h session.Handle) error { return h.Withdraw(ctx, seq) })
		return
	}
	var edits []session.Edit
	for _, q := range list { // the order stays
		e := session.Edit{Seq: q.Seq}
		if q.Seq == seq {
			e.Text = m.Text
		}
		edits = append(edits, e)
	}
	a.change(func(ctx context.Context, h session.Handle) error {
		err := h.Requeue(ctx, edits)
		if err != nil {
			a.post(func() { a.restore(m) })
		}
		return err
	})
}

// change changes the session beside the loop, and shows the error if it fails.
func (a *app) change(f func(ctx context.Context, h session.Handle) error) {
	l := a.live
	if l == nil {
		return
	}
	a.do(func(ctx context.Context) func() {
		err := f(ctx, l)
		return func() { a.sayError(err) }
	})
}
