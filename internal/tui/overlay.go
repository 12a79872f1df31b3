package tui

import (
	"strconv"

	"github.com/reins-agent/reins/internal/tui/dialog"
	"github.com/reins-agent/reins/internal/tui/edit"
	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/pager"
	"github.com/reins-agent/reins/internal/tui/text"
)

// overlay is what covers the screen: a pager, a list. It closes itself by setting app.panel to nil.
type overlay interface {
	view(a *app, w, h int) (lines []text.Line, x, y int, cursor bool)
	key(a *app, k keys.Key)
	paste(s string)
}

// pagerView shows a pager.
type pagerView struct {
	title string
	pager *pager.Pager
	query *edit.Editor // while the user types what to search for
	found string
}

func newPagerView(title string, p *pager.Pager) *pagerView { return &pagerView{title: title, pager: p} }

func (v *pagerView) view(a *app, w, h int) (lines []text.Line, x, y int, cursor bool) {
	v.pager.SetRule(a.rule)
	v.pager.Resize(w, h-2)
	lines = append([]text.Line{bar(a.rule, v.title, "esc: back  /: search  n, N: matches  {, }: sections", w)}, v.pager.Lines()...)
	if v.query == nil {
		return append(lines, text.Line{{Text: a.rule.CutText(v.found, w), Style: text.Style{Role: text.Dim}}}), 0, 0, false
	}
	field := v.query.View(w-2, 1)
	return append(lines, append(text.Line{{Text: "/", Style: text.Style{Role: text.Accent}}}, field.Lines[0]...)), field.X + 1, h - 1, true
}

func (v *pagerView) paste(s string) {
	if v.query != nil {
		v.query.Paste(s)
	}
}

func (v *pagerView) key(a *app, k keys.Key) {
	if v.query != nil {
		v.queryKey(a, k)
		return
	}
	action, ok := a.keys.Find(k, keys.Transcript, keys.Global)
	if !ok {
		return
	}
	p := v.pager
	_, h := a.w, a.rows()
	switch action {
	case keys.BrowseLeave, keys.Interrupt:
		a.panel = nil
	case keys.BrowseUp, keys.LineUp:
		p.Scroll(-1)
	case keys.BrowseDown, keys.LineDown, keys.BrowseFold:
		p.Scroll(1)
	case keys.BrowseHalfUp:
		p.Scroll(-h / 2)
	case keys.BrowseHalfDown:
		p.Scroll(h / 2)
	case keys.PageUp:
		p.Page(-1)
	case keys.PageDown:
		p.Page(1)
	case keys.BrowseTop, keys.Top:
		p.Top()
	case keys.BrowseBottom, keys.Bottom:
		p.Bottom()
	case keys.BrowsePrevPrompt, keys.PrevPrompt:
		p.Jump(-1)
	case keys.BrowseNextPrompt, keys.NextPrompt:
		p.Jump(1)
	case keys.BrowseSearch, keys.Search:
		v.query = edit.New(edit.Options{Rule: a.rule})
	case keys.BrowseNextMatch:
		p.Next(1)
	case keys.BrowsePrevMatch:
		p.Next(-1)
	}
}

// queryKey handles a key while the user types what to search for.
func (v *pagerView) queryKey(a *app, k keys.Key) {
	action, _ := a.keys.Find(k, keys.List)
	switch action {
	case keys.ListCancel:
		v.query, v.found = nil, ""
		v.pager.Search("")
	case keys.ListAccept:
		q := v.query.Message().Text
		v.query, v.found = nil, ""
		if !v.pager.Search(q) {
			v.found = text.Clean("not found: " + q)
		}
	default:
		v.query.Handle(k)
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
	title string
	list  *dialog.List
	pick  func(row int)
}

// choose shows a list to choose from.
func (a *app) choose(title string, rows []dialog.Row, pick func(row int)) {
	a.panel = &listView{
		title: title + " (" + strconv.Itoa(len(rows)) + ")",
		list:  dialog.NewList(rows, dialog.Options{Keys: a.keys, Rule: a.rule}),
		pick:  pick,
	}
}

func (v *listView) view(a *app, w, h int) (lines []text.Line, x, y int, cursor bool) {
	rows, x, y := v.list.View(w, h-1)
	return append([]text.Line{bar(a.rule, v.title, "enter: choose  esc: back", w)}, rows...), x, y + 1, true
}

func (v *listView) paste(s string) { v.list.Paste(s) }

func (v *listView) key(a *app, k keys.Key) {
	out := v.list.Handle(k)
	if out.Canceled || out.Row >= 0 {
		a.panel = nil
	}
	if out.Row >= 0 {
		v.pick(out.Row)
	}
}
