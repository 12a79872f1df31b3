package render

import (
	"html"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reins-agent/reins/internal/tui/text"
)

// token is a piece of paragraph text.
type token struct {
	text        string // clean, except that "\n" breaks the line
	style       text.Style
	delim       byte // a run of emphasis marks that were not used
	n           int  // their number
	opens, ends bool
}

// inline parses paragraph text.
type inline struct {
	list   []token
	style  text.Style
	plain  strings.Builder
	nested bool // in a link
}

// Inline returns the styled lines for a text with marks for emphasis, code and links.
func Inline(s string, style text.Style) []text.Line {
	p := inline{style: style}
	p.parse(s)
	return p.lines()
}

const special = "\\`*_~[!<&\nh"

func (p *inline) parse(s string) {
	for i := 0; i < len(s); {
		if n := strings.IndexAny(s[i:], special); n != 0 {
			if n < 0 {
				n = len(s) - i
			}
			p.plain.WriteString(s[i : i+n])
			i += n
			continue
		}
		n := p.mark(s, i)
		if n == 0 {
			p.plain.WriteByte(s[i])
			n = 1
		}
		i += n
	}
	p.flush()
	p.emphasize()
}

// mark parses the mark at s[i:] and returns its size, or 0 if it is text.
func (p *inline) mark(s string, i int) int {
	rest := s[i:]
	switch c := s[i]; c {
	case '\n':
		p.flush()
		p.list = append(p.list, token{text: "\n"})
		return 1 + len(rest[1:]) - len(strings.TrimLeft(rest[1:], " \t"))
	case '\\':
		return p.escape(rest)
	case '`':
		return p.code(rest)
	case '*', '_', '~':
		return p.delimiters(s, i)
	case '&':
		return p.entity(rest)
	case '<':
		if end := strings.IndexByte(rest, '>'); end > 0 && safe(rest[1:end]) {
			p.link(rest[1:end], rest[1:end])
			return end + 1
		}
	case '!':
		if strings.HasPrefix(rest, "![") {
			return p.image(rest)
		}
	case '[':
		return p.bracket(rest)
	case 'h':
		if !p.nested && (i == 0 || !word(s[i-1])) && (strings.HasPrefix(rest, "https://") || strings.HasPrefix(rest, "http://")) {
			if n := bareURL(rest); safe(rest[:n]) {
				p.link(rest[:n], rest[:n])
				return n
			}
		}
	}
	return 0
}

func word(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}

func (p *inline) flush() {
	if p.plain.Len() > 0 {
		p.list = append(p.list, token{text: text.Clean(p.plain.String()), style: p.style})
		p.plain.Reset()
	}
}

func (p *inline) escape(s string) int {
	if len(s) > 1 && s[1] > ' ' && s[1] < 0x7F && !word(s[1]) || len(s) > 1 && s[1] == '_' {
		p.plain.WriteByte(s[1])
		return 2
	}
	if len(s) > 1 && s[1] == '\n' {
		return 1
	}
	return 0
}

func (p *inline) entity(s string) int {
	end := strings.IndexByte(s[:min(len(s), 34)], ';')
	if end < 2 {
		return 0
	}
	if plain := html.UnescapeString(s[:end+1]); plain != s[:end+1] {
		p.plain.WriteString(plain)
		return end + 1
	}
	return 0
}

// code adds a code span.
func (p *inline) code(s string) int {
	n := run(s, '`')
	for at := n; at < len(s); {
		next := strings.IndexByte(s[at:], '`')
		if next < 0 {
			break
		}
		at += next
		m := run(s[at:], '`')
		if m != n {
			at += m
			continue
		}
		body := strings.ReplaceAll(s[n:at], "\n", " ")
		if len(body) > 2 && body[0] == ' ' && body[len(body)-1] == ' ' && strings.TrimSpace(body) != "" {
			body = body[1 : len(body)-1]
		}
		p.flush()
		p.list = append(p.list, token{text: text.Clean(body), style: text.Style{Role: text.Code, Attr: p.style.Attr}})
		return at + n
	}
	p.plain.WriteString(s[:n])
	return n
}

// delimiters adds a run of marks for emphasis.
func (p *inline) delimiters(s string, i int) int {
	c := s[i]
	n := run(s[i:], c)
	if c == '~' && n > 2 {
		p.plain.WriteString(s[i : i+n])
		return n
	}
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	after, _ := utf8.DecodeRuneInString(s[i+n:])
	spaceBefore := i == 0 || unicode.IsSpace(before)
	spaceAfter := i+n == len(s) || unicode.IsSpace(after)
	markBefore := !spaceBefore && (unicode.IsPunct(before) || unicode.IsSymbol(before))
	markAfter := !spaceAfter && (unicode.IsPunct(after) || unicode.IsSymbol(after))
	left := !spaceAfter && (!markAfter || spaceBefore || markBefore)
	right := !spaceBefore && (!markBefore || spaceAfter || markAfter)
	t := token{delim: c, n: n, opens: left, ends: right}
	if c == '_' {
		t.opens, t.ends = left && (!right || markBefore), right && (!left || markAfter)
	}
	p.flush()
	p.list = append(p.list, t)
	return n
}

