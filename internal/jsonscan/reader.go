// Package jsonscan reads JSON exactly as encoding/json writes it: without white space, and with an object's members in
// their struct's order. It reads large logs that this module has written, in one pass; encoding/json scans a text again
// at every level of nesting.
//
// A [Reader] fails on JSON in any other form, without a reason. Callers then use encoding/json, which decodes the text
// or returns an error. If a Reader succeeds, encoding/json gives the same result.
package jsonscan

import "bytes"

// maxDepth is well below the limit of encoding/json.
const maxDepth = 1000

// A Reader reads a text from start to end. After a failure all methods return zero values, so it is enough to check Done
// at the end.
type Reader struct {
	rest   []byte
	inside bool // after a member or element of an object or array
	failed bool
}

// Read returns a reader for a text.
func Read(text []byte) Reader { return Reader{rest: text} }

// Done reports whether the whole text was read.
func (r *Reader) Done() bool { return !r.failed && len(r.rest) == 0 }

// Fail makes the reader fail, for callers that find an unexpected value.
func (r *Reader) Fail() { r.rest, r.failed = nil, true }

// take reads a required token.
func (r *Reader) take(token string) bool {
	if len(r.rest) < len(token) || string(r.rest[:len(token)]) != token {
		r.Fail()
		return false
	}
	r.rest = r.rest[len(token):]
	return true
}

// Open reads the bracket that starts an object or an array, "{" or "[".
func (r *Reader) Open(bracket string) {
	r.take(bracket)
	r.inside = false
}

// Close reads the bracket that ends an object or an array, "}" or "]".
func (r *Reader) Close(bracket string) {
	r.take(bracket)
	r.inside = true
}

// More reports whether another member or element follows, and reads the comma before it.
func (r *Reader) More() bool {
	if len(r.rest) == 0 || r.rest[0] == '}' || r.rest[0] == ']' {
		return false
	}
	if r.inside && !r.take(",") {
		return false
	}
	r.inside = false
	return true
}

// Member reports whether the next member has this name, and if so reads the name.
func (r *Reader) Member(name string) bool {
	b := r.rest
	if r.inside {
		if len(b) == 0 || b[0] != ',' {
			return false
		}
		b = b[1:]
	}
	n := len(name)
	if len(b) < n+3 || b[0] != '"' || string(b[1:n+1]) != name || b[n+1] != '"' || b[n+2] != ':' {
		return false
	}
	r.rest = b[n+3:]
	return true
}

// Key reads a member's name, after More. It must be printable ASCII without escapes.
func (r *Reader) Key() []byte {
	n := quoted(r.rest)
	if n < 0 || bytes.ContainsFunc(r.rest[1:n-1], func(c rune) bool { return c < ' ' || c > '~' || c == '\\' }) {
		r.Fail()
		return nil
	}
	key := r.rest[1 : n-1]
	r.rest = r.rest[n:]
	if !r.take(":") {
		return nil
	}
	return key
}

// Raw reads a value without validating it.
func (r *Reader) Raw() []byte {
	n := extent(r.rest)
	if n <= 0 {
		r.Fail()
		return nil
	}
	value := r.rest[:n]
	r.rest, r.inside = r.rest[n:], true
	return value
}

// Last reads the last member's value in the outermost object, and the end of that object. It does not validate the
// value.
func (r *Reader) Last() []byte {
	value, found := bytes.CutSuffix(r.rest, []byte("}"))
	if !found || len(value) == 0 {
		r.Fail()
		return nil
	}
	r.rest, r.inside = nil, true
	return value
}

// True reads the value true.
func (r *Reader) True() bool {
	r.inside = true
	return r.take("true")
}

// Text reads a string.
func (r *Reader) Text() string {
	text, ok := unquote(r.literal())
	if !ok {
		r.Fail()
		return ""
	}
	return text
}

// Skip reads a valid string and discards it.
func (r *Reader) Skip() {
	if !valid(r.literal()) {
		r.Fail()
	}
}

// literal reads a string and returns the text between its quotes.
func (r *Reader) literal() []byte {
	n := quoted(r.rest)
	if n < 0 {
		r.Fail()
		return nil
	}
	in := r.rest[1 : n-1]
	r.rest, r.inside = r.rest[n:], true
	return in
}

// quoted returns the size of the string that begins b, or -1.
func quoted(b []byte) int {
	if len(b) == 0 || b[0] != '"' {
		return -1
	}
	for i := 1; ; i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		escapes := i
		for b[escapes-1] == '\\' {
			escapes--
		}
		if (i-escapes)%2 == 0 {
			return i + 1
		}
	}
}

// extent returns the size of the value that begins b, or -1. It checks only quotes, brackets and commas.
func extent(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			n := quoted(b[i:])
			if n < 0 {
				return -1
			}
			i += n - 1
		case '{', '[':
			if depth++; depth > maxDepth {
				return -1
			}
		case '}', ']':
			if depth--; depth < 0 {
				return i
			}
		case ',':
			if depth == 0 {
				return i
			}
		}
	}
	if depth != 0 {
		return -1
	}
	return len(b)
}
