package wire

import (
	"bytes"
	"fmt"
)

// scanner checks that JSON is well-formed.
type scanner struct {
	data []byte
	err  error
}

func (s *scanner) fail(at int, what string) (int, bool) {
	if s.err == nil {
		if at >= len(s.data) {
			s.err = fmt.Errorf("malformed JSON: unexpected end at byte %d", len(s.data))
		} else {
			s.err = fmt.Errorf("malformed JSON at byte %d: %s", at, what)
		}
	}
	return 0, false
}

func (s *scanner) space(i int) int {
	for i < len(s.data) {
		switch s.data[i] {
		case ' ', '\t', '\n', '\r':
			i++
		default:
			return i
		}
	}
	return i
}

// value returns where the value that starts at i ends.
func (s *scanner) value(i, depth int) (int, bool) {
	if i >= len(s.data) {
		return s.fail(i, "")
	}
	switch c := s.data[i]; c {
	case '"':
		return s.str(i)
	case '{', '[':
		if depth >= maxDepth {
			return s.fail(i, "nested too deeply")
		}
		return s.nested(i, c, depth+1)
	case 't':
		return s.word(i, "true")
	case 'f':
		return s.word(i, "false")
	case 'n':
		return s.word(i, "null")
	default:
		return s.number(i)
	}
}

func (s *scanner) nested(i int, open byte, depth int) (int, bool) {
	closing := open + 2 // '{' and '}', '[' and ']' are two apart
	i = s.space(i + 1)
	if i < len(s.data) && s.data[i] == closing {
		return i + 1, true
	}
	for {
		ok := true
		if open == '{' {
			if i, ok = s.key(i); !ok {
				return 0, false
			}
		}
		if i, ok = s.value(i, depth); !ok {
			return 0, false
		}
		i = s.space(i)
		switch {
		case i >= len(s.data):
			return s.fail(i, "")
		case s.data[i] == closing:
			return i + 1, true
		case s.data[i] != ',':
			return s.fail(i, "expected a comma or the end of the object or array")
		}
		i = s.space(i + 1)
	}
}

// key reads a member name and its colon, and returns where the value starts.
func (s *scanner) key(i int) (int, bool) {
	if i < len(s.data) && s.data[i] != '"' {
		return s.fail(i, "expected a member name")
	}
	end, ok := s.str(i)
	if !ok {
		return 0, false
	}
	if end = s.space(end); end < len(s.data) && s.data[end] == ':' {
		return s.space(end + 1), true
	}
	return s.fail(end, "expected a colon")
}

func (s *scanner) str(i int) (int, bool) {
	for j := i + 1; j < len(s.data); j++ {
		switch c := s.data[j]; {
		case c == '"':
			return j + 1, true
		case c < ' ':
			return s.fail(j, "control character in a string")
		case c == '\\':
			j++
			if j < len(s.data) && !s.escape(j) {
				return s.fail(j, "unknown escape sequence")
			}
		}
	}
	return s.fail(len(s.data), "")
}

func (s *scanner) escape(j int) bool {
	switch s.data[j] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		for k := j + 1; k <= j+4 && k < len(s.data); k++ {
			if hexDigit(s.data[k]) < 0 {
				return false
			}
		}
		return true
	}
	return false
}

func (s *scanner) word(i int, w string) (int, bool) {
	if len(s.data) >= i+len(w) && string(s.data[i:i+len(w)]) == w {
		return i + len(w), true
	}
	return s.fail(i, "unknown literal")
}

func (s *scanner) number(i int) (int, bool) {
	start := i
	if i < len(s.data) && s.data[i] == '-' {
		i++
	}
	whole := s.digits(i)
	if whole == i || (s.data[i] == '0' && whole > i+1) {
		return s.fail(start, "expected a JSON value")
	}
	i = whole
	if i < len(s.data) && s.data[i] == '.' {
		frac := s.digits(i + 1)
		if frac == i+1 {
			return s.fail(i, "expected digits after the decimal point")
		}
		i = frac
	}
	if i < len(s.data) && (s.data[i] == 'e' || s.data[i] == 'E') {
		i++
		if i < len(s.data) && (s.data[i] == '+' || s.data[i] == '-') {
			i++
		}
		exp := s.digits(i)
		if exp == i {
			return s.fail(i, "expected digits in the exponent")
		}
		i = exp
	}
	return i, true
}

func (s *scanner) digits(i int) int {
	for i < len(s.data) && '0' <= s.data[i] && s.data[i] <= '9' {
		i++
	}
	return i
}

// skip returns where the well-formed value at i ends. It looks only at quotes and brackets.
func (s *scanner) skip(i int) int {
	depth := 0
	for j := i; j < len(s.data); j++ {
		switch s.data[j] {
		case '"':
			if j = s.closingQuote(j + 1); depth == 0 {
				return min(j+1, len(s.data))
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return j + 1
			} else if depth < 0 {
				return j
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return j
			}
		}
	}
	return len(s.data)
}

// closingQuote returns where the string whose text starts at i ends.
func (s *scanner) closingQuote(i int) int {
	for i < len(s.data) {
		n := bytes.IndexByte(s.data[i:], '"')
		if n < 0 {
			break
		}
		i += n
		if !oddBackslashes(s.data[:i]) {
			return i
		}
		i++
	}
	return len(s.data)
}

func oddBackslashes(b []byte) bool {
	n := 0
	for n < len(b) && b[len(b)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}
