package pdf

import (
	"bytes"
	"strconv"
	"strings"
)

// parser reads objects.
type parser struct {
	data []byte
	pos  int
}

func space(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

func delimiter(c byte) bool { return bytes.IndexByte([]byte("()<>[]{}/%"), c) >= 0 }

// peek returns the next character, or 0 at the end.
func (p *parser) peek() byte {
	if p.pos < len(p.data) {
		return p.data[p.pos]
	}
	return 0
}

// skip skips spaces and comments.
func (p *parser) skip() {
	for p.pos < len(p.data) {
		switch c := p.data[p.pos]; {
		case space(c):
			p.pos++
		case c == '%':
			for p.pos < len(p.data) && p.data[p.pos] != '\n' && p.data[p.pos] != '\r' {
				p.pos++
			}
		default:
			return
		}
	}
}

// end is returned after the last object.
const end = operator("")

// object reads the next object. It returns end after the last.
func (p *parser) object(depth int) any {
	p.skip()
	if p.pos >= len(p.data) || depth > maxDepth {
		p.pos = len(p.data)
		return end
	}
	switch c := p.data[p.pos]; {
	case c == '/':
		p.pos++
		return p.name()
	case c == '(':
		return p.literal()
	case c == '[':
		p.pos++
		return p.array(depth)
	case c == '<':
		p.pos++
		if p.peek() == '<' {
			p.pos++
			return p.dict(depth)
		}
		return p.hex()
	case delimiter(c):
		p.pos++
		if c == '>' && p.peek() == '>' {
			p.pos++
			return operator(">>")
		}
		return operator(c)
	}
	return p.word()
}

// word reads a number, a reference or an operator.
func (p *parser) word() any {
	p.skip()
	start := p.pos
	for p.pos < len(p.data) && !space(p.data[p.pos]) && !delimiter(p.data[p.pos]) {
		p.pos++
	}
	w := string(p.data[start:p.pos])
	if w == "" {
		return end
	}
	n, err := strconv.ParseFloat(w, 64)
	if err != nil || strings.Trim(w, "+-.0123456789") != "" { // no exponents, infinities or the like
		switch w {
		case "true", "false":
			return w == "true"
		case "null":
			return nil
		}
		return operator(w)
	}
	if n >= 0 && n < 1e9 && n == float64(int(n)) && p.reference() {
		return ref(int(n))
	}
	return n
}

// reference skips the rest of a reference, such as "0 R", if it is one.
func (p *parser) reference() bool {
	i := p.pos
	for i < len(p.data) && space(p.data[i]) {
		i++
	}
	digits := i
	for i < len(p.data) && i-digits < 6 && '0' <= p.data[i] && p.data[i] <= '9' {
		i++
	}
	spaces := i
	for i < len(p.data) && space(p.data[i]) {
		i++
	}
	if digits == p.pos || spaces == digits || i == spaces || i >= len(p.data) || p.data[i] != 'R' {
		return false
	}
	if i+1 < len(p.data) && !space(p.data[i+1]) && !delimiter(p.data[i+1]) {
		return false
	}
	p.pos = i + 1
	return true
}

func (p *parser) name() name {
	var b []byte
	for p.pos < len(p.data) && !space(p.data[p.pos]) && !delimiter(p.data[p.pos]) {
		c := p.data[p.pos]
		if c == '#' && p.pos+2 < len(p.data) {
			if v, err := strconv.ParseUint(string(p.data[p.pos+1:p.pos+3]), 16, 8); err == nil {
				c = byte(v)
				p.pos += 2
			}
		}
		b = append(b, c)
		p.pos++
	}
	return name(b)
}

// escapes maps the characters after a backslash.
var escapes = map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', 'b': '\b', 'f': '\f'}

// literal reads text in parentheses.
func (p *parser) literal() text {
	var b []byte
	depth := 0
	for p.pos < len(p.data) {
		c := p.data[p.pos]
		p.pos++
		switch c {
		case '(':
			if depth++; depth == 1 {
				continue
			}
		case ')':
			if depth--; depth == 0 {
				return text(b)
			}
		case '\\':
			c, ok := p.escape()
			if ok {
				b = append(b, c)
			}
			continue
		}
		b = append(b, c)
	}
	return text(b)
}

// escape reads the character after a backslash. It reports false for a line break, which is ignored.
func (p *parser) escape() (c byte, ok bool) {
	c = p.peek()
	p.pos++
	switch {
	case '0' <= c && c <= '7':
		v := int(c - '0')
		for i := 0; i < 2 && '0' <= p.peek() && p.peek() <= '7'; i++ {
			v = v*8 + int(p.peek()-'0')
			p.pos++
		}
		return byte(v), true
	case c == '\r':
		if p.peek() == '\n' {
			p.pos++
		}
		return 0, false
	case c == '\n':
		return 0, false
	}
	if e, known := escapes[c]; known {
		return e, true
	}
	return c, true
}

// hex reads text in hexadecimal digits.
func (p *parser) hex() text {
	var b []byte
	half, digits := 0, 0
	for p.pos < len(p.data) {
		c := p.data[p.pos]
		p.pos++
		if c == '>' {
			break
		}
		v, ok := digit(c)
		if !ok {
			continue
		}
		if digits++; digits%2 == 1 {
			half = v
		} else {
			b = append(b, byte(half<<4|v))
		}
	}
	if digits%2 == 1 {
		b = append(b, byte(half<<4))
	}
	return text(b)
}

func digit(c byte) (int, bool) {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0'), true
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10, true
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10, true
	}
	return 0, false
}

// closes reports whether an object ends the one around it, even if the closing bracket is missing.
func closes(o any, bracket operator) bool {
	op, ok := o.(operator)
	return ok && (op == bracket || op == end || op == "obj" || op == "endobj" || op == "stream")
}

func (p *parser) array(depth int) []any {
	list := []any{}
	for {
		o := p.object(depth + 1)
		if closes(o, "]") {
			return list
		}
		list = append(list, o)
	}
}

func (p *parser) dict(depth int) dict {
	d := dict{}
	for {
		key := p.object(depth + 1)
		if closes(key, ">>") {
			return d
		}
		k, ok := key.(name)
		if !ok {
			continue
		}
		value := p.object(depth + 1)
		if closes(value, ">>") {
			return d
		}
		d[k] = value
	}
}
