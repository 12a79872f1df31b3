package tool

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Mode is what truncation keeps.
type Mode string

// The modes: the beginning and the end, the beginning only, or the end only.
const (
	HeadTail Mode = "head_tail"
	Head     Mode = "head"
	Tail     Mode = "tail"
)

// Limit bounds what a model sees of an output. Characters are counted first, lines of what is left
// of them second. A negative number is no limit; zero stands for the default.
type Limit struct {
	Chars int  `json:"chars,omitempty"`
	Lines int  `json:"lines,omitempty"`
	Mode  Mode `json:"mode,omitempty"`
}

// DefaultLimit is the limit for tools that declare none.
func DefaultLimit() Limit { return Limit{30_000, -1, HeadTail} }

// or fills the fields that are zero from another limit.
func (l Limit) or(m Limit) Limit {
	if l.Chars == 0 {
		l.Chars = m.Chars
	}
	if l.Lines == 0 {
		l.Lines = m.Lines
	}
	if l.Mode == "" {
		l.Mode = m.Mode
	}
	return l
}

// Truncate is what a model sees of an output. It reads the output once and holds no more of it in
// memory than the limit asks for. Characters are Unicode code points; bytes that are not UTF-8
// count as one each and are shown as U+FFFD.
func Truncate(o Output, l Limit) (string, error) {
	if o == nil {
		return "", nil
	}
	var text string
	if l.Chars < 0 {
		r := o.Open()
		defer r.Close()
		b, err := io.ReadAll(r)
		if err != nil {
			return "", err
		}
		text = strings.ToValidUTF8(string(b), "\uFFFD")
	} else {
		var err error
		if text, err = truncateChars(o, l.Chars, l.Mode); err != nil {
			return "", err
		}
	}
	if l.Lines >= 0 {
		text = truncateLines(text, l.Lines, l.Mode)
	}
	return text, nil
}

func truncateChars(o Output, limit int, mode Mode) (string, error) {
	if t, ok := o.(Text); ok && len(t) <= limit && utf8.ValidString(string(t)) {
		return string(t), nil
	}
	head := limit / 2
	switch mode {
	case Head:
		head = limit
	case Tail:
		head = 0
	}
	w := window{head: head, limit: limit}
	r := o.Open()
	defer r.Close()
	// Hiding the reader's other methods keeps a text from being handed over in one piece.
	if _, err := io.Copy(&w, struct{ io.Reader }{r}); err != nil {
		return "", err
	}
	w.flush()
	if w.total <= limit {
		return w.all(), nil
	}
	removed := w.total - limit
	switch mode {
	case Head:
		return w.start.String() + fmt.Sprintf("\n\n[WARNING: Tool output was truncated. Last %d characters were removed. "+
			"The full output is available in the event stream.]", removed), nil
	case Tail:
		return fmt.Sprintf("[WARNING: Tool output was truncated. First %d characters were removed. "+
			"The full output is available in the event stream.]\n\n", removed) + w.tail(limit), nil
	}
	return w.start.String() + fmt.Sprintf("\n\n[WARNING: Tool output was truncated. %d characters were removed from the middle. "+
		"The full output is available in the event stream. If you need to see specific parts, "+
		"re-run the tool with more targeted parameters.]\n\n", removed) + w.tail(head), nil
}

// window keeps the first head characters of what is written to it, and the last ones: at least
// limit characters of both together.
type window struct {
	head, limit int
	start       strings.Builder
	started     int    // characters in start
	end         []byte // valid UTF-8, at least the last limit characters
	total       int    // characters written
	partial     []byte // the beginning of a character whose rest is still to come
}

// Write takes bytes in; it never fails.
func (w *window) Write(p []byte) (int, error) {
	n := len(p)
	if len(w.partial) > 0 {
		p = append(w.partial, p...)
		w.partial = nil
	}
	cut := len(p)
	for back := 1; back <= min(utf8.UTFMax-1, len(p)); back++ {
		if utf8.RuneStart(p[len(p)-back]) {
			if !utf8.FullRune(p[len(p)-back:]) {
				cut = len(p) - back
			}
			break
		}
	}
	w.partial = append(w.partial, p[cut:]...)
	w.add(p[:cut])
	return n, nil
}

// flush takes in a character that never became whole.
func (w *window) flush() {
	w.add(w.partial)
	w.partial = nil
}

func (w *window) add(p []byte) {
	if !utf8.Valid(p) {
		p = replaceInvalid(p)
	}
	if w.started < w.head {
		n := runesEnd(p, w.head-w.started)
		count := utf8.RuneCount(p[:n])
		w.start.Write(p[:n])
		w.started += count
		w.total += count
		p = p[n:]
	}
	w.total += utf8.RuneCount(p)
	// Of a piece that is longer than all that can be kept, only the end matters; characters have
	// at most four bytes.
	if most := w.limit * utf8.UTFMax; len(p) > most {
		p = p[len(p)-most:]
		for len(p) > 0 && !utf8.RuneStart(p[0]) {
			p = p[1:]
		}
		w.end = w.end[:0]
	}
	w.end = append(w.end, p...)
	if len(w.end) > 4*w.limit*utf8.UTFMax {
		keep := w.tail(w.limit)
		w.end = append(w.end[:0], keep...)
	}
}

// all is everything that was written, if it was not more than the limit.
func (w *window) all() string { return w.start.String() + string(w.end) }

// tail is the last n characters.
func (w *window) tail(n int) string {
	i := len(w.end)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRune(w.end[:i])
		i -= size
	}
	return string(w.end[i:])
}

// runesEnd is the length in bytes of the first n characters of p.
func runesEnd(p []byte, n int) int {
	i := 0
	for ; n > 0 && i < len(p); n-- {
		_, size := utf8.DecodeRune(p[i:])
		i += size
	}
	return i
}

// replaceInvalid writes each byte that is not UTF-8 as U+FFFD.
func replaceInvalid(p []byte) []byte {
	out := make([]byte, 0, len(p)+16)
	for len(p) > 0 {
		r, size := utf8.DecodeRune(p)
		out = utf8.AppendRune(out, r)
		p = p[size:]
	}
	return out
}

// truncateLines keeps the first and the last lines, or with Head only the first.
func truncateLines(s string, limit int, mode Mode) string {
	lines := strings.Count(s, "\n") + 1
	if lines <= limit {
		return s
	}
	head := limit / 2
	if mode == Head {
		head = limit
	}
	tail := limit - head
	omitted := lines - head - tail
	start := lineIndex(s, head)
	end := lineIndex(s, lines-tail)
	return s[:max(start-1, 0)] + fmt.Sprintf("\n[... %d lines omitted ...]\n", omitted) + s[end:]
}

// lineIndex is where line n of s starts, counted from 0.
func lineIndex(s string, n int) int {
	i := 0
	for ; n > 0; n-- {
		j := strings.IndexByte(s[i:], '\n')
		if j < 0 {
			return len(s)
		}
		i += j + 1
	}
	return i
}
