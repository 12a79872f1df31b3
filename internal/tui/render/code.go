package render

import (
	"strings"

	"github.com/reins-agent/reins/internal/tui/text"
)

const codeIndent = "  "

// code is a code block, or a piece of a long one.
type code struct {
	prefix
	lang  string
	lines []string
	state state // highlighter state before the first line
}

func (c *code) Rows(o Layout) int {
	size := 0
	for _, l := range c.lines {
		size += len(l)
	}
	return len(c.lines) + size/(4*c.width(o))
}

func (c *code) Lines(o Layout) []text.Line {
	var out []text.Line
	h := highlighter{lang: languageOf(c.lang), state: c.state}
	width := c.width(o) - len(codeIndent)
	if width < 8 {
		width = c.width(o)
	}
	indent := text.Blank(c.width(o) - width)
	for _, s := range c.lines {
		for _, l := range o.Rule.Fold(h.line(text.Clean(s)), max(width, 1)) {
			if indent != "" {
				l = append(text.Line{{Text: indent}}, l...)
			}
			out = append(out, l)
		}
	}
	if out == nil {
		out = []text.Line{{}}
	}
	return c.put(o, out)
}

// after returns the highlighter state after the last line.
func (c *code) after() state {
	h := highlighter{lang: languageOf(c.lang), state: c.state}
	if h.lang == nil {
		return c.state
	}
	for _, s := range c.lines {
		h.line(text.Clean(s))
	}
	return h.state
}

// state is the highlighter state between two lines.
type state struct {
	until string // what ends the open comment or string, or ""
	role  text.Role
}

// highlighter finds keywords, strings, numbers and comments.
type highlighter struct {
	lang *syntax
	state
}

// line returns a line with styles. The text must be clean.
func (h *highlighter) line(s string) text.Line {
	switch {
	case h.lang == nil:
		return one(s, role(text.Code))
	case h.lang.diff:
		return one(s, role(diffRole(s)))
	}
	var out text.Line
	from := 0
	flush := func(at int) {
		if at > from {
			out = add(out, text.Span{Text: s[from:at], Style: role(text.Code)})
			from = at
		}
	}
	put := func(at, n int, r text.Role) int {
		flush(at)
		out = add(out, text.Span{Text: s[at : at+n], Style: role(r)})
		from = at + n
		return from
	}
	for i := 0; i < len(s); {
		if h.until != "" {
			i = put(i, h.rest(s[i:]), h.role)
			if strings.HasSuffix(s[:i], h.until) {
				h.until = ""
			}
			continue
		}
		c := s[i]
		switch {
		case h.opens(s[i:]):
			n := len(h.open(s[i:]))
			end := h.rest(s[i+n:])
			closed := strings.HasSuffix(s[i+n:i+n+end], h.until) && end > 0
			i = put(i, n+end, h.role)
			if closed {
				h.until = ""
			}
		case h.comment(s, i):
			i = put(i, len(s)-i, text.Comment)
		case strings.IndexByte(h.lang.quotes, c) >= 0:
			if n := quoted(s[i:], h.lang.quoteByte); n > 0 {
				i = put(i, n, text.String)
			} else {
				i++
			}
		case digit(c):
			i = put(i, number(s[i:]), text.Number)
		case letter(c) || strings.IndexByte(h.lang.extra, c) >= 0:
			n := 1
			for i+n < len(s) && (letter(s[i+n]) || digit(s[i+n]) || strings.IndexByte(h.lang.extra, s[i+n]) >= 0) {
				n++
			}
			if r := h.lang.word(s[i:i+n], s[i+n:]); r != text.Plain {
				put(i, n, r)
			}
			i += n
		default:
			i++
		}
	}
	flush(len(s))
	if out == nil {
		out = text.Line{}
	}
	return out
}

func (h *highlighter) comment(s string, i int) bool {
	for _, mark := range h.lang.comments {
		if strings.HasPrefix(s[i:], mark) && (mark != "#" || i == 0 || s[i-1] == ' ') {
			return true
		}
	}
	return false
}

// opens reports whether a comment or string over several lines begins.
func (h *highlighter) opens(s string) bool { return h.open(s) != "" }

func (h *highlighter) open(s string) string {
	for _, b := range h.lang.blocks {
		if strings.HasPrefix(s, b.open) {
			h.until, h.role = b.close, b.role
			return b.open
		}
	}
	return ""
}

// rest returns how many bytes of this line are in the open comment or string.
func (h *highlighter) rest(s string) int {
	if i := strings.Index(s, h.until); i >= 0 {
		return i + len(h.until)
	}
	return len(s)
}

// quoted returns the length of a string literal at the start of s, or 0.
func quoted(s string, single bool) int {
	if single && s[0] == '\'' && !(len(s) > 2 && (s[2] == '\'' || s[1] == '\\')) {
		return 0 // not a character, but a lifetime or a mark
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return i + 1
		}
	}
	return len(s)
}

func number(s string) int {
	n := 1
	for n < len(s) && (letter(s[n]) && s[n] < 0x80 || digit(s[n]) || s[n] == '.' && n+1 < len(s) && digit(s[n+1])) {
		n++
	}
	return n
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func letter(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func diffRole(s string) text.Role {
	switch {
	case strings.HasPrefix(s, "+++"), strings.HasPrefix(s, "---"):
		return text.Heading
	case strings.HasPrefix(s, "+"):
		return text.Added
	case strings.HasPrefix(s, "-"):
		return text.Removed
	case strings.HasPrefix(s, "@@"):
		return text.Accent
	}
	return text.Code
}
