package edit

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/reins-agent/reins/internal/tui/text"
)

// tabStop is the distance between tab stops.
const tabStop = 4

// layout holds the screen rows of the text. A line's last row is followed by an empty one if it is full, so that
// the caret at its end has a cell.
type layout struct {
	b       *Buffer
	width   int
	rule    text.Rule
	version int
	rows    []span
}

// of lays out the buffer's text, unless nothing has changed since the last time.
func (l *layout) of(b *Buffer, width int, rule text.Rule) {
	width = max(width, 1)
	if l.b == b && l.width == width && l.rule == rule && l.version == b.version && l.rows != nil {
		return
	}
	*l = layout{
		b:       b,
		width:   width,
		rule:    rule,
		version: b.version,
		rows:    l.rows[:0],
	}
	for from := 0; ; {
		line := b.line(from)
		l.wrap(line)
		if from = line.to + 1; line.to == len(b.text) {
			return
		}
	}
}

// wrap adds a line's rows.
func (l *layout) wrap(line span) {
	c := cells{l: l, line: line}
	for start := line.from; ; {
		end, full := c.fit(start)
		l.rows = append(l.rows, span{start, end})
		if start = end; end < line.to {
			continue
		}
		if full {
			l.rows = append(l.rows, span{end, end})
		}
		return
	}
}

// fit returns where the row that starts at a position ends, and whether it is full. Rows end after blanks, folds and wide
// characters where they can.
func (c *cells) fit(start int) (end int, full bool) {
	column, open := 0, 0
	at := start
	for b := c.l.b.text; at < c.line.to; {
		if r := b[at]; isASCII(r) && (at+1 == c.line.to || b[at+1] < utf8.RuneSelf) && column < c.l.width {
			at, column = at+1, column+1
			if r == ' ' {
				open = at
			}
			continue
		}
		cl := cluster(c.l.b.text[at:c.line.to])
		w := c.width(cl, column)
		if column+w > c.l.width && at > start {
			return cmp.Or(open, at), false
		}
		at, column = at+len(cl), column+w
		if k := classOf(cl); k == blank || k == folded || w == 2 {
			open = at
		}
	}
	return at, column >= c.l.width
}

// isASCII reports whether a character is shown as it is, in one column.
func isASCII(c byte) bool { return c >= ' ' && c < 0x7F }

// row returns the row number for a position.
func (l *layout) row(at int) int {
	return sort.Search(len(l.rows), func(i int) bool { return l.rows[i].from > at }) - 1
}

// column returns a position's column in its row.
func (l *layout) column(at int) int {
	column := 0
	for _, c := range l.cells(l.row(at)) {
		if c.at >= at {
			break
		}
		column += c.width
	}
	return column
}

// at returns the position in a row that is nearest to a column, from the left.
func (l *layout) at(row, column int) int {
	x, at := 0, l.rows[row].from
	for _, c := range l.cells(row) {
		if x+c.width > column {
			break
		}
		x, at = x+c.width, c.at+c.size
	}
	if soft := row+1 < len(l.rows) && l.rows[row+1].from == l.rows[row].to; soft && at == l.rows[row].to && at > l.rows[row].from {
		return l.b.prev(at) // where the next row starts
	}
	return at
}

// cell is a cluster on the screen.
type cell struct {
	at, size int // in the text
	width    int
	shown    string
	fold     bool
}

// cells returns a row's cells.
func (l *layout) cells(row int) []cell {
	r := l.rows[row]
	c := cells{l: l, line: l.b.line(r.from)}
	var list []cell
	column := 0
	for at := r.from; at < r.to; {
		cl := cluster(l.b.text[at:r.to])
		shown := c.shown(cl, column)
		w := l.rule.Width(shown)
		list = append(list, cell{at, len(cl), w, shown, l.b.fold(cl) != nil})
		at, column = at+len(cl), column+w
	}
	return list
}

// cells shows a line's clusters.
type cells struct {
	l       *layout
	line    span
	checked bool
	clean   bool // the whole line is safe to show
}

func (c *cells) width(cl string, column int) int {
	if len(cl) == 1 && isASCII(cl[0]) {
		return 1
	}
	return c.l.rule.Width(c.shown(cl, column))
}

// shown returns how a cluster is shown in a column.
func (c *cells) shown(cl string, column int) string {
	switch f := c.l.b.fold(cl); {
	case f != nil:
		return c.l.rule.CutText(text.Clean(f.label), c.l.width)
	case cl == "\t":
		return text.Blank(min(tabStop-column%tabStop, c.l.width))
	}
	if !c.checked {
		line := strings.ReplaceAll(c.l.b.text[c.line.from:c.line.to], "\t", " ")
		c.checked, c.clean = true, text.Clean(line) == line
	}
	if !c.clean {
		cl = text.Clean(cl)
	}
	return c.l.rule.CutText(cl, c.l.width)
}

// View is a laid-out draft.
type View struct {
	Lines []text.Line
	X, Y  int // the caret's cell
	Above int // rows that are hidden above
	Below int // and below
}

// render returns the rows from top to bottom.
func (l *layout) render(top, bottom int) []text.Line {
	var lines []text.Line
	for row := top; row < bottom; row++ {
		lines = append(lines, l.renderRow(row))
	}
	return lines
}

func (l *layout) renderRow(row int) text.Line {
	var line text.Line
	for _, c := range l.cells(row) {
		style := text.Style{}
		if c.fold || c.at == 0 && c.shown == "!" {
			style.Role = text.Accent
		}
		if n := len(line); n > 0 && line[n-1].Style == style {
			line[n-1].Text += c.shown
		} else {
			line = append(line, text.Span{Text: c.shown, Style: style})
		}
	}
	return slices.Clip(line)
}
