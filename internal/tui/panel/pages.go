package panel

import (
	"fmt"
	"strings"

	"github.com/reins-agent/reins/internal/tui/edit"
	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/pager"
	"github.com/reins-agent/reins/internal/tui/screen"
	"github.com/reins-agent/reins/internal/tui/text"
)

// window is a window on a long text.
type window interface {
	Resize(width, height int)
	Scroll(rows int)
	Page(n int)
	Top()
	Bottom()
	Jump(n int)
	Search(query string) bool
	Next(n int) bool
	Lines() []text.Line
}

// reader shows a window. It scrolls and searches with the same keys as the conversation.
type reader struct {
	base
	window window
	search *edit.Editor // while the user writes what to search for
	found  bool         // the last search found something
}

// Pages is a panel with a long text in sections.
type Pages struct {
	reader
	count int // sections
}

// NewPages returns a panel with sections.
func NewPages(title string, o Options, sections ...pager.Section) *Pages {
	p := &Pages{reader: reader{base: newBase(title, o)}}
	p.set(sections)
	return p
}

// set shows other sections.
func (p *Pages) set(sections []pager.Section) {
	w := pager.New(sections...)
	w.SetRule(p.o.Rule)
	p.window, p.count = w, len(sections)
}

// Draw implements [Panel].
func (p *Pages) Draw(width, height int) screen.Frame {
	hints := []hint{
		{keys.BrowseLeave, "close"},
		{keys.PageDown, "page down"},
		{keys.BrowseSearch, "search"},
	}
	if p.found {
		hints = append(hints, hint{keys.BrowseNextMatch, "next match"})
	}
	if p.count > 1 {
		hints = append(hints, hint{keys.PanelNext, "next part"})
	}
	return p.frame(width, height, "", hints, p.body)
}

func (p *reader) body(width, rows int) (lines []text.Line, x, y int) {
	x = -1
	if p.search != nil {
		rows--
	}
	if rows > 0 {
		p.window.Resize(width, rows)
		lines = p.window.Lines()
	}
	if p.search != nil {
		v := p.search.View(max(width-2, 1), 1)
		line := append(text.Line{{Text: "/ ", Style: text.Style{Role: text.Accent}}}, v.Lines[0]...)
		return append(lines, line), v.X + 2, len(lines)
	}
	return lines, x, y
}

// Key implements [Panel].
func (p *reader) Key(k keys.Key) Outcome {
	if out, asked := p.question(k); asked {
		return out
	}
	if p.search != nil {
		return p.searchKey(k)
	}
	a, _ := p.o.Keys.Find(k, keys.Panel, keys.Transcript, keys.Global)
	switch a {
	case keys.BrowseLeave, keys.Interrupt:
		return Outcome{Handled: true, Close: true}
	case keys.BrowseUp, keys.LineUp:
		p.window.Scroll(-1)
	case keys.BrowseDown, keys.LineDown:
		p.window.Scroll(1)
	case keys.BrowseHalfUp, keys.PageUp:
		p.window.Page(-1)
	case keys.BrowseHalfDown, keys.PageDown, keys.BrowseFold:
		p.window.Page(1)
	case keys.BrowseTop, keys.Top:
		p.window.Top()
	case keys.BrowseBottom, keys.Bottom:
		p.window.Bottom()
	case keys.PanelNext, keys.BrowseNextPrompt, keys.NextPrompt:
		p.window.Jump(1)
	case keys.BrowsePrevPrompt, keys.PrevPrompt:
		p.window.Jump(-1)
	case keys.BrowseSearch, keys.Search, keys.PanelSearch:
		p.search = p.field()
	case keys.BrowseNextMatch:
		p.window.Next(1)
	case keys.BrowsePrevMatch:
		p.window.Next(-1)
	default:
		return Outcome{}
	}
	return handled
}

func (p *reader) searchKey(k keys.Key) Outcome {
	a, _ := p.o.Keys.Find(k, keys.List)
	switch a {
	case keys.ListCancel:
		p.search = nil
		p.window.Search("")
	case keys.ListAccept:
		query := strings.TrimSpace(p.search.Message().Text)
		p.search = nil
		if p.found = p.window.Search(query) && query != ""; !p.found && query != "" {
			p.fail(fmt.Errorf("%q was not found", query))
		}
	default:
		return Outcome{Handled: p.search.Handle(k).Handled}
	}
	return handled
}

// Paste implements [Panel].
func (p *reader) Paste(s string) Outcome {
	if p.search == nil {
		return p.base.Paste(s)
	}
	p.search.Paste(strings.Join(strings.Fields(s), " "))
	return handled
}
