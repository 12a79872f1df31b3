package cli

import (
	"bufio"
	"io"
	"os"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// column is one of a table.
type column struct {
	title  string
	right  bool   // it is aligned at its right
	most   int    // how wide it may be on a terminal; 0 is as wide as it is
	tail   bool   // if it has to be cut, its end stays
	colour string // of its cells on a terminal
}

// table is rows of cells, which are visible already. The last column takes what is left of the
// width of a terminal.
type table struct {
	columns []column
	rows    [][]string
}

// add takes in a row. A cell is one line, whatever it comes from.
func (t *table) add(cells ...string) {
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(visible(c), "\n", " ")
	}
	t.rows = append(t.rows, cells)
}

// print writes the table so that it fits a terminal, if the host has one there.
func (t *table) print(h Host) error {
	most := screenWidth(h.Stdout)
	colour := h.colours(h.Stdout)
	widths := t.widths(most)
	out := bufio.NewWriter(h.Stdout)
	titles := make([]string, len(t.columns))
	for i, c := range t.columns {
		titles[i] = c.title
	}
	for n, row := range slices.Concat([][]string{titles}, t.rows) {
		for i, c := range t.columns {
			cell := row[i]
			if most > 0 {
				cell = cut(cell, widths[i], c.tail)
			}
			pad := strings.Repeat(" ", max(widths[i]-columns(cell), 0))
			switch {
			case !colour:
			case n == 0:
				cell = paint(grey, cell)
			default:
				cell = paint(c.colour, cell)
			}
			switch {
			case c.right:
				cell = pad + cell
			case i < len(t.columns)-1:
				cell += pad
			}
			if i > 0 {
				cell = "  " + cell
			}
			out.WriteString(cell)
		}
		out.WriteByte('\n')
	}
	return out.Flush()
}

// widths are those of the columns, in a width altogether that 0 does not bound.
func (t *table) widths(most int) []int {
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		widths[i] = columns(c.title)
		for _, row := range t.rows {
			widths[i] = max(widths[i], columns(row[i]))
		}
		if most > 0 && c.most > 0 {
			widths[i] = min(widths[i], c.most)
		}
	}
	if most == 0 {
		return widths
	}
	const least = 16 // of the last one, or it says nothing
	last := len(widths) - 1
	left := most
	for _, w := range widths[:last] {
		left -= w + 2
	}
	widths[last] = min(widths[last], max(left, least))
	return widths
}

// screenWidth is the width of a terminal; 0 if the stream is none.
func screenWidth(stream io.Writer) int {
	f, ok := stream.(*os.File)
	if !ok {
		return 0
	}
	n, ok := terminalWidth(f)
	if ok && n == 0 {
		return 80
	}
	return n
}

// columns is how much room a text takes on a terminal.
func columns(s string) int {
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

// cut makes a text fit, with an ellipsis at its end or, if the tail is what tells, its beginning.
func cut(s string, most int, tail bool) string {
	if columns(s) <= most {
		return s
	}
	runes := []rune(s)
	if tail {
		slices.Reverse(runes)
	}
	n, room := 0, most-1
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
