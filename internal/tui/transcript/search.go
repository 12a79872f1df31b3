package transcript

import (
	"strings"

	"github.com/reins-agent/reins/internal/tui/render"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/view"
)

// search is a search in all items, folded content included.
type search struct {
	query string // in lower case
	hits  []hit
	at    int  // the current hit
	stale bool // items changed since the search
}

// hit is an item with matches.
type hit struct {
	key    view.Key
	entry  int
	before int // matches in the items before
	count  int
}

// Search finds a text in all items, regardless of case, and moves the window to the first match at or after its top.
// It returns the number of matches. An empty text ends the search.
func (v *View) Search(query string) int {
	query = strings.ToLower(query)
	narrower := query != "" && v.find.query != "" && strings.Contains(query, v.find.query) && !v.find.stale
	old := v.find.hits
	v.find = search{query: query}
	if query == "" {
		v.closePeek()
		return 0
	}
	if narrower {
		for _, h := range old {
			v.match(h.entry)
		}
	} else {
		for e := range v.entries {
			v.match(e)
		}
	}
	if len(v.find.hits) == 0 {
		return 0
	}
	v.place()
	for _, h := range v.find.hits {
		if h.entry >= v.top.entry {
			v.find.at = h.before
			break
		}
	}
	v.reveal()
	return v.total()
}

// match adds the matches in an entry.
func (v *View) match(e int) {
	item := v.state.Item(v.entries[e].item)
	n := render.Count(item.Text, v.find.query)
	if t := item.Tool; t != nil {
		for _, s := range []string{t.Title, t.Output.Head, t.Output.Tail, t.Diff, t.Error} {
			n += render.Count(s, v.find.query)
		}
	}
	if n > 0 {
		v.find.hits = append(v.find.hits, hit{key: v.entries[e].key, entry: e, before: v.total(), count: n})
	}
}

func (v *View) total() int {
	if n := len(v.find.hits); n > 0 {
		return v.find.hits[n-1].before + v.find.hits[n-1].count
	}
	return 0
}

// research repeats the search after items changed.
func (v *View) research() {
	if v.find.query == "" {
		return
	}
	at := v.find.at
	v.find = search{query: v.find.query}
	for e := range v.entries {
		v.match(e)
	}
	v.find.at = min(at, max(v.total()-1, 0))
}

// Next moves to the next match, or with a negative number to the previous one. The search continues at the other end.
func (v *View) Next(n int) bool {
	if v.find.stale {
		v.research()
	}
	total := v.total()
	if total == 0 {
		return false
	}
	v.find.at = ((v.find.at+n)%total + total) % total
	v.reveal()
	return true
}

// Match returns the current match's number, counted from 1, and the total.
func (v *View) Match() (current, total int) {
	if total = v.total(); total == 0 {
		return 0, 0
	}
	return v.find.at + 1, total
}

// current returns the current hit, and the match's index in it.
func (v *View) current() (hit, int) {
	for _, h := range v.find.hits {
		if v.find.at < h.before+h.count {
			return h, v.find.at - h.before
		}
	}
	return hit{entry: -1}, 0
}

func (v *View) closePeek() {
	if key := v.peek; key != "" {
		v.peek = ""
		v.refold(key)
	}
}

// reveal moves the window to the current match, and unfolds its item.
func (v *View) reveal() {
	h, n := v.current()
	if h.entry < 0 || h.entry >= len(v.entries) {
		return
	}
	if v.peek != h.key {
		v.closePeek()
		if !v.expanded(h.key) {
			v.peek = h.key
			v.refold(h.key)
		}
	}
	p, ok := v.locate(h.entry, n)
	if !ok { // the text is shown in another form: go to the part where it is
		p = place{entry: h.entry, block: len(v.bodyOf(h.entry).rows) * n / h.count}
	}
	v.top, v.follow, v.eye = p, false, -1
	v.top, _ = v.up(v.top, v.height/3)
	v.place()
}

// locate returns the row with the nth match in an entry, or with the last match.
func (v *View) locate(e, n int) (p place, ok bool) {
	for b := range v.bodyOf(e).rows {
		rows := v.block(e, b)
		for _, m := range render.Find(rows, v.find.query) {
			p, ok = place{entry: e, block: b, row: m.Row}, true
			if m.First {
				if n == 0 {
					return p, true
				}
				n--
			}
		}
	}
	return p, ok
}

// found returns a row with its matches marked.
func (v *View) found(e, b, row int, rows []text.Line) text.Line {
	if v.find.query == "" {
		return rows[row]
	}
	near := rows[max(row-1, 0):min(row+2, len(rows))]
	at := row - max(row-1, 0)
	l := rows[row]
	for _, m := range render.Find(near, v.find.query) {
		if m.Row == at {
			l = render.Highlight(l, m.From, m.To)
		}
	}
	return l
}
