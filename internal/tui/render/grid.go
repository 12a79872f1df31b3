package render

import (
	"strings"

	"github.com/reins-agent/reins/internal/tui/text"
)

// grid is a table, or a piece of a long table.
type grid struct {
	prefix
	align []byte // 'l', 'r' or 'c' per column
	cells [][]string
	body  bool // the header was shown before
	size  int
}

const maxColumns = 64

// delimiters parses a table's second line, and returns the column alignments, or nil.
func delimiters(s string) []byte {
	if !strings.Contains(s, "-") || strings.Trim(s, "|-: \t") != "" {
		return nil
	}
	var out []byte
	for _, c := range cells(s) {
		left, right := strings.HasPrefix(c, ":"), strings.HasSuffix(c, ":")
		if c = strings.Trim(c, ":"); c == "" || strings.Trim(c, "-") != "" {
			return nil
		}
		switch {
		case left && right:
			out = append(out, 'c')
		case right:
			out = append(out, 'r')
		default:
			out = append(out, 'l')
		}
	}
	if len(out) == 1 && !strings.Contains(s, "|") {
		return nil
	}
	return out
}

// cells splits a table row into cells.
func cells(s string) []string {
	s = strings.TrimPrefix(strings.TrimSpace(s), "|")
	var out []string
	from := 0
	for i := 0; i < len(s) && len(out) < maxColumns; i++ {
		switch s[i] {
		case '\\':
			i++
		case '|':
			out = append(out, cell(s[from:i]))
			from = i + 1
		}
	}
	if rest := strings.TrimSpace(s[from:]); rest != "" {
		out = append(out, cell(rest))
	}
	return out
}

func cell(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), `\|`, "|") }

// newGrid parses table rows: header, delimiters, body.
func newGrid(p prefix, lines []string, body bool) *grid {
	g := &grid{prefix: p, align: delimiters(lines[1]), body: body}
	for i, l := range lines {
		if i == 1 {
			continue
		}
		row := cells(l)
		for len(row) < len(g.align) {
			row = append(row, "")
		}
		g.cells = append(g.cells, row[:len(g.align)])
		g.size += len(l)
	}
	return g
}

func (g *grid) Rows(o Layout) int { return rows(g.size, len(g.cells)+1, g.width(o)) }

func (g *grid) Lines(o Layout) []text.Line {
	width := g.width(o)
	columns := len(g.align)
	natural, words := make([]int, columns), make([]int, columns)
	content := make([][][]text.Line, len(g.cells))
	for r, row := range g.cells {
		style := text.Style{}
		if r == 0 {
			style.Attr = text.Bold
		}
		content[r] = make([][]text.Line, columns)
		for c, s := range row {
			lines := Inline(s, style)
			content[r][c] = lines
			for _, l := range lines {
				natural[c] = max(natural[c], o.Rule.LineWidth(l))
			}
			words[c] = max(words[c], min(longestWord(o.Rule, s), 12))
		}
	}
	widths := share(natural, words, width-3*(columns-1))
	if widths == nil {
		return g.put(o, g.list(o, content, width))
	}
	var out []text.Line
	tall := false
	for r := range content {
		lines := g.row(o, content[r], widths)
		tall = tall || len(lines) > 1 && r > 0
		content[r] = [][]text.Line{lines}
	}
	for r := range content {
		if r == 0 && g.body {
			continue
		}
		if r == 1 && !g.body || r > 1 && tall {
			out = append(out, between(widths))
		}
		out = append(out, content[r][0]...)
	}
	if len(content) == 1 && !g.body {
		out = append(out, between(widths))
	}
	return g.put(o, out)
}

func longestWord(r text.Rule, s string) int {
	n := 1
	for w := range strings.FieldsSeq(s) {
		n = max(n, r.Width(text.Clean(w)))
	}
	return n
}

// share divides the space among columns; narrow columns get their natural width. It returns nil if the space is too small.
func share(natural, words []int, space int) []int {
	out := make([]int, len(natural))
	total := 0
	for _, n := range natural {
		total += max(n, 1)
	}
	if total <= space {
		for i, n := range natural {
			out[i] = max(n, 1)
		}
		return out
	}
	left, open := space, len(natural)
	for again := true; again; {
		again = false
		for i, n := range natural {
			if out[i] == 0 && open > 0 && max(n, 1) <= left/open {
				out[i] = max(n, 1)
				left -= out[i]
				open--
				again = true
			}
		}
	}
	for i := range out {
		if out[i] == 0 {
			out[i] = left / open
			left -= out[i]
			open--
			if out[i] < min(words[i], 6) {
				return nil
			}
		}
	}
	return out
}

// row lays out a row.
func (g *grid) row(o Layout, cells [][]text.Line, widths []int) []text.Line {
	var out []text.Line
	columns := make([][]text.Line, len(cells))
	tall := 1
	for i, c := range cells {
		columns[i] = wrapped(o, c, widths[i])
		tall = max(tall, len(columns[i]))
	}
	for n := range tall {
		var l text.Line
		for i, c := range columns {
			var part text.Line
			if n < len(c) {
				part = c[n]
			}
			free := widths[i] - o.Rule.LineWidth(part)
			before := 0
			switch g.align[i] {
			case 'r':
				before = free
			case 'c':
				before = free / 2
			}
			if i > 0 {
				l = append(l, text.Span{Text: " │ ", Style: role(text.Border)})
			}
			if before > 0 {
				l = append(l, text.Span{Text: text.Blank(before)})
			}
			l = append(l, part...)
			if after := free - before; after > 0 && i < len(columns)-1 {
				l = append(l, text.Span{Text: text.Blank(after)})
			}
		}
		out = append(out, l)
	}
	return out
}

func between(widths []int) text.Line {
	var b strings.Builder
	for i, w := range widths {
		if i > 0 {
			b.WriteString("─┼─")
		}
		b.WriteString(strings.Repeat("─", w))
	}
	return one(b.String(), role(text.Border))
}

// list shows a table that is too wide for the screen: a line per cell.
func (g *grid) list(o Layout, content [][][]text.Line, width int) []text.Line {
	var out []text.Line
	for r := 1; r < len(content); r++ {
		for c, lines := range content[r] {
			l := text.Line{}
			for _, h := range content[0][c] {
				l = append(l, h...)
			}
			l = append(l, text.Span{Text: ": "})
			for i, v := range lines {
				if i > 0 {
					l = append(l, text.Span{Text: " "})
				}
				l = append(l, v...)
			}
			out = append(out, o.Rule.Wrap(l, width)...)
		}
		if r < len(content)-1 {
			out = append(out, one(strings.Repeat("─", width), role(text.Border)))
		}
	}
	if len(content) == 1 {
		out = append(out, g.header(o, content[0], width)...)
	}
	return out
}

func (g *grid) header(o Layout, cells [][]text.Line, width int) []text.Line {
	var out []text.Line
	for _, c := range cells {
		out = append(out, wrapped(o, c, width)...)
	}
	return out
}
