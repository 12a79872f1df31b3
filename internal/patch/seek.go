package patch

import (
	"bytes"
	"unicode"

	"github.com/reins-agent/reins/internal/textfile"
)

// A match is a comparison of lines.
type match int

// The comparisons, in the order they are tried.
const (
	exact match = iota
	trailingSpace
	whitespace
	lookalike
)

// normal returns the part of a line that is compared.
func (m match) normal(line []byte) []byte {
	switch m {
	case trailingSpace:
		return bytes.TrimRightFunc(line, unicode.IsSpace)
	case whitespace:
		return bytes.TrimSpace(line)
	case lookalike:
		return bytes.TrimSpace(textfile.Fold(line))
	}
	return line
}

// ignored describes the differences that the comparison ignores.
func (m match) ignored() string {
	switch m {
	case trailingSpace:
		return "white space at the end of lines"
	case whitespace:
		return "white space around lines"
	case lookalike:
		return "differences between look-alike characters (quotes, dashes, spaces)"
	}
	return ""
}

// source is a file's text with its line positions.
type source struct {
	text  []byte
	lines []textfile.Line
}

func (s source) line(i int) []byte {
	return s.text[s.lines[i].Start:s.lines[i].End]
}

// seek returns the first place of the wanted lines at or after a line, by the strictest comparison that finds one.
func (s source) seek(wanted []string, from int) (int, match, bool) {
	for m := exact; m <= lookalike; m++ {
		if at, ok := s.find(m.pattern(wanted), m, from); ok {
			return at, m, true
		}
	}
	return 0, 0, false
}

// seekEnd is like seek for the file's last lines.
func (s source) seekEnd(wanted []string, from int) (int, match, bool) {
	start := len(s.lines) - len(wanted)
	if start < from {
		return 0, 0, false
	}
	return s.seek(wanted, start)
}

// pattern returns the parts of the wanted lines that are compared.
func (m match) pattern(wanted []string) [][]byte {
	lines := make([][]byte, len(wanted))
	for i, line := range wanted {
		lines[i] = m.normal([]byte(line))
	}
	return lines
}

// find returns the first occurrence of the pattern at or after a line. It uses the Knuth-Morris-Pratt algorithm over
// lines, so files with repeated lines are not slower.
func (s source) find(pattern [][]byte, m match, from int) (int, bool) {
	back := borders(pattern)
	matched := 0
	for i := from; i < len(s.lines); i++ {
		line := m.normal(s.line(i))
		for matched > 0 && !bytes.Equal(line, pattern[matched]) {
			matched = back[matched-1]
		}
		if bytes.Equal(line, pattern[matched]) {
			matched++
		}
		if matched == len(pattern) {
			return i - matched + 1, true
		}
	}
	return 0, false
}

// borders returns, for each prefix of the pattern, the length of its longest proper prefix that is also its suffix.
func borders(pattern [][]byte) []int {
	out := make([]int, len(pattern))
	k := 0
	for i := 1; i < len(pattern); i++ {
		for k > 0 && !bytes.Equal(pattern[i], pattern[k]) {
			k = out[k-1]
		}
		if bytes.Equal(pattern[i], pattern[k]) {
			k++
		}
		out[i] = k
	}
	return out
}

// maxPlaces is the maximum number of places listed for a hunk that matches several.
const maxPlaces = 10

// places returns the lines, from 0, where the wanted lines occur, at most maxPlaces.
func (s source) places(wanted []string, m match) []int {
	var found []int
	pattern := m.pattern(wanted)
	for from := 0; len(found) < maxPlaces; {
		at, ok := s.find(pattern, m, from)
		if !ok {
			break
		}
		found = append(found, at)
		from = at + 1
	}
	return found
}
