package edit

import (
	"strings"

	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/text"
)

// recall replaces the draft by an earlier message (by is 1) or a later one (by is -1). The draft comes back after the
// latest message.
func (e *Editor) recall(by int) {
	h := e.opts.History
	if h == nil {
		return
	}
	if e.recalled == 0 {
		h.Refresh() // without it, the messages of other programs are missing
		e.stash = e.buf.entry()
	}
	n := e.recalled + by
	if n < 0 || n > h.Len() {
		return
	}
	e.recalled = n
	entry := e.stash
	if n > 0 {
		entry = h.Back(n)
	}
	e.setEntry(entry)
	if by > 0 { // so that the next up continues, and down returns
		e.buf.caret = e.buf.line(0).to
	}
}

// search is a search in the history.
type search struct {
	query string
	back  []int // the messages found so far
}

// Popup limits.
const maxFound = 50

// startSearch opens the search with the draft as the text to find.
func (e *Editor) startSearch() {
	e.opts.History.Refresh()
	e.search = &search{}
	e.searchText("")
}

// Searching returns the text that is searched for in the history, and whether there is a search.
func (e *Editor) Searching() (query string, ok bool) {
	if e.search == nil {
		return "", false
	}
	return e.search.query, true
}

// searchText adds to the text to find.
func (e *Editor) searchText(s string) {
	q := e.search
	q.query += strings.ReplaceAll(s, "\n", " ")
	q.back = e.opts.History.Search(q.query, maxFound)
	p := &Popup{kind: found}
	for _, n := range q.back {
		entry := e.opts.History.Back(n)
		first, _, more := strings.Cut(strings.TrimSpace(cutRunes(entry.Text, 500)), "\n")
		if more {
			first += " …"
		}
		p.Items = append(p.Items, Item{Label: text.Clean(first)})
	}
	e.popup = p
}

// searchKey handles a key during a search.
func (e *Editor) searchKey(k keys.Key) Outcome {
	action, _ := e.keys.Find(k, keys.List, keys.Editor)
	q, p := e.search, e.popup
	switch {
	case action == keys.ListAccept || action == keys.ListComplete:
		e.search, e.popup = nil, nil
		if len(q.back) > 0 {
			e.setEntry(e.opts.History.Back(q.back[p.Selected]))
		}
	case action == keys.ListCancel:
		e.search, e.popup = nil, nil
	case action == keys.HistorySearch:
		p.Move(1)
	case action == keys.DeleteLeft:
		b := Buffer{text: q.query}
		q.query = q.query[:b.prev(len(q.query))]
		e.searchText("")
	case action == keys.KillLineLeft:
		q.query = ""
		e.searchText("")
	case action.Context() == keys.List:
		e.popupAction(action)
	case k.Text != "" && k.Mods&(keys.Alt|keys.Ctrl|keys.Super) == 0:
		e.searchText(k.Text)
	default:
		return Outcome{}
	}
	return handled
}

// cutRunes returns the first n runes of s.
func cutRunes(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}
