package chat

import (
	"strings"

	"github.com/reins-agent/reins/llm/wire"
)

// verdict is what reading has come to: nothing that is looked for, something that needs more text
// to tell, or a match. A verdict other than more does not change when more text arrives.
type verdict int

const (
	none verdict = iota
	more
	match
)

// cursor reads text that may not be complete.
type cursor struct {
	s     string
	i     int
	final bool // there is no more
}

func (c *cursor) rest() string { return c.s[c.i:] }

// end is the verdict where the text ends too early.
func (c *cursor) end() verdict {
	if c.final {
		return none
	}
	return more
}

func (c *cursor) space() {
	for c.i < len(c.s) && strings.IndexByte(" \t\r\n", c.s[c.i]) >= 0 {
		c.i++
	}
}

// done reports whether the text is over for good.
func (c *cursor) done() bool { return c.final && c.i == len(c.s) }

// lit reads a literal.
func (c *cursor) lit(w string) verdict {
	switch rest := c.rest(); {
	case strings.HasPrefix(rest, w):
		c.i += len(w)
		return match
	case len(rest) < len(w) && strings.HasPrefix(w, rest):
		return c.end()
	}
	return none
}

// until reads up to a literal, and past it. It gives up after limit bytes, if there is a limit.
func (c *cursor) until(w string, limit int) (string, verdict) {
	n := strings.Index(c.rest(), w)
	if n < 0 {
		if limit > 0 && len(c.rest()) > limit+len(w) {
			return "", none
		}
		return "", c.end()
	}
	if limit > 0 && n > limit {
		return "", none
	}
	text := c.rest()[:n]
	c.i += n + len(w)
	return text, match
}

// json reads an object or an array.
func (c *cursor) json() (wire.Value, verdict) {
	rest := c.rest()
	if rest == "" {
		return nil, c.end()
	}
	if rest[0] != '{' && rest[0] != '[' {
		return nil, none
	}
	n := closing(rest)
	if n < 0 {
		return nil, c.end()
	}
	v, err := wire.ParseJSON([]byte(rest[:n]))
	if err != nil {
		return nil, none
	}
	c.i += n
	return v, match
}

// closing finds the end of the object or array at the start of s, or -1.
func closing(s string) int {
	depth, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}
