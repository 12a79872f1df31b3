package object

import (
	"encoding/json"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const maxDepth = 1000

// complete returns valid JSON for a prefix of a JSON object or array. It removes an incomplete end, such as a key
// without a value or a number that may continue, and closes strings and brackets. It reports false for any other text.
func complete(prefix string) (string, bool) {
	if prefix == "" || prefix[0] != '{' && prefix[0] != '[' {
		return "", false
	}
	c := completion{text: prefix}
	c.value(0)
	if c.depth > maxDepth || c.keep == 0 {
		return "", false
	}
	var b strings.Builder
	b.WriteString(prefix[:c.keep])
	b.WriteString(c.end)
	for i := c.due - 1; i >= 0; i-- {
		b.WriteByte(c.open[i])
	}
	return b.String(), true
}

// completion scans JSON and records the last position where it can end.
type completion struct {
	text  string
	open  []byte // closing brackets that are due, innermost last
	depth int
	keep  int    // the result is text[:keep],
	end   string // this,
	due   int    // and open[:due] in reverse
}

// safe records that the result can be text[:i], end and the open brackets.
func (c *completion) safe(i int, end string) {
	c.keep = i
	c.end = end
	c.due = len(c.open)
}

// value scans the value at i and returns its end, or -1 if the value is incomplete or malformed.
func (c *completion) value(i int) int {
	if i >= len(c.text) {
		return -1
	}
	switch ch := c.text[i]; {
	case ch == '{' || ch == '[':
		return c.nested(i, ch)
	case ch == '"':
		return c.str(i, true)
	case ch == '-' || ch >= '0' && ch <= '9':
		return c.number(i)
	}
	for _, word := range []string{"true", "false", "null"} {
		if strings.HasPrefix(c.text[i:], word) {
			return i + len(word)
		}
	}
	return -1
}

func (c *completion) nested(i int, open byte) int {
	if c.depth++; c.depth > maxDepth {
		return -1
	}
	closing := open + 2 // '{' and '}', '[' and ']' are two apart
	c.open = append(c.open, closing)
	i = c.space(i + 1)
	c.safe(min(i, len(c.text)), "")
	first := true
	for i < len(c.text) {
		if c.text[i] == closing && first {
			break
		}
		first = false
		if open == '{' {
			if i = c.key(i); i < 0 {
				return -1
			}
		}
		if i = c.value(i); i < 0 {
			return -1
		}
		c.safe(i, "")
		i = c.space(i)
		if i >= len(c.text) {
			return -1
		}
		if c.text[i] == closing {
			break
		}
		if c.text[i] != ',' {
			return -1
		}
		i = c.space(i + 1)
	}
	if i >= len(c.text) {
		return -1
	}
	c.open = c.open[:len(c.open)-1]
	c.depth--
	c.safe(i+1, "")
	return i + 1
}

// key scans a member name and its colon and returns where the value starts, or -1.
func (c *completion) key(i int) int {
	if c.text[i] != '"' {
		return -1
	}
	if i = c.str(i, false); i < 0 {
		return -1
	}
	if i = c.space(i); i >= len(c.text) || c.text[i] != ':' {
		return -1
	}
	return c.space(i + 1)
}

// str scans a string and returns its end, or -1. A value, unlike a name, may end after any character.
func (c *completion) str(start int, value bool) int {
	i := start + 1
	for i < len(c.text) {
		end := i + 1
		switch ch := c.text[i]; {
		case ch == '"':
			return end
		case ch < ' ':
			return -1
		case ch == '\\':
			if end = c.escape(i); end < 0 {
				if value {
					c.safe(i, `"`)
				}
				return -1
			}
		}
		i = end
	}
	if value {
		c.safe(wholeRunes(c.text), `"`)
	}
	return -1
}

// escape returns where the escape sequence or surrogate pair at i ends, or -1 if it is incomplete or malformed.
func (c *completion) escape(i int) int {
	if i+1 >= len(c.text) {
		return -1
	}
	if c.text[i+1] != 'u' {
		if strings.IndexByte(`"\/bfnrt`, c.text[i+1]) < 0 {
			return -1
		}
		return i + 2
	}
	r, ok := c.hex(i)
	if !ok {
		return -1
	}
	if rest := c.text[i+6:]; utf16.IsSurrogate(r) && r < 0xdc00 && strings.HasPrefix(`\u`, rest[:min(2, len(rest))]) {
		// The other half may follow.
		if _, ok := c.hex(i + 6); !ok {
			return -1
		}
		return i + 12
	}
	return i + 6
}

// hex reads the \uXXXX at i.
func (c *completion) hex(i int) (r rune, ok bool) {
	if i+6 > len(c.text) {
		return 0, false
	}
	for _, ch := range []byte(c.text[i+2 : i+6]) {
		switch {
		case ch >= '0' && ch <= '9':
			ch -= '0'
		case ch >= 'a' && ch <= 'f':
			ch -= 'a' - 10
		case ch >= 'A' && ch <= 'F':
			ch -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(ch)
	}
	return r, true
}

// number scans a number and returns its end, or -1. It is complete only if something follows.
func (c *completion) number(i int) int {
	end := i
	for end < len(c.text) && strings.IndexByte("+-.eE0123456789", c.text[end]) >= 0 {
		end++
	}
	if end == len(c.text) || !json.Valid([]byte(c.text[i:end])) {
		return -1
	}
	return end
}

func (c *completion) space(i int) int {
	for i < len(c.text) && strings.IndexByte(" \t\r\n", c.text[i]) >= 0 {
		i++
	}
	return i
}

// wholeRunes returns the length of text without an incomplete character at its end.
func wholeRunes(text string) int {
	for n := 1; n <= min(utf8.UTFMax, len(text)); n++ {
		i := len(text) - n
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRuneInString(text[i:]) {
				return i
			}
			break
		}
	}
	return len(text)
}
