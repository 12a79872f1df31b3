package show

import (
	"fmt"
	"strings"
	"unicode"
)

const (
	maxBlanks     = 32 // the longest run of blanks that is shown unchanged
	maxBlankLines = 3
)

// Rows returns untrusted text as rows of a terminal in which nothing can be hidden off screen. Long lines are wrapped at
// width; 0 means no limit. Long runs of blanks and of blank lines are replaced by their count.
func Rows(text string, width int) []string { return rows(text, width, false, false) }

// DiffRows returns a diff as [Rows] does.
func DiffRows(diff string, width int, colour bool) []string { return rows(diff, width, true, colour) }

func rows(text string, width int, diff, colour bool) (list []string) {
	blank, mark := 0, ""
	end := func() {
		switch {
		case blank > maxBlankLines:
			list = append(list, tint(fmt.Sprintf("%s[%d blank lines]", mark, blank), colour))
		default:
			for range blank {
				list = append(list, tint(mark, colour))
			}
		}
		blank = 0
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(Visible(text), "\n"), "\n") {
		sign := ""
		if diff && line != "" && strings.ContainsRune("+- ", rune(line[0])) {
			sign = line[:1]
		}
		if isBlank := strings.TrimLeftFunc(line[len(sign):], blankRune) == ""; isBlank {
			if blank > 0 && sign != mark {
				end()
			}
			blank, mark = blank+1, sign
			continue
		}
		end()
		for i, row := range wrap(sign+foldBlanks(line[len(sign):]), width) {
			if colour && i > 0 { // of the same line
				list = append(list, Paint(diffColour(line), row))
				continue
			}
			list = append(list, tint(row, colour))
		}
	}
	end()
	return list
}

func tint(row string, colour bool) string {
	if !colour {
		return row
	}
	return Paint(diffColour(row), row)
}

// blankRune reports whether a character looks like a space.
func blankRune(r rune) bool { return unicode.IsSpace(r) || r == '\u2800' }

// foldBlanks replaces long runs of blanks in a line by their count.
func foldBlanks(line string) string {
	var b strings.Builder
	for line != "" {
		rest := strings.TrimLeftFunc(line, blankRune)
		run := line[:len(line)-len(rest)]
		b.WriteString(countBlanks(run))
		end := strings.IndexFunc(rest, blankRune)
		if end < 0 {
			end = len(rest)
		}
		b.WriteString(rest[:end])
		line = rest[end:]
	}
	return b.String()
}

// countBlanks returns a run of blanks unchanged, or its length if it is long.
func countBlanks(run string) string {
	n := len([]rune(run))
	switch {
	case n <= maxBlanks:
		return run
	case strings.Trim(run, " ") == "":
		return fmt.Sprintf("[%d spaces]", n)
	case strings.Trim(run, "\t") == "":
		return fmt.Sprintf("[%d tabs]", n)
	}
	return fmt.Sprintf("[%d blanks]", n)
}

// wrap splits a line into rows of at most width columns, between words if possible; 0 means no limit. Rows after the
// first are indented.
func wrap(line string, width int) (list []string) {
	const tab, indent = 8, "    "
	start, columns := 0, 0
	lead := ""
	for i, r := range line {
		n := runeColumns(r)
		if r == '\t' {
			n = tab
		}
		if width > 0 && columns+n > width && i > start {
			at := i
			if space := strings.LastIndexByte(line[start:i], ' ') + 1; space > (i-start)/2 && r != ' ' {
				at = start + space
			}
			list = append(list, lead+line[start:at])
			start = at
			columns = len(indent) + tabWidth(line[at:i], tab)
			lead = indent
		}
		columns += n
	}
	return append(list, lead+line[start:])
}

// tabWidth returns the number of columns of a text in which each tab counts as so many.
func tabWidth(s string, tab int) int { return Width(s) + strings.Count(s, "\t")*(tab-1) }
