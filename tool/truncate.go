package tool

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Mode selects the part that truncation keeps.
type Mode string

// Modes: beginning and end, beginning only, or end only.
const (
	HeadTail Mode = "head_tail"
	Head     Mode = "head"
	Tail     Mode = "tail"
)

// Limit bounds the output that a model sees: first characters, then the remaining lines. Zero means the default, a
// negative number means no limit.
type Limit struct {
	Chars int  `json:"chars,omitempty"`
	Lines int  `json:"lines,omitempty"`
	Mode  Mode `json:"mode,omitempty"`
}

// DefaultLimit returns the limit for tools that declare none.
func DefaultLimit() Limit { return Limit{30_000, -1, HeadTail} }

// or fills zero fields from m.
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

// Truncate returns an output as a model sees it. It reads the output once and uses no more memory than the limit
// requires. Characters are Unicode code points; a byte that is not UTF-8 counts as one and is shown as U+FFFD.
func Truncate(o Output, l Limit) (string, error) {
	if o == nil {
		return "", nil
	}
	text, err := truncateChars(o, l.Chars, l.Mode)
	if err == nil && l.Lines >= 0 {
		text = truncateLines(text, l.Lines, l.Mode)
	}
	return text, err
}

func truncateChars(o Output, limit int, mode Mode) (string, error) {
	if limit < 0 {
		r := o.Open()
		defer r.Close()
		b, err := io.ReadAll(r)
		return strings.ToValidUTF8(string(b), "\uFFFD"), err
	}
	if t, ok := o.(Text); ok && len(t) <= limit && utf8.ValidString(string(t)) {
		return string(t), nil
	}
	head, tail := limit/2, limit-limit/2
	switch mode {
	case Head:
		head, tail = limit, 0
	case Tail:
		head, tail = 0, limit
	}
	x, err := ReadExcerpt(o, head, tail)
	switch {
	case err != nil || x.Chars == 0:
		return x.Head + x.Tail, err
	case mode == Head:
		return x.Head + fmt.Sprintf("\n\n[WARNING: Tool output was truncated. Last %d characters were removed. "+
			"The full output is available in the event stream.]", x.Chars), nil
	case mode == Tail:
		return fmt.Sprintf("[WARNING: Tool output was truncated. First %d characters were removed. "+
			"The full output is available in the event stream.]\n\n", x.Chars) + x.Tail, nil
	}
	return x.Head + fmt.Sprintf("\n\n[WARNING: Tool output was truncated. %d characters were removed from the middle. "+
		"The full output is available in the event stream. If you need to see specific parts, "+
		"re-run the tool with more targeted parameters.]\n\n", x.Chars) + x.Tail, nil
}

// Excerpt is the beginning and the end of an output. Chars and Lines count what is missing in between.
type Excerpt struct {
	Head, Tail   string
	Chars, Lines int
}

// ReadExcerpt reads an output once and returns its first head and last tail characters.
func ReadExcerpt(o Output, head, tail int) (Excerpt, error) {
	if o == nil {
		return Excerpt{}, nil
	}
	w := window{head: head, tail: tail}
	r := o.Open()
	defer r.Close()
	// Hide the reader's WriteTo, which would copy a text in one piece.
	if _, err := io.Copy(&w, struct{ io.Reader }{r}); err != nil {
		return Excerpt{}, err
	}
	w.add(w.partial)
	return w.excerpt(), nil
}

// window keeps the first head and at least the last tail+1 characters written to it.
type window struct {
	head, tail int
	start      strings.Builder
	started    int    // characters in start
	end        []byte // valid UTF-8
	total      int    // characters written
	breaks     int    // line breaks written
	partial    []byte // incomplete character at the end of the last write
}

// Write never fails.
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

func (w *window) add(p []byte) {
	if !utf8.Valid(p) {
		p = []byte(string([]rune(string(p)))) // one U+FFFD per invalid byte
	}
	w.total += utf8.RuneCount(p)
	w.breaks += bytes.Count(p, []byte("\n"))
	if w.started < w.head {
		n := 0
		for ; w.started < w.head && n < len(p); w.started++ {
			_, size := utf8.DecodeRune(p[n:])
			n += size
		}
		w.start.Write(p[:n])
		p = p[n:]
	}
	// Only the end of a large piece is needed.
	keep := (w.tail + 1) * utf8.UTFMax
	if len(p) > keep {
		p = p[len(p)-keep:]
		for len(p) > 0 && !utf8.RuneStart(p[0]) {
			p = p[1:]
		}
		w.end = w.end[:0]
	}
	w.end = append(w.end, p...)
	if len(w.end) > 4*keep {
		w.end = append(w.end[:0], w.end[w.last(w.tail+1):]...)
	}
}

// last returns where the last n characters of end start.
func (w *window) last(n int) int {
	i := len(w.end)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRune(w.end[:i])
		i -= size
	}
	return i
}

func (w *window) excerpt() Excerpt {
	i := w.last(w.tail)
	x := Excerpt{Head: w.start.String(), Tail: string(w.end[i:]), Chars: max(0, w.total-w.head-w.tail)}
	if x.Chars > 0 {
		x.Lines = w.breaks - strings.Count(x.Head, "\n") - strings.Count(x.Tail, "\n")
		if w.end[i-1] != '\n' {
			x.Lines++
		}
	}
	return x
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

// lineIndex returns where line n in s starts, counted from 0.
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
