package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/term"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/internal/tui/theme"
)

// frame is the shortest time between two frames while a session streams.
const frame = 16 * time.Millisecond

// loop handles events until the application is over. It paints at once after keys, and otherwise at most once per frame.
// While nothing happens, no timer runs.
func (a *app) loop() error {
	for !a.over {
		typed := false
		select {
		case e := <-a.term.Events():
			typed = a.terminal(e)
			for n := len(a.term.Events()); n > 0 && !a.over; n-- {
				typed = a.terminal(<-a.term.Events()) || typed
			}
		case b := <-a.events():
			a.apply(b)
		case f := <-a.posts:
			f()
			a.dirty = true
		case <-a.timer.C:
			a.dirty = true
		case <-a.ctx.Done():
			return a.ctx.Err()
		}
		if lines := a.o.Notes.take(); len(lines) > 0 {
			a.say(strings.Join(lines, "\n"))
		}
		a.settle()
		if a.dirty && (typed || time.Since(a.painted) >= frame) && !a.over {
			a.paint()
		}
		if a.over {
			a.restoreFirst() // into the draft that is saved
		}
		a.saveDraft() // after the paint, because its timer wakes another thread
		a.arm()
	}
	return a.err
}

// arm sets the timer to the next time at which something changes without an event.
func (a *app) arm() {
	now := time.Now()
	var next time.Duration
	sooner := func(d time.Duration) {
		if d > 0 && (next == 0 || d < next) {
			next = d
		}
	}
	if a.dirty {
		sooner(max(frame-now.Sub(a.painted), time.Millisecond))
	}
	if a.questions.waits() && !a.questions.shown && a.panel == nil {
		sooner(max(a.questions.guard.Wait(now), time.Millisecond))
	}
	if takes, wait := a.questions.guard.Takes(now); a.questions.shown && !takes {
		sooner(wait)
	}
	if a.working() || a.shell != nil || a.panel != nil && a.panel.running() {
		sooner(time.Second - time.Duration(now.Nanosecond()))
	}
	if !a.notice.until.IsZero() {
		sooner(max(a.notice.until.Sub(now), time.Millisecond))
	}
	sooner(a.screen.Owes())
	a.timer.Stop()
	if next > 0 {
		a.timer.Reset(next)
	}
}

// terminal handles a terminal event, and reports whether it has to be shown at once.
func (a *app) terminal(e term.Event) bool {
	a.dirty = true
	switch e := e.(type) {
	case keys.Key:
		a.key(e)
	case term.Paste:
		a.paste(e.Text)
	case term.Mouse:
		a.wheel(e)
	case term.Resize:
		a.resize(e.W, e.H)
	case term.Focus:
		a.unfocused = !e.In
		return false
	case term.Background:
		a.background(e.Dark())
	case term.Scheme:
		a.background(e.Dark)
	case term.Reply:
		a.reply(e)
	case term.Resume:
		a.resize(a.term.Size())
		a.images.reset()
		a.screen.Lost()
	case term.Quit:
		a.over, a.err = true, fmt.Errorf("%w: %s", ErrSignal, e.Signal)
	}
	return true
}

// background chooses the theme for a background, if the theme depends on it.
func (a *app) background(dark bool) {
	base := a.o.Theme
	if a.o.Colors != nil {
		base = a.o.Colors.Base
	}
	if dark != a.theme.Dark && theme.Follows(base) {
		a.restyle(dark)
		a.screen.Restyle(a.theme.SGR, a.rule)
	}
}

func (a *app) reply(r term.Reply) {
	a.term.Use(r)
	a.screen.Sync = a.term.Sync()
	if g := a.term.Graphics(); g != a.images.kind {
		a.images.on(g)
	}
	if a.term.Clusters() && a.rule != text.Graphemes {
		a.rule = text.Graphemes
		a.screen.Restyle(a.theme.SGR, a.rule)
		if a.live != nil {
			a.live.view.SetRule(a.rule)
		}
	}
}

func (a *app) resize(w, h int) {
	if w == a.w && h == a.h {
		return
	}
	a.w, a.h = w, h
	a.region = a.rows()
	_, _ = a.term.Write(a.screen.Resize(w, a.region))
	a.images.layOut()
}

// paste inserts a pasted text.
func (a *app) paste(s string) {
	now := time.Now()
	mine := a.questions.guard.Key(now)
	switch {
	case a.panel != nil:
		a.panel.paste(a, s)
	case a.browse.searching:
		a.browse.query.Paste(s)
		a.searched()
	case mine && a.questions.shown:
		if out := a.questions.dialog.Paste(s); out.Typed != "" {
			a.questions.guard.Yield()
			a.insert(out.Typed)
		}
	default:
		a.insert(s)
	}
}
