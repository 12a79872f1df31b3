package edit

import "bytes"

// isBlank reports whether b is white space within a line.
func isBlank(b byte) bool { return b == ' ' || b == '\t' || b == '\v' || b == '\f' }

func isBlankRune(r rune) bool { return r == '\n' || r < 0x80 && isBlank(byte(r)) }

// collapse removes the white space at both ends of each line and replaces each run inside it with one
// space. It adds a line break at both ends.
func collapse(text []byte) []byte {
	out := make([]byte, 0, len(text)+2)
	out = append(out, '\n')
	pending := false // white space was seen but not written yet
	for _, b := range text {
		switch {
		case isBlank(b):
			pending = true
			continue
		case b != '\n' && pending && out[len(out)-1] != '\n':
			out = append(out, ' ')
		}
		pending = false
		out = append(out, b)
	}
	return append(out, '\n')
}

// lines returns the places in the view whose lines equal the lines in old, ignoring white space. text is the view, or a
// variant with the same lines. A place ends before the line break unless old ends with one.
func (r *replacer) lines(text, old []byte) []span {
	part := collapse(bytes.TrimSuffix(old, []byte("\n")))
	if len(bytes.TrimSpace(part)) == 0 {
		return nil
	}
	whole := collapse(bytes.TrimSuffix(text, []byte("\n")))
	count := bytes.Count(part, []byte("\n")) - 1
	withBreak := bytes.HasSuffix(old, []byte("\n"))

	var found []span
	walk := lineWalk{text: r.view.Text}
	line, at := 0, 0 // whole[at] is the break before the line
	for from := 0; ; {
		i := bytes.Index(whole[from:], part)
		if i < 0 {
			return found
		}
		match := from + i
		line += bytes.Count(whole[at:match], []byte("\n"))
		at = match
		found = append(found, walk.span(line, count, withBreak))
		if r.all || len(found) > 1 {
			// The last line break may start the next match.
			from = match + len(part) - 1
		} else {
			from = match + 1
		}
	}
}

// A lineWalk finds lines by number, in ascending order.
type lineWalk struct {
	text     []byte
	line, at int
}

// span returns the place of count lines from line on, counted from 0.
func (w *lineWalk) span(line, count int, withBreak bool) span {
	for w.line < line {
		w.at += bytes.IndexByte(w.text[w.at:], '\n') + 1
		w.line++
	}
	end := w.at
	for i := range count {
		length := bytes.IndexByte(w.text[end:], '\n')
		if length < 0 {
			return span{w.at, len(w.text)}
		}
		end += length
		if i < count-1 || withBreak {
			end++
		}
	}
	return span{w.at, end}
}
