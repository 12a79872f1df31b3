package panel

import (
	"github.com/reins-agent/reins/internal/tui/render"
	"github.com/reins-agent/reins/internal/tui/text"
)

// table is a render.Part with untrusted cells. Columns are as wide as their widest cell if there is room; the last
// takes what remains.
type table struct {
	head []string
	rows [][]string
	lead text.Role // first column
}

const between = 2 // columns

// Rows estimates the number of lines.
func (t *table) Rows(render.Layout) int { return len(t.rows) + 1 }

// Lines lays the table out. Cells wrap in their columns.
func (t *table) Lines(o render.Layout) []text.Line {
	widths := t.widths(o)
	var out []text.Line
	if len(t.head) > 0 && t.head[0] != "" {
		out = t.row(o, widths, t.head, func(int) text.Style { return text.Style{Role: text.Dim} })
	}
	for _, r := range t.rows {
		out = append(out, t.row(o, widths, r, func(column int) text.Style {
			if column == 0 {
				return text.Style{Role: t.lead}
			}
			return text.Style{}
		})...)
	}
	return out
}

// widths returns the width of each column.
func (t *table) widths(o render.Layout) []int {
	var widths []int
	for _, r := range append([][]string{t.head}, t.rows...) {
		for i, cell := range r {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], o.Rule.Width(text.Clean(cell)))
		}
	}
	if len(widths) == 0 {
		return nil
	}
	last := len(widths) - 1
	room := o.Width - between*last
	for i := range last { // no column leaves less than its share to the columns after it
		widths[i] = max(min(widths[i], room-(last-i)*max(room/(len(widths)-i), 1)), 1)
		room -= widths[i]
	}
	widths[last] = max(min(widths[last], room), 1)
	return widths
}

// row lays out a row.
func (t *table) row(o render.Layout, widths []int, cells []string, style func(column int) text.Style) []text.Line {
	columns := make([][]text.Line, len(cells))
	height := 1
	for i, cell := range cells {
		for s := range text.CleanLines(cell) {
			columns[i] = append(columns[i], o.Rule.Wrap(text.Line{{Text: s, Style: style(i)}}, widths[i])...)
		}
		height = max(height, len(columns[i]))
	}
	out := make([]text.Line, height)
	for y := range out {
		column := 0
		for i, lines := range columns {
			if y < len(lines) {
				out[y] = append(o.Rule.Pad(out[y], column, text.Style{}), lines[y]...)
			}
			column += widths[i] + between
		}
		out[y] = o.Rule.Cut(out[y], o.Width)
	}
	return out
}
