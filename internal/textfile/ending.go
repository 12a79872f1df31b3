package textfile

import (
	"bytes"
	"strings"
)

// An Ending is a line terminator.
type Ending string

// The line endings. Other separators, such as form feed or U+2028, are ordinary characters.
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

// Endings counts a text's line endings.
type Endings struct {
	LF, CRLF, CR int
	First        Ending // first line's ending; LF if it has none
}

// Dominant returns the most common ending. The first line's ending breaks a tie.
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

// Endings counts the file's line endings.
func (f *File) Endings() Endings {
	text := f.text
	ends := Endings{First: LF}
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

// A Line is a line of text as offsets. Its content is [Start, End). Its ending is [End, Next), empty only for a last
// line without one.
type Line struct {
	Start, End, Next int
}

// Lines returns the lines of text. A final line ending does not start another line.
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

// lineEnd returns the offset of the next ending at or after start. cr reports whether the text has any carriage
// returns.
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

// ToLF replaces every line ending with LF.
func ToLF(s string) string {
	if !strings.Contains(s, "\r") {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}
