package tui

import (
	"context"
	"strconv"
	"time"

	"github.com/reins-agent/reins/internal/tui/dialog"
	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/pager"
	"github.com/reins-agent/reins/internal/tui/panel"
	"github.com/reins-agent/reins/internal/tui/screen"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/view"
)

// overlay is what covers the screen: a panel, a list. It closes itself with app.cover.
type overlay interface {
	view(a *app, w, h int) screen.Frame
	key(a *app, k keys.Key)
	paste(a *app, s string)
	changed(keys []view.Key) // session items have changed
	running() bool           // it shows elapsed time
	close()
}

// cover shows an overlay instead of the current view; nil shows the conversation.
func (a *app) cover(o overlay) {
	if a.panel != nil {
		a.panel.close()
	}
	a.panel = o
	if o != nil {
		a.questions.hide()
	}
}

// static is what most overlays have in common: nothing changes by itself.
type static struct{}

func (static) paste(*app, string) {}
func (static) changed([]view.Key) {}
func (static) running() bool      { return false }
func (static) close()             {}

// panelView shows a panel, over another one or the conversation.
type panelView struct {
	panel panel.Panel
	under *panelView
}

// push shows a panel over the conversation.
func (a *app) push(p panel.Panel) { a.cover(&panelView{panel: p}) }

// page shows texts in a pager.
func (a *app) page(title string, sections ...pager.Section) {
	a.push(panel.NewPages(title, a.panelOptions(), sections...))
}

// panelOptions are what panels need.
func (a *app) panelOptions() panel.Options {
	o := panel.Options{
		Handle: noSession{dir: a.o.Dir},
		Post:   func(f func() panel.Outcome) { a.post(func() { a.outcome(f()) }) },
		Keys:   a.keys,
		Rule:   a.rule,
		Now:    time.Now,
	}
	if l := a.live; l != nil {
		o.Handle, o.State = l, func() *view.State { return l.state }
	}
	if a.o.Manager != nil {
		o.Sessions = a.o.Manager
	}
	return o
}

// noSession is what panels have before there is a session.
type noSession struct {
	session.Handle
	dir string
}

func (n noSession) ID() string                                          { return "" }
func (n noSession) Info(context.Context) (session.Info, error)          { return session.Info{Dir: n.dir}, nil }
func (n noSession) Commands(context.Context) ([]session.Command, error) { return nil, nil }

func (v *panelView) view(_ *app, w, h int) screen.Frame { return v.panel.Draw(w, h) }

func (v *panelView) key(a *app, k keys.Key) {
	out := v.panel.Key(k)
	if !out.Handled {
		if action, ok := a.keys.Find(k, keys.Global); ok {
			a.global(action)
		}
		return
	}
	a.outcome(out)
}

func (v *panelView) paste(a *app, s string)     { a.outcome(v.panel.Paste(s)) }
func (v *panelView) changed(changed []view.Key) { v.panel.Changed(changed) }
func (v *panelView) running() bool              { return v.panel.Running() }

func (v *panelView) close() {
	for ; v != nil; v = v.under {
		v.panel.Close()
	}
}

// outcome carries out a panel's request.
func (a *app) outcome(out panel.Outcome) {
	v, ok := a.panel.(*panelView)
	if !ok {
		return
	}
	if out.External != nil {
		a.external(out.External)
	}
	if out.Close {
		v.panel.Close()
		a.panel = nil
		if v.under != nil {
			a.panel = v.under
		}
	}
	if out.Open != nil {
		under, _ := a.panel.(*panelView)
		a.panel = &panelView{panel: out.Open, under: under}
	}
	if out.Line != "" {
		a.command(out.Line)
	}
	if out.Result != nil {
		a.result("", *out.Result)
	}
}

// bar is the first line of what covers the screen.
func bar(rule text.Rule, title, hint string, w int) text.Line {
	title = rule.CutText(text.Clean(title), w)
	hint = rule.CutText(hint, max(w-rule.Width(title)-2, 0))
	gap := text.Blank(max(w-rule.Width(title)-rule.Width(hint), 0))
	return text.Line{
		{Text: title, Style: text.Style{Role: text.Heading, Attr: text.Bold}},
		{Text: gap + hint, Style: text.Style{Role: text.Dim}},
	}
}

// listView lets the user choose from a list.
type listView struct {
	static
	title string
	list  *dialog.List
	pick  func(row int)
}

// choose shows a list to choose from.
func (a *app) choose(title string, rows []dialog.Row, pick func(row int)) {
	a.cover(&listView{
		title: title + " (" + strconv.Itoa(len(rows)) + ")",
		list:  dialog.NewList(rows, dialog.Options{Keys: a.keys, Rule: a.rule}),
		pick:  pick,
	})
}

func (v *listView) view(a *app, w, h int) screen.Frame {
	rows, x, y := v.list.View(w, h-1)
	lines := append([]text.Line{bar(a.rule, v.title, "enter: choose  esc: back", w)}, rows...)
	return screen.Frame{Lines: lines, X: x, Y: y + 1, Cursor: true}
}

func (v *listView) paste(_ *app, s string) { v.list.Paste(s) }

func (v *listView) key(a *app, k keys.Key) {
	out := v.list.Handle(k)
	if out.Canceled || out.Row >= 0 {
		a.cover(nil)
	}
	if out.Row >= 0 {
		v.pick(out.Row)
	}
}
