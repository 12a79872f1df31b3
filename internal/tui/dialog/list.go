package dialog

import (
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/tui/edit"
	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/text"
)

// Row is a list row. Its texts are untrusted.
type Row struct {
	Label  string
	Detail string // at the right
	Find   string // what else is searched
}

// List is a list to choose from, which shows only rows that have all words that the user typed.
type List struct {
	opts     Options
	keys     *keys.Map
	rows     []Row
	texts    []string // the rows' texts in lower case
	matches  []int
	selected int // in matches
	top      int
	page     int
	field    *edit.Editor
	query    string
}

// Choice is what a key did in a list.
type Choice struct {
	Handled  bool
	Row      int // the chosen row, or -1
	Canceled bool
}

// NewList returns a list.
func NewList(rows []Row, o Options) *List {
	l := &List{opts: o, keys: o.Keys, page: 1}
	if l.keys == nil {
		l.keys = keys.Default()
	}
	d := Dialog{opts: o, keys: l.keys}
	l.field = d.newField()
	l.SetRows(rows)
	return l
}

// SetRows replaces the rows. The selection stays on its row if the new rows have one with the same texts.
func (l *List) SetRows(rows []Row) {
	var old Row
	if l.selected < len(l.matches) {
		old = l.rows[l.matches[l.selected]]
	}
	l.rows = rows
	l.texts = make([]string, len(rows))
	for i, r := range rows {
		l.texts[i] = strings.ToLower(r.Label + "\n" + r.Detail + "\n" + r.Find)
	}
	l.filter(nil)
	l.selected = 0
	for n, i := range l.matches {
		if rows[i] == old {
			l.selected = n
			return
		}
	}
}

// filter finds the rows that match, among some rows or all.
func (l *List) filter(among []int) {
	words := strings.Fields(strings.ToLower(l.query))
	l.matches = make([]int, 0, len(l.rows))
	try := func(i int) {
		for _, w := range words {
			if !strings.Contains(l.texts[i], w) {
				return
			}
		}
		l.matches = append(l.matches, i)
	}
	if among != nil {
		for _, i := range among {
			try(i)
		}
		return
	}
	for i := range l.rows {
		try(i)
	}
}

// Query returns the typed filter text.
func (l *List) Query() string { return l.query }

// Selected returns the selected row, or -1.
func (l *List) Selected() int {
	if l.selected >= len(l.matches) {
		return -1
	}
	return l.matches[l.selected]
}

// Select selects a row if it is shown.
func (l *List) Select(row int) {
	if n := slices.Index(l.matches, row); n >= 0 {
		l.selected = n
	}
}

// Handle handles a key.
func (l *List) Handle(k keys.Key) Choice {
	out := Choice{Handled: true, Row: -1}
	a, _ := l.keys.Find(k, keys.List)
	switch a {
	case keys.ListUp:
		l.move(-1)
	case keys.ListDown:
		l.move(1)
	case keys.ListPageUp:
		l.move(-l.page)
	case keys.ListPageDown:
		l.move(l.page)
	case keys.ListAccept:
		out.Row = l.Selected()
	case keys.ListCancel:
		out.Canceled = true
	default:
		out.Handled = l.field.Handle(k).Handled
		l.update()
	}
	return out
}

// Paste appends text to the query.
func (l *List) Paste(s string) {
	l.field.Paste(strings.Join(strings.Fields(s), " "))
	l.update()
}

// update applies the query.
func (l *List) update() {
	query := strings.ReplaceAll(l.field.Message().Text, "\n", " ")
	if query == l.query {
		return
	}
	var among []int
	if l.query != "" && strings.HasPrefix(query, l.query) {
		among = l.matches
	}
	l.query, l.selected, l.top = query, 0, 0
	l.filter(among)
}

// move moves the selection. One step from the end leads to the start.
func (l *List) move(by int) {
	n := len(l.matches)
	switch to := l.selected + by; {
	case n == 0:
	case to >= 0 && to < n:
		l.selected = to
	case by == 1:
		l.selected = 0
	case by == -1:
		l.selected = n - 1
	case by > 0:
		l.selected = n - 1
	default:
		l.selected = 0
	}
}

// View lays out the list: the query line, then the rows. It returns the caret's cell.
func (l *List) View(width, rows int) (lines []text.Line, x, y int) {
	width, rows = max(width, 4), max(rows, 2)
	v := l.field.View(width-2, 1)
	lines = append(lines, append(text.Line{{Text: "> ", Style: text.Style{Role: text.Accent}}}, v.Lines[0]...))
	l.page = rows - 1
	l.top = max(min(l.top, l.selected, len(l.matches)-l.page), l.selected-l.page+1, 0)
	for n := l.top; n < min(l.top+l.page, len(l.matches)); n++ {
		lines = append(lines, l.row(l.rows[l.matches[n]], n == l.selected, width))
	}
	if len(l.matches) == 0 {
		lines = append(lines, text.Line{{Text: l.opts.Rule.CutText("nothing found", width), Style: text.Style{Role: text.Dim}}})
	}
	return lines, v.X + 2, 0
}

// row lays out a row.
func (l *List) row(r Row, selected bool, width int) text.Line {
	style, dim, mark := text.Style{}, text.Style{Role: text.Dim}, "  "
	if selected {
		style, dim, mark = text.Style{Role: text.Selected}, text.Style{Role: text.Selected}, "› "
	}
	rule := l.opts.Rule
	detail := rule.CutText(text.Clean(r.Detail), width/2)
	room := width - 2
	if detail != "" {
		room -= rule.Width(detail) + 1
	}
	label := rule.CutText(text.Clean(r.Label), room)
	line := text.Line{{Text: mark + label, Style: style}}
	if detail == "" {
		return line
	}
	return append(
		line,
		text.Span{Text: text.Blank(width - 2 - rule.Width(label) - rule.Width(detail)), Style: style},
		text.Span{Text: detail, Style: dim},
	)
}
