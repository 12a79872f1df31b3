package tui

import (
	"context"
	"time"

	"github.com/reins-agent/reins/internal/tui/edit"
	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/term"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/session"
)

// key handles a key. It belongs to the question that is shown, to what covers the screen, to the conversation, or to the
// draft, in this order; what they do not use applies everywhere.
func (a *app) key(k keys.Key) {
	if action, ok := a.keys.Find(k, keys.Global); !ok || action != keys.Cancel {
		a.hinted = time.Time{}
	}
	a.notice.key()
	mine := a.questions.guard.Key(time.Now())
	switch {
	case a.panel != nil:
		if action, _ := a.keys.Find(k, keys.Global); action == keys.Cancel || action == keys.Quit || action == keys.Suspend {
			a.global(action)
			return
		}
		a.panel.key(a, k)
		return
	case mine && a.questions.shown && a.questionKey(k):
		return
	case a.browse.on && a.browseKey(k):
		return
	}
	a.draftKey(k)
}

// draftKey gives a key to the draft, or to what applies everywhere.
func (a *app) draftKey(k keys.Key) {
	out := a.edit.Handle(k)
	switch {
	case out.Handled:
	case out.Action != "":
		a.editor(out.Action)
	default:
		if action, ok := a.keys.Find(k, keys.Global); ok {
			a.global(action)
		}
	}
}

// editor runs an editor action that needs more than the draft.
func (a *app) editor(action keys.Action) {
	switch action {
	case keys.Submit:
		a.submit(false)
	case keys.FollowUp:
		a.submit(true)
	case keys.CompleteOrQueue:
		if a.working() {
			a.submit(true)
		}
	case keys.DeleteOrQuit:
		a.quit()
	case keys.ExternalEditor:
		a.external(a.edit)
	case keys.PasteImage:
		a.pasteImage()
	}
}

// global runs an action that applies everywhere.
func (a *app) global(action keys.Action) {
	switch action {
	case keys.Interrupt:
		a.interrupt()
	case keys.Cancel:
		a.cancelKey()
	case keys.Quit:
		a.quit()
	case keys.Suspend:
		if a.o.Inline {
			_, _ = a.term.Write(a.screen.Leave())
		}
		a.term.Suspend()
	case keys.Redraw:
		a.images.reset()
		a.screen.Lost()
	case keys.NextMode:
		a.nextMode()
	case keys.Copy:
		a.copyAnswer()
	case keys.Mouse:
		a.mouse = !a.mouse
		a.term.Mouse(a.mouse)
		if a.mouse {
			a.say("The wheel scrolls. Select text with shift held.")
		} else {
			a.say("The mouse selects text.")
		}
	default:
		if !a.scroll(action) && !a.open(action) {
			a.dirty = true
		}
	}
}

// interrupt stops what runs.
func (a *app) interrupt() {
	switch {
	case a.shell != nil:
		a.shell.stop()
	case a.working():
		l := a.live
		a.do(func(ctx context.Context) func() {
			err := l.Interrupt(ctx)
			return func() { a.sayError(err) }
		})
	case a.notice.shown():
		a.notice = notice{}
	}
}

// twice is how long a second ctrl+c quits.
const twice = 2 * time.Second

// cancelKey clears the draft or stops the work. A second time it quits.
func (a *app) cancelKey() {
	now := time.Now()
	switch {
	case !a.hinted.IsZero() && now.Sub(a.hinted) < a.twice:
		a.quit()
		return
	case a.panel != nil:
		a.cover(nil)
	case !a.edit.Empty():
		a.edit.Clear()
		a.queueEdit = nil
	case a.working() || a.shell != nil:
		a.interrupt()
	}
	a.hinted = now
	a.hint("Press "+a.keys.Key(keys.Cancel)+" again to quit.", a.twice)
}

// modes are the permission modes that a key chooses, in their order.
var modes = []policy.Mode{policy.ModeDefault, policy.ModeAcceptEdits, policy.ModePlan, policy.ModeAuto}

// nextMode changes the permission mode. Two keys are two steps, also if the session has not taken the first one yet.
func (a *app) nextMode() {
	if a.live == nil {
		return
	}
	if a.info.ID == "" {
		a.steps++ // until the mode is known
		return
	}
	next := modes[0]
	for i, m := range modes {
		if m == a.info.Mode {
			next = modes[(i+1)%len(modes)]
		}
	}
	a.info.Mode = next
	if !a.changing {
		a.changeMode(a.live)
	}
}

// changeMode gives a session the mode that is shown, one change at a time, so that the last one counts.
func (a *app) changeMode(l *live) {
	mode := a.info.Mode
	a.changing = true
	a.do(func(ctx context.Context) func() {
		err := l.Reconfigure(ctx, session.Settings{Mode: mode})
		return func() {
			a.changing = false
			a.sayError(err)
			if a.live == l && err == nil && a.info.Mode != mode {
				a.changeMode(l)
				return
			}
			a.refresh()
		}
	})
}

// wheel scrolls with the mouse.
func (a *app) wheel(m term.Mouse) {
	if m.Wheel != 0 && a.live != nil && a.panel == nil {
		a.live.view.Scroll(3 * m.Wheel)
	}
}

// insert adds a text to the draft, as if it was pasted. Paths of images become images.
func (a *app) insert(s string) {
	if files := edit.Dropped(s); len(files) > 0 {
		for _, f := range files {
			image, err := edit.ReadImage(f)
			if err != nil {
				a.sayError(err)
				continue
			}
			a.edit.PasteImage(image)
		}
		return
	}
	if len(s) < 4 {
		a.edit.Insert(s)
	} else {
		a.edit.Paste(s)
	}
}

// saveDraft saves the draft if it has changed.
func (a *app) saveDraft() {
	if a.drafts == nil || a.edit.Version() == a.saved {
		return
	}
	a.saved = a.edit.Version()
	if err := a.drafts.Save(a.edit.Draft()); err != nil {
		a.sayError(err)
		a.drafts = nil
	}
}
