package panel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/command"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/tui/dialog"
	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/screen"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/session"
)

// roomy is the width from which lists show all details.
const roomy = 72

// sessions lists saved sessions, in this directory or all, and searches their texts.
type sessions struct {
	base
	current string // the session that is open
	dir     string // its directory
	all     []event.Meta
	damaged []session.Damaged
	every   bool // sessions of all directories

	list  *dialog.List
	shown []string // session IDs, by row
	wide  bool
	find  *search // while the user searches all texts
}

// NewSessions returns the panel for saved sessions.
func NewSessions(o Options) Panel {
	p := &sessions{base: newBase("Sessions", o), wide: true}
	p.list = dialog.NewList(nil, p.dialog())
	if o.Sessions == nil {
		p.fail(errors.New("saved sessions are not available here"))
		return p
	}
	p.reload("")
	return p
}

// saved is a listing and the current session.
type saved struct {
	info session.Info
	session.Listing
}

// reload reads the list again and shows a notice.
func (p *sessions) reload(did string) {
	load(&p.base, func(ctx context.Context) (s saved, err error) {
		if s.info, err = p.o.Handle.Info(ctx); err != nil {
			return s, err
		}
		s.Listing, err = p.o.Sessions.List(ctx, session.Filter{})
		return s, err
	}, func(s saved) Outcome {
		p.current, p.dir, p.all, p.damaged = s.info.ID, s.info.Dir, s.Sessions, s.Damaged
		here := func(m event.Meta) bool { return m.Dir == p.dir }
		if did == "" && !slices.ContainsFunc(p.all, here) {
			p.every = true
		}
		if did != "" {
			p.say(did)
		}
		p.rows()
		return handled
	})
}

// rows fills the list.
func (p *sessions) rows() {
	if p.find != nil {
		p.find.rows(p)
		return
	}
	rows := make([]dialog.Row, 0, len(p.all)+len(p.damaged))
	p.shown = p.shown[:0]
	for _, m := range p.all {
		if p.every || m.Dir == p.dir {
			rows = append(rows, p.row(m))
			p.shown = append(p.shown, m.ID)
		}
	}
	if p.every {
		for _, d := range p.damaged {
			rows = append(rows, dialog.Row{Label: d.ID + " cannot be read: " + show.OneLine(d.Error), Detail: "damaged"})
			p.shown = append(p.shown, d.ID)
		}
	}
	p.list.SetRows(rows)
}