// emphasize matches the marks for emphasis.
func (p *inline) emphasize() {
	var open []int // marks that may open, in order
	for i := range p.list {
		t := &p.list[i]
		if t.delim == 0 {
			continue
		}
		for k := len(open) - 1; t.ends && t.n > 0 && k >= 0; k-- {
			o := &p.list[open[k]]
			if o.delim != t.delim || (o.ends || t.opens) && (o.n+t.n)%3 == 0 && (o.n%3 != 0 || t.n%3 != 0) || t.delim == '~' && o.n != t.n {
				continue
			}
			for t.n > 0 && o.n > 0 {
				used := min(o.n, t.n, 2)
				attr := text.Italic
				switch {
				case t.delim == '~':
					attr = text.Strike
				case used == 2:
					attr = text.Bold
				}
				for j := open[k] + 1; j < i; j++ {
					p.list[j].style.Attr |= attr
				}
				o.n -= used
				t.n -= used
			}
			if open = open[:k+1]; o.n == 0 {
				open = open[:k]
			}
		}
		if t.opens && t.n > 0 {
			open = append(open, i)
		}
	}
}

// image adds an image's name and address.
func (p *inline) image(s string) int {
	label, target, n := linkParts(s[1:])
	if n == 0 {
		return 0
	}
	p.flush()
	if label == "" {
		label = "image"
	}
	p.link("▣ "+oneLine(label), target)
	p.target(target)
	return n + 1
}

// bracket adds a link.
func (p *inline) bracket(s string) int {
	label, target, n := linkParts(s)
	if n == 0 || p.nested {
		return 0
	}
	p.flush()
	inner := inline{style: text.Style{Role: text.Link, Attr: p.style.Attr, URL: address(target)}, nested: true}
	inner.parse(label)
	for _, t := range inner.list {
		if t.delim != 0 {
			t = token{text: strings.Repeat(string(t.delim), t.n), style: inner.style}
		}
		if t.style.URL == "" {
			t.style.URL = inner.style.URL
		}
		p.list = append(p.list, t)
	}
	if label != target {
		p.target(target)
	}
	return n
}

// target shows where a link leads.
func (p *inline) target(s string) {
	if s != "" {
		p.list = append(p.list, token{text: text.Clean(" (" + oneLine(s) + ")"), style: role(text.Dim)})
	}
}

func (p *inline) link(label, target string) {
	p.flush()
	p.list = append(p.list, token{text: text.Clean(label), style: text.Style{Role: text.Link, Attr: p.style.Attr, URL: address(target)}})
}

// linkParts parses "[label](target)" and returns its size, or 0.
func linkParts(s string) (label, target string, n int) {
	depth, at := 0, -1
	for i := 0; i < len(s) && at < 0; i++ {
		switch s[i] {
		case '\\':
			i++
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				at = i
			}
		}
		if i > maxLink {
			return "", "", 0
		}
	}
	if at < 0 || !strings.HasPrefix(s[at:], "](") {
		return "", "", 0
	}
	label = s[1:at]
	open := 0
	for i := at + 2; i < len(s) && i < at+maxLink; i++ {
		switch s[i] {
		case '(':
			open++
		case ')':
			if open == 0 {
				target = strings.TrimSpace(s[at+2 : i])
				if address, _, titled := strings.Cut(target, " "); titled {
					target = address
				}
				return label, strings.Trim(target, "<>"), i + 1
			}
			open--
		case '\n':
			return "", "", 0
		}
	}
	return "", "", 0
}

const maxLink = 2000

// bareURL returns the length of a URL at the start of s.
func bareURL(s string) int {
	n := strings.IndexAny(s, " \t\n<>\"`|\\^{}")
	if n < 0 {
		n = len(s)
	}
	for n > 0 {
		switch c := s[n-1]; {
		case strings.IndexByte(".,;:!?'*_~", c) >= 0, c == ')' && strings.Count(s[:n], ")") > strings.Count(s[:n], "("), c == ']':
			n--
		default:
			return n
		}
	}
	return n
}

// safe reports whether a link may be followed.
func safe(s string) bool { return address(s) != "" }

// address returns a link's URL for the terminal, or "" if following it is not safe.
func address(s string) string {
	if len(s) > maxLink {
		return ""
	}
	for _, r := range s {
		if r <= ' ' || r == 0x7F || r == utf8.RuneError {
			return ""
		}
	}
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	switch u.Scheme {
	case "http", "https":
		if u.Host == "" {
			return ""
		}
	case "mailto", "file":
	default:
		return ""
	}
	s = u.String()
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return ""
		}
	}
	return s
}

// lines returns the tokens as lines.
func (p *inline) lines() []text.Line {
	out := []text.Line{nil}
	for _, t := range p.list {
		if t.text == "\n" {
			out = append(out, nil)
			continue
		}
		if t.delim != 0 {
			t.text, t.style = strings.Repeat(string(t.delim), t.n), text.Style{Role: p.style.Role, Attr: p.style.Attr | t.style.Attr}
		}
		if t.text != "" {
			last := len(out) - 1
			out[last] = add(out[last], text.Span{Text: t.text, Style: t.style})
		}
	}
	return out
}

// add adds a span to a line.
func add(l text.Line, s text.Span) text.Line {
	if n := len(l) - 1; n >= 0 && l[n].Style == s.Style {
		l[n].Text += s.Text
		return l
	}
	return append(l, s)
}

func oneLine(s string) string { return strings.ReplaceAll(s, "\n", " ") }
