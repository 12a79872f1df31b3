package tui

import (
	"time"

	"github.com/reins-agent/reins/internal/tui/render"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/view"
)

// Heights of an inline view's region. The height changes only between rest, work, and a question or a view.
const (
	workRows     = 14
	questionRows = 20
)

// rows returns the height of the painted region.
func (a *app) rows() int {
	if !a.o.Inline {
		return a.h
	}
	want := workRows
	switch {
	case a.panel != nil:
		want = a.h - 1
	case a.questions.shown:
		want = questionRows
	case a.live != nil && a.live.state.Len() > 0 && !a.working() && a.shell == nil:
		want = len(a.draft(a.w, workRows).lines)
	}
	return max(min(a.h-1, want), 4)
}

// fitRegion changes the height of an inline view's region.
func (a *app) fitRegion() {
	if h := a.rows(); a.o.Inline && h != a.region {
		a.region = h
		_, _ = a.term.Write(a.screen.Resize(a.w, h))
	}
}

// printed is what an inline view has given to the terminal's own history.
type printed struct {
	items int // how many items of the view state
	last  view.Kind
	any   bool
}

// finishedLines returns, for an inline view, the items finished since the last call.
func (a *app) finishedLines() []text.Line {
	if !a.o.Inline || a.live == nil {
		return nil
	}
	s, p := a.live.state, &a.printed
	var lines []text.Line
	for ; p.items < s.Len(); p.items++ {
		item := s.Item(p.items)
		if item.Live() || item.Tool != nil && !item.Tool.State.Over() {
			break
		}
		if item.Agent != "" {
			continue
		}
		if a.images.waits(item, a.w-2) {
			break
		}
		if p.any && (p.last != item.Kind || item.Kind != view.KindTool && item.Kind != view.KindNotice) {
			lines = append(lines, nil)
		}
		p.any, p.last = true, item.Kind
		lines = append(lines, a.itemLines(item, &a.images)...)
	}
	return lines
}

// itemLines lays out a whole item.
func (a *app) itemLines(item view.Item, images render.Images) []text.Line {
	o := render.Layout{Width: a.w, Rule: a.rule, Now: time.Now(), Images: images}
	body := render.Item(item, "", o)
	var lines []text.Line
	for i := range body.Len() {
		if i > 0 && body.Block(i).Gap {
			lines = append(lines, nil)
		}
		lines = append(lines, body.Lines(i, o)...)
	}
	return lines
}

// liveLines lays out the items that are not finished, for an inline view: their end.
func (a *app) liveLines(w, h int, now time.Time) []text.Line {
	var lines []text.Line
	if a.live == nil || a.live.state.Len() == 0 {
		lines = a.welcome(w)
		return fit(lines, h)
	}
	s := a.live.state
	for i := a.printed.items; i < s.Len(); i++ {
		if item := s.Item(i); item.Agent == "" {
			lines = append(lines, a.itemLines(item, nil)...)
		}
	}
	return fit(lines[max(len(lines)-h, 0):], h)
}
