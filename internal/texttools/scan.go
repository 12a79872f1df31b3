package texttools

import (
	"strings"

	"github.com/reins-agent/reins/internal/wire"
)

// maxEffort limits the bytes read while looking for calls in one text part. Only hostile text needs more, and its
// rest stays text.
const maxEffort = 64 << 20

// scan splits text into plain text and tool calls as it arrives. The result does not depend on how the text is split
// into pieces.
type scan struct {
	finder *finder
	held   string
	late   []byte // text after held, not yet worth another attempt
	begun  bool   // text other than white space was released
	tried  int    // length of held at the last attempt to read a call
	effort int
}

func (s *scan) feed(text string) { s.late = append(s.late, text...) }

// next returns the next text or calls, if they are decided. If final is set, the text is complete.
func (s *scan) next(final bool) (text string, calls []call, ok bool) {
	if !s.due(final) {
		return "", nil, false
	}
	s.held += string(s.late)
	s.late = s.late[:0]
	if s.held == "" {
		return "", nil, false
	}
	if s.effort > maxEffort {
		return s.release(len(s.held)), nil, true
	}
	if start := s.marker(final); start > 0 {
		return s.release(start), nil, true
	}
	s.tried = len(s.held)
	s.effort += len(s.held)
	n, calls, v := s.finder.read(s.held, !s.begun, final)
	switch v {
	case more:
		return "", nil, false
	case match:
		s.begun, s.tried = true, 0
		s.held = s.held[n:]
		return "", calls, true
	}
	return s.release(1), nil, true
}

// release returns the first n bytes as text.
func (s *scan) release(n int) string {
	text := s.held[:n]
	s.held = s.held[n:]
	s.tried = 0
	s.begun = s.begun || strings.TrimSpace(text) != ""
	return text
}

// due reports whether enough new text has arrived for another attempt. Reading a long call again for each of its pieces
// would take quadratic time.
func (s *scan) due(final bool) bool {
	const short = 256
	size := len(s.held) + len(s.late)
	return final || s.tried == 0 || size > s.tried && (size <= short || size >= s.tried+s.tried/8)
}

// marker returns the first position where a call may start, or the text's length.
func (s *scan) marker(final bool) int {
	begun := s.begun
	for i := 0; i < len(s.held); i++ {
		switch s.held[i] {
		case '<', '[', '`', '{':
			if mayBegin(s.held[i:], !begun, final) {
				return i
			}
			begun = true
		case ' ', '\t', '\n', '\r':
		default:
			begun = true
		}
	}
	return len(s.held)
}

// verdict is the result of reading. Only the verdict more can change when more text arrives.
type verdict int

const (
	match verdict = iota
	more          // undecided: the text ends too early
	none
)

// cursor reads text that may be incomplete. Once reading fails, the methods return zero values and the verdict stays.
type cursor struct {
	s       string
	i       int
	final   bool // the text is complete
	verdict verdict
}

func (c *cursor) rest() string { return c.s[c.i:] }

func (c *cursor) ok() bool { return c.verdict == match }

// fail ends reading without a match.
func (c *cursor) fail() {
	if c.ok() {
		c.verdict = none
	}
}

// end stops reading where the text ends.
func (c *cursor) end() {
	if c.ok() && !c.final {
		c.verdict = more
	}
	c.fail()
}

func (c *cursor) skip(set string) {
	for c.i < len(c.s) && strings.IndexByte(set, c.s[c.i]) >= 0 {
		c.i++
	}
}

func (c *cursor) space() { c.skip(" \t\r\n") }

// done reports whether a complete text was read to its end.
func (c *cursor) done() bool { return c.ok() && c.final && c.i == len(c.s) }

// try reads a literal if it is there. It fails only if the text ends within the literal.
func (c *cursor) try(w string) bool {
	rest := c.rest()
	if c.ok() && strings.HasPrefix(rest, w) {
		c.i += len(w)
		return true
	}
	if !c.final && strings.HasPrefix(w, rest) {
		c.end()
	}
	return false
}

// lit reads a literal.
func (c *cursor) lit(w string) {
	if !c.try(w) {
		c.fail()
	}
}

// until reads the text before a literal, at most limit bytes if limit is not 0, and the literal.
func (c *cursor) until(w string, limit int) string {
	if !c.ok() {
		return ""
	}
	n := strings.Index(c.rest(), w)
	switch {
	case limit > 0 && (n > limit || n < 0 && len(c.rest()) > limit+len(w)):
		c.fail()
		return ""
	case n < 0:
		c.end()
		return ""
	}
	text := c.rest()[:n]
	c.i += n + len(w)
	return text
}

// json reads a JSON value that starts with one of the brackets.
func (c *cursor) json(brackets string) wire.Value {
	if rest := c.rest(); rest == "" {
		c.end()
	} else if strings.IndexByte(brackets, rest[0]) < 0 {
		c.fail()
	}
	n := -1
	if c.ok() {
		n = closing(c.rest())
	}
	if n < 0 {
		c.end()
		return nil
	}
	v, err := wire.ParseJSON([]byte(c.rest()[:n]))
	if err != nil {
		c.fail()
		return nil
	}
	c.i += n
	return v
}

// closing returns the length of the object or array that begins s, or -1.
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
