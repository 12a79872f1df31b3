package textfile

import (
	"bytes"
	"strings"
)

// An Ending is a line terminator.
type Ending string

// The line endings this package knows. Other separators, such as form feed or
// U+2028, are ordinary characters.
const (
	LF   Ending = "\n"
	CRLF Ending = "\r\n"
	CR   Ending = "\r"
)

// String returns the ending's name.
func (e Ending) String() string {
	switch e {
	case CRLF:
		return "CRLF"
	case CR:
		return "CR"
	}
	return "LF"
}

// Endings counts the line endings of a text.
type Endings struct {
	LF, CRLF, CR int
	// First is the ending of the first line, LF when there is none.
	First Ending
	// Final is whether the last line has an ending. It is true for an empty
	// text.
	Final bool
}

// Dominant returns the ending that most lines have; among equals the one of
// the first line, if it is one of them.
func (e Endings) Dominant() Ending {
	count := map[Ending]int{LF: e.LF, CRLF: e.CRLF, CR: e.CR}
	best := e.First
	for _, ending := range []Ending{LF, CRLF, CR} {
		if count[ending] > count[best] {
			best = ending
		}
	}
	return best
}

// Endings counts the line endings of the file.
func (f *File) Endings() Endings {
	text := f.text
	ends := Endings{First: LF, Final: true}
	if n := len(text); n > 0 {
		ends.Final = text[n-1] == '\n' || text[n-1] == '\r'
	}
	ends.CRLF = bytes.Count(text, []byte("\r\n"))
	ends.LF = bytes.Count(text, []byte("\n")) - ends.CRLF
	ends.CR = bytes.Count(text, []byte("\r")) - ends.CRLF
	if i := bytes.IndexAny(text, "\r\n"); i >= 0 {
		ends.First = endingAt(text, i)
	}
	return ends
}

// endingAt returns the ending that starts at text[i], a CR or LF.
func endingAt(text []byte, i int) Ending {
	switch {
	case text[i] == '\n':
		return LF
	case i+1 < len(text) && text[i+1] == '\n':
		return CRLF
	}
	return CR
}

// A Line is one line of a text as offsets: its content is [Start, End), its
// ending [End, Next), empty only for a last line without one.
type Line struct {
	Start, End, Next int
}

// Lines returns the lines of text. An empty text has none, and a final line
// ending is not followed by another line.
func Lines(text []byte) []Line {
	lines := make([]Line, 0, bytes.Count(text, []byte("\n"))+1)
	cr := bytes.IndexByte(text, '\r') >= 0
	for start := 0; start < len(text); {
		end := lineEnd(text, start, cr)
		next := end
		if end < len(text) {
			next += len(endingAt(text, end))
		}
		lines = append(lines, Line{start, end, next})
		start = next
	}
	return lines
}

// lineEnd returns the offset of the next ending at or after start. cr is
// whether the text has carriage returns at all.
func lineEnd(text []byte, start int, cr bool) int {
	end := bytes.IndexByte(text[start:], '\n')
	if end < 0 {
		end = len(text)
	} else {
		end += start
	}
	if cr {
		if i := bytes.IndexByte(text[start:end], '\r'); i >= 0 {
			return start + i
		}
	}
	return end
}

// ToLF returns s with every line ending replaced by LF.
func ToLF(s string) string {
	if !strings.Contains(s, "\r") {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}
