package patch

import (
	"bytes"
	"unicode"

	"github.com/reins-agent/reins/coding/textfile"
)

// A Match says how loosely lines were compared when a hunk found its place.
// The values are stable.
type Match string

// The comparisons, in the order in which they are tried.
const (
	Exact         Match = "exact"
	TrailingSpace Match = "trailing_space"
	Whitespace    Match = "whitespace"
	Lookalike     Match = "lookalike"
)

func comparisons() []Match { return []Match{Exact, TrailingSpace, Whitespace, Lookalike} }

// normal returns the form of a line that the comparison looks at.
func (m Match) normal(line []byte) []byte {
	switch m {
	case TrailingSpace:
		return bytes.TrimRightFunc(line, unicode.IsSpace)
	case Whitespace:
		return bytes.TrimSpace(line)
	case Lookalike:
		return bytes.TrimSpace(textfile.Fold(line))
	}
	return line
}

// source is the text of a file by lines.
type source struct {
	text  []byte
	lines []textfile.Line
}

func (s source) line(i int) []byte {
	return s.text[s.lines[i].Start:s.lines[i].End]
}

// seek returns the first line, not before from, where the wanted lines are, by
// the strictest comparison that finds them.
func (s source) seek(wanted []string, from int) (int, Match, bool) {
	for _, m := range comparisons() {
		if at, ok := s.find(m.pattern(wanted), m, from); ok {
			return at, m, true
		}
	}
	return 0, "", false
}

// seekEnd is seek for lines that must be the last ones of the file.
func (s source) seekEnd(wanted []string, from int) (int, Match, bool) {
	start := len(s.lines) - len(wanted)
	if start < from {
		return 0, "", false
	}
	return s.seek(wanted, start)
}

// pattern returns the wanted lines in the form of the comparison.
func (m Match) pattern(wanted []string) [][]byte {
	lines := make([][]byte, len(wanted))
	for i, line := range wanted {
		lines[i] = m.normal([]byte(line))
	}
	return lines
}

// find returns the first occurrence of the pattern not before from. It is the
// algorithm of Knuth, Morris and Pratt over lines, so that files of repeated
// lines cost no more than others.
func (s source) find(pattern [][]byte, m Match, from int) (int, bool) {
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

// borders returns, for each prefix of the pattern, the length of its longest
// proper prefix that is also its suffix.
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

// maxPlaces bounds the places listed for a hunk that fits several.
const maxPlaces = 10

// places returns the lines, from 0, of the first occurrences of the wanted
// lines, at most maxPlaces, by one comparison.
func (s source) places(wanted []string, m Match) []int {
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
