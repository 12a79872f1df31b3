package view

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/reins-agent/reins/internal/show"
)

// Limits for stored tool call text.
const (
	headLines, tailLines = 20, 60
	headBytes, tailBytes = 4 << 10, 12 << 10
	liveLines, liveBytes = 10, 4 << 10
	lineBytes            = 1 << 10
	diffLines, diffBytes = 1000, 64 << 10
	growingBytes         = 8 << 20 // text that is being written; answers are not longer by default
	maxWritten           = 1000    // calls of one answer
)

// Output is folded output: the first and the last lines, and how many lines were left out between them.
type Output struct {
	Head    string `json:"head,omitempty"`
	Omitted int    `json:"omitted,omitempty"`
	Tail    string `json:"tail,omitempty"`
}

// Lines returns the lines in the head and in the tail.
func (o Output) Lines() (head, tail []string) { return lines(o.Head), lines(o.Tail) }

func lines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

// fold folds a text. The result does not keep the text in memory.
func fold(text string) Output {
	text = strings.TrimRight(valid(text), "\n")
	if text == "" {
		return Output{}
	}
	total := strings.Count(text, "\n") + 1
	head, n := take(text, headLines, headBytes)
	if n == total {
		return Output{Tail: head}
	}
	rest := text
	for range n {
		_, rest, _ = strings.Cut(rest, "\n")
	}
	tail, m := takeLast(rest, tailLines, tailBytes)
	return Output{Head: head, Omitted: total - n - m, Tail: tail}
}

// take returns the first lines of a text and their number, at least one.
func take(text string, maxLines, maxBytes int) (string, int) {
	var list []string
	size := 0
	for line := range strings.SplitSeq(text, "\n") {
		line = cut(settled(line))
		if len(list) == maxLines || len(list) > 0 && size+len(line) > maxBytes {
			break
		}
		list = append(list, line)
		size += len(line) + 1
	}
	return strings.Clone(strings.Join(list, "\n")), len(list)
}

// takeLast returns the last lines of a text and their number, at least one.
func takeLast(text string, maxLines, maxBytes int) (string, int) {
	var list []string
	size := 0
	for more := true; more && len(list) < maxLines; {
		i := strings.LastIndexByte(text, '\n')
		line := cut(settled(text[i+1:]))
		if len(list) > 0 && size+len(line) > maxBytes {
			break
		}
		list = append(list, line)
		size += len(line) + 1
		if more = i >= 0; more {
			text = text[:i]
		}
	}
	n := len(list)
	for i := range n / 2 {
		list[i], list[n-1-i] = list[n-1-i], list[i]
	}
	return strings.Clone(strings.Join(list, "\n")), n
}

// settled returns a line as a terminal shows it after a program has overwritten parts.
func settled(line string) string {
	line = strings.TrimRight(line, "\r")
	return line[strings.LastIndexByte(line, '\r')+1:]
}

// cut truncates a long line.
func cut(line string) string {
	if len(line) <= lineBytes {
		return line
	}
	n := lineBytes
	for n > 0 && !utf8.RuneStart(line[n]) {
		n--
	}
	return line[:n] + "…"
}

// valid returns a text as JSON would return it.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.Map(func(r rune) rune { return r }, s)
}

// foldDiff returns a diff's first lines.
func foldDiff(diff string) string {
	diff = strings.TrimRight(valid(diff), "\n")
	if len(diff) <= diffBytes && strings.Count(diff, "\n") < diffLines {
		return diff + "\n"
	}
	head, n := take(diff, diffLines, diffBytes)
	return head + "\n… " + show.Plural(strings.Count(diff, "\n")+1-n, "more line") + "\n"
}

// write adds output to the last part of it.
func (c *call) write(text string) {
	if over := len(text) - 2*liveBytes; over > 0 {
		c.Lines += bytes.Count(c.Out, newline) + strings.Count(text[:over], "\n")
		c.Out, text = c.Out[:0], text[over:]
	}
	if c.Out = append(c.Out, text...); len(c.Out) > 2*liveBytes {
		over := len(c.Out) - liveBytes
		c.Lines += bytes.Count(c.Out[:over], newline)
		c.Out = append(c.Out[:0], c.Out[over:]...)
	}
}

var newline = []byte{'\n'}

// output returns the last output lines so far.
func (c *call) output() Output {
	text := strings.TrimRight(valid(string(c.Out)), "\n")
	if text == "" {
		return Output{}
	}
	tail, n := takeLast(text, liveLines, liveBytes)
	return Output{Omitted: c.Lines + strings.Count(text, "\n") + 1 - n, Tail: tail}
}

// growing is a text that is being written. Reading it does not copy it.
type growing struct{ b *strings.Builder }

// Len returns the number of bytes.
func (g *growing) Len() int {
	if g.b == nil {
		return 0
	}
	return g.b.Len()
}

func (g *growing) String() string {
	if g.b == nil {
		return ""
	}
	return g.b.String()
}

// IsZero reports whether nothing was written.
func (g growing) IsZero() bool { return g.Len() == 0 }

// write adds text. If a text is far too long, only its end is kept.
func (g *growing) write(text string) {
	if text == "" {
		return
	}
	if g.b == nil {
		g.b = new(strings.Builder)
	}
	if g.b.Len()+len(text) > growingBytes {
		all := g.b.String() + text
		g.b = new(strings.Builder)
		text = "…" + all[len(all)-min(len(all), growingBytes/2):]
	}
	g.b.WriteString(text)
}

// MarshalText returns the text.
func (g growing) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText sets the text.
func (g *growing) UnmarshalText(text []byte) error {
	*g = growing{}
	g.write(string(text))
	return nil
}

func oneLine(s string) string { return show.Summary(s) }

// lastLine returns an output's last line, where commands tend to report their result.
func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}
