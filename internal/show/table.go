package show

import (
	"bufio"
	"io"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Column is a column of a [Table].
type Column struct {
	Title  string
	Right  bool   // align right
	Max    int    // maximum width on a terminal; 0 means no limit. Where space is scarce, these columns are narrower
	Tail   bool   // truncate cells at their start
	Colour string // of the cells
}

// Table is a table of text. Its last column is truncated to the width of the terminal.
type Table struct {
	Columns []Column
	rows    [][]string
}

// Add appends a row. It makes each cell one line that is safe to print.
func (t *Table) Add(cells ...string) {
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(Visible(c), "\n", " ")
	}
	t.rows = append(t.rows, cells)
}

// Len returns the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// Print writes the table for a terminal of the given width; 0 means no limit.
func (t *Table) Print(w io.Writer, width int, colour bool) error {
	widths := t.widths(width)
	out := bufio.NewWriter(w)
	titles := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		titles[i] = c.Title
	}
	for n, row := range slices.Concat([][]string{titles}, t.rows) {
		for i, c := range t.Columns {
			cell, shade := row[i], ""
			if width > 0 {
				cell = Cut(cell, widths[i], c.Tail)
			}
			switch {
			case !colour:
			case n == 0:
				shade = Grey
			default:
				shade = c.Colour
			}
			if i > 0 {
				out.WriteString("  ")
			}
			out.WriteString(t.pad(i, Paint(shade, cell), widths[i]-Width(cell)))
		}
		out.WriteByte('\n')
	}
	return out.Flush()
}

// pad aligns a cell. The last column is not padded.
func (t *Table) pad(column int, cell string, space int) string {
	pad := strings.Repeat(" ", max(space, 0))
	switch {
	case t.Columns[column].Right:
		return pad + cell
	case column < len(t.Columns)-1:
		return cell + pad
	}
	return cell
}

// widths returns the widths of the columns for a maximum width of the table; 0 means no limit.
func (t *Table) widths(maximum int) []int {
	widths := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		widths[i] = Width(c.Title)
		for _, row := range t.rows {
			widths[i] = max(widths[i], Width(row[i]))
		}
		if maximum > 0 && c.Max > 0 {
			widths[i] = min(widths[i], c.Max)
		}
	}
	if maximum == 0 {
		return widths
	}
	last := len(widths) - 1
	left := maximum
	for _, w := range widths[:last] {
		left -= w + 2
	}
	missing := min(widths[last], minLast) - left
	bounded := func(c Column) bool { return c.Max > 0 }
	saved := t.narrow(widths[:last], missing, bounded)
	saved += t.narrow(widths[:last], missing-saved, func(c Column) bool { return !c.Right })
	widths[last] = min(widths[last], max(left+saved, minLast))
	return widths
}

// The minimum widths of the last column, and of those that become narrower.
const (
	minLast   = 10
	minNarrow = 12
)

// narrow makes some of the columns narrower, the widest first, and returns by how much in total.
func (t *Table) narrow(widths []int, missing int, may func(Column) bool) (saved int) {
	for saved < missing {
		widest := -1
		for i, w := range widths {
			if may(t.Columns[i]) && w > max(minNarrow, Width(t.Columns[i].Title)) && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
		saved++
	}
	return saved
}

// Width returns the number of terminal columns of a text.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	if r == '\u200d' || unicode.Is(unicode.M, r) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Cut truncates a text to a number of columns, with an ellipsis at its end or, with tail, at its start.
func Cut(s string, columns int, tail bool) string {
	if Width(s) <= columns {
		return s
	}
	runes := []rune(s)
	if tail {
		slices.Reverse(runes)
	}
	n, room := 0, columns-1
	for n < len(runes) && runeColumns(runes[n]) <= room {
		room -= runeColumns(runes[n])
		n++
	}
	runes = append(runes[:n], '…')
	if tail {
		slices.Reverse(runes)
	}
	return string(runes)
}

// Fit truncates a text to a number of columns, without an ellipsis.
func Fit(text string, columns int) string {
	for i, r := range text {
		if columns -= runeColumns(r); columns < 0 {
			return text[:i]
		}
	}
	return text
}
