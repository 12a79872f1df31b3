package dialog

import (
	"fmt"
	"strings"

	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/render"
	"github.com/reins-agent/reins/internal/tui/text"
)

// Runs of blanks and of blank lines that are longer could move something off the screen. They are shown as a count.
const (
	maxBlanks     = 32
	maxBlankLines = 3
)

// shortBody is how many rows are shown before the user asks for the whole.
const shortBody = 16

// body is what is decided: commands, accesses and a diff.
type body struct {
	rows  []ask.Row
	diff  string
	odd   bool // there are characters that cannot be seen
	whole bool

	top, page, size int // at the last call of view
	width           int
	cache           []text.Line
}

func newBody(q ask.Question) body {
	b := body{rows: q.Rows, diff: q.Diff}
	if q.URL != "" {
		b.rows = append([]ask.Row{{Kind: ask.RowText, Text: q.URL}}, b.rows...)
	}
	for _, r := range b.rows {
		for line := range strings.SplitSeq(r.Text, "\n") {
			line = strings.ReplaceAll(line, "\t", " ")
			b.odd = b.odd || text.Clean(line) != line
		}
	}
	return b
}

func eventQuestion(title string) event.Question { return event.Question{Question: title} }

func countOf(n, all int) string { return fmt.Sprintf("(%d of %d)", n, all) }

// scroll moves by pages.
func (b *body) scroll(pages int) {
	b.top = max(min(b.top+pages*max(b.page-1, 1), b.size-b.page), 0)
}

// view returns at most the given number of lines, and says how many there are above and below.
func (b *body) view(d *Dialog, width, rows int) []text.Line {
	all := b.all(d, width)
	if !b.whole {
		rows = min(rows, shortBody)
	}
	b.size = len(all)
	if rows <= 0 {
		b.page = 1
		return nil
	}
	if len(all) <= rows {
		b.top, b.page = 0, rows
		return all
	}
	b.page = max(rows-1, 1)
	b.top = max(min(b.top, len(all)-b.page), 0)
	shown := all[b.top : b.top+b.page]
	if rows == 1 {
		shown = nil
	}
	more := fmt.Sprintf("… lines %d to %d of %d (%s, %s; %s: more)", b.top+1, b.top+b.page, len(all),
		d.keys.Key(keys.QuestionPageUp), d.keys.Key(keys.QuestionPageDown), d.keys.Key(keys.QuestionWhole))
	line := d.opts.Rule.Cut(text.Line{{Text: more, Style: text.Style{Role: text.Warning}}}, width)
	return append(append([]text.Line(nil), shown...), line)
}

// all returns all lines.
func (b *body) all(d *Dialog, width int) []text.Line {
	if b.width == width {
		return b.cache
	}
	var lines []text.Line
	for _, r := range b.rows {
		lines = append(lines, b.row(d, r, width)...)
	}
	if b.odd {
		lines = append(lines, d.wrap("Some characters cannot be seen. They are shown as ␛, ␍ or �.", width, text.Failure)...)
	}
	layout := render.Layout{Width: width, Rule: d.opts.Rule, Expanded: true}
	if b.diff != "" {
		for _, block := range render.Diff(b.diff, layout) {
			lines = append(lines, block.Part.Lines(layout)...)
		}
	}
	b.cache, b.width = lines, width
	return lines
}

// row lays out a row. Nothing of it is left out.
func (b *body) row(d *Dialog, r ask.Row, width int) (lines []text.Line) {
	label, role := "", text.Plain
	switch r.Kind {
	case ask.RowCommand:
		label, role = "$ ", text.Code
	case ask.RowDir:
		label, role = "in ", text.Dim
	case ask.RowPart, ask.RowWhy:
		label, role = "! ", text.Warning
	case ask.RowNote:
		role = text.Warning
	case ask.RowArguments:
		role = text.Code
	}
	inner := max(width-len(label), 1)
	for i, s := range VisibleLines(r.Text) {
		mark := strings.Repeat(" ", len(label))
		if i == 0 {
			mark = label
		}
		for _, l := range d.opts.Rule.Fold(text.Line{{Text: s, Style: text.Style{Role: role}}}, inner) {
			if label != "" {
				l = append(text.Line{{Text: mark, Style: text.Style{Role: text.Dim}}}, l...)
			}
			lines = append(lines, l)
			mark = strings.Repeat(" ", len(label))
		}
	}
	return lines
}

// VisibleLines splits untrusted text into lines, with invisible characters made visible.
func VisibleLines(s string) (lines []string) {
	empty := 0
	end := func() {
		if empty > maxBlankLines {
			lines = append(lines, fmt.Sprintf("[%d blank lines]", empty))
		} else {
			lines = append(lines, make([]string, empty)...)
		}
		empty = 0
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(s, "\n"), "\n") {
		line = text.Clean(line)
		if strings.TrimSpace(line) == "" {
			empty++
			continue
		}
		end()
		lines = append(lines, countBlanks(line))
	}
	end()
	return lines
}

// countBlanks replaces long runs of blanks by their number.
func countBlanks(line string) string {
	if !strings.Contains(line, strings.Repeat(" ", maxBlanks+1)) {
		return line
	}
	var out strings.Builder
	for line != "" {
		rest := strings.TrimLeft(line, " ")
		if n := len(line) - len(rest); n > maxBlanks {
			fmt.Fprintf(&out, " [%d blanks] ", n)
		} else {
			out.WriteString(line[:n])
		}
		at := strings.IndexByte(rest, ' ')
		if at < 0 {
			at = len(rest)
		}
		out.WriteString(rest[:at])
		line = rest[at:]
	}
	return out.String()
}
