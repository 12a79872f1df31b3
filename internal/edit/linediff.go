package edit

import (
	"bytes"
	"strings"

	"github.com/reins-agent/reins/internal/textfile"
)

// A lineDiff is the change from the old to the new text as one run of lines between common lines.
type lineDiff struct {
	old            []string // all lines in the old text
	prefix, suffix int      // common lines at the start and at the end
	insert         []string // new lines between them
}

func diffLines(old, new string) lineDiff {
	d := lineDiff{old: strings.Split(old, "\n")}
	lines := strings.Split(new, "\n")
	shorter := min(len(d.old), len(lines))
	for d.prefix < shorter && d.old[d.prefix] == lines[d.prefix] {
		d.prefix++
	}
	for d.suffix < shorter-d.prefix && d.old[len(d.old)-1-d.suffix] == lines[len(lines)-1-d.suffix] {
		d.suffix++
	}
	d.insert = lines[d.prefix : len(lines)-d.suffix]
	return d
}

// edit returns which part [from, to) of a piece of text to replace, and the replacement. The piece has as many lines as
// the old text.
func (d lineDiff) edit(piece []byte) (from, to int, insert string) {
	removed := len(d.old) - d.prefix - d.suffix
	insert = strings.Join(d.insert, "\n")
	to = len(piece)
	for range d.suffix {
		to = bytes.LastIndexByte(piece[:to], '\n')
	}
	if removed == 0 && d.suffix == 0 {
		// After the last line, which may have no line break.
		if len(d.insert) > 0 {
			insert = "\n" + insert
		}
		return to, to, insert
	}
	for range d.prefix {
		from += bytes.IndexByte(piece[from:], '\n') + 1
	}
	switch {
	case removed == 0:
		if len(d.insert) > 0 {
			insert += "\n"
		}
		return from, from, insert
	case len(d.insert) > 0:
		return from, to, insert
	case d.suffix > 0:
		return from, to + 1, ""
	default:
		return from - 1, to, ""
	}
}

// withEndings gives inserted text the line endings from the text it replaces, one by one, and then the file's dominant
// ending.
func withEndings(insert string, replaced []byte, endings textfile.Endings) string {
	if endings.CR == 0 && endings.CRLF == 0 || !strings.Contains(insert, "\n") {
		return insert
	}
	dominant := string(endings.Dominant())
	if endings.LF == 0 && (endings.CR == 0 || endings.CRLF == 0) {
		return strings.ReplaceAll(insert, "\n", dominant)
	}
	lines := textfile.Lines(replaced)
	var out []byte
	for i, line := range strings.Split(insert, "\n") {
		if i > 0 {
			ending := dominant
			if i <= len(lines) && lines[i-1].End < lines[i-1].Next {
				ending = string(replaced[lines[i-1].End:lines[i-1].Next])
			}
			if ending == "\n" && bytes.HasSuffix(out, []byte("\r")) {
				// After a CR, an LF would not be a separate line break.
				ending = "\r\n"
			}
			out = append(out, ending...)
		}
		out = append(out, line...)
	}
	return string(out)
}