// row returns a session's row.
func (p *sessions) row(m event.Meta) dialog.Row {
	r := dialog.Row{Label: cmp.Or(m.Title, m.Prompt, m.ID), Detail: show.Ago(p.o.Now().Sub(m.Updated), m.Updated)}
	if i := strings.IndexByte(r.Label, '\n'); i >= 0 {
		r.Label = r.Label[:i]
	}
	if m.ID == p.current {
		r.Detail = "current · " + r.Detail
	}
	if p.wide {
		if m.Model != "" {
			r.Detail += " · " + m.Model
		}
		if m.Branch != "" {
			r.Detail += " · " + m.Branch
		}
		if p.every && m.Dir != "" {
			r.Detail += " · " + m.Dir[strings.LastIndexAny(m.Dir, `/\`)+1:]
		}
	}
	r.Find = m.ID + "\n" + m.Dir + "\n" + m.Model + "\n" + m.Branch + "\n" + strings.Join(m.Tags, "\n")
	return r
}

// Draw implements [Panel].
func (p *sessions) Draw(width, height int) screen.Frame {
	if wide := width >= roomy; wide != p.wide {
		p.wide = wide
		p.rows()
	}
	next := "all directories"
	if p.every {
		next = "this directory"
	}
	hints := []hint{
		{keys.ListAccept, "resume"},
		{keys.ListCancel, "close"},
		{keys.PanelSearch, "search texts"},
		{keys.PanelFork, "copy"},
		{keys.PanelRemove, "delete"},
		{keys.PanelExport, "export"},
		{keys.PanelNext, next},
	}
	if p.find != nil {
		hints = []hint{{keys.ListAccept, "resume"}, {keys.ListCancel, "back to the list"}}
	}
	return p.frame(width, height, p.status(), hints, func(width, rows int) ([]text.Line, int, int) {
		return p.list.View(width, rows)
	})
}

func (p *sessions) status() string {
	switch {
	case p.find != nil:
		return p.find.status()
	case p.every:
		return show.Plural(len(p.shown), "session")
	}
	return fmt.Sprintf("%d of %s, in this directory", len(p.shown), show.Plural(len(p.all), "session"))
}

// selected returns the selected session's ID, or "".
func (p *sessions) selected() string {
	if i := p.list.Selected(); i >= 0 {
		return p.shown[i]
	}
	return ""
}

// Key implements [Panel].
func (p *sessions) Key(k keys.Key) Outcome {
	if out, asked := p.question(k); asked {
		return out
	}
	if a, _ := p.o.Keys.Find(k, keys.Panel); a != "" && p.o.Sessions != nil {
		if out := p.action(a); out.Handled {
			return out
		}
	}
	before := p.list.Query()
	c := p.list.Handle(k)
	switch {
	case c.Canceled && p.find != nil:
		p.endSearch()
	case c.Canceled:
		return Outcome{Handled: true, Close: true}
	case c.Row >= 0:
		return p.open(p.shown[c.Row])
	case p.find != nil && p.list.Query() != before:
		p.startSearch(p.list.Query())
	}
	return Outcome{Handled: c.Handled}
}

// Paste implements [Panel].
func (p *sessions) Paste(s string) Outcome {
	if p.confirm != nil {
		return p.base.Paste(s)
	}
	p.list.Paste(s)
	if p.find != nil {
		p.startSearch(p.list.Query())
	}
	return handled
}

// action handles a key that is bound in views.
func (p *sessions) action(a keys.Action) Outcome {
	id := p.selected()
	switch {
	case a == keys.PanelSearch && p.find == nil:
		p.find = &search{list: p.list}
		p.list = dialog.NewList(nil, p.dialog())
		if q := p.find.list.Query(); q != "" {
			p.list.Paste(q)
			p.startSearch(q)
		}
	case a == keys.PanelNext && p.find == nil:
		p.every = !p.every
		p.rows()
	case id == "" || p.find != nil:
		return Outcome{}
	case a == keys.PanelFork:
		p.fork(id)
	case a == keys.PanelExport:
		p.export(id)
	case a == keys.PanelRemove:
		p.remove(id)
	default:
		return Outcome{}
	}
	return handled
}

// open opens a session.
func (p *sessions) open(id string) Outcome {
	out := Outcome{Handled: true, Close: true}
	if id != p.current {
		out.Result = &session.Result{Action: session.ActionOpen, Session: id}
	}
	return out
}

// fork copies a session and opens the copy.
func (p *sessions) fork(id string) {
	load(&p.base, func(ctx context.Context) (event.Meta, error) {
		return p.o.Sessions.Fork(context.WithoutCancel(ctx), session.ForkOptions{From: id})
	}, func(m event.Meta) Outcome { return p.open(m.ID) })
}

func (p *sessions) export(id string) {
	dir := p.dir
	load(&p.base, func(ctx context.Context) (string, error) {
		return command.Export(context.WithoutCancel(ctx), p.o.Sessions, id, dir)
	}, func(file string) Outcome {
		p.say("Exported to " + file)
		return handled
	})
}

// remove deletes a session if the user agrees.
func (p *sessions) remove(id string) {
	if id == p.current {
		p.fail(errors.New("this session is open: leave it before you delete it"))
		return
	}
	rows := []string{"Its conversation cannot be restored. The files in its directory stay."}
	for _, m := range p.all {
		if m.ID == id {
			rows = slices.Insert(rows, 0, cmp.Or(m.Title, show.Summary(m.Prompt))+"\n"+m.Dir)
		}
	}
	p.ask("Delete session "+id+"?", "Delete it", "Keep it", rows, func() {
		p.act(func(ctx context.Context) error { return p.o.Sessions.Delete(ctx, id) }, func() Outcome {
			p.reload("Deleted session " + id)
			return handled
		})
	})
}
