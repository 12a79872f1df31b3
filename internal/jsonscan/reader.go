// Package jsonscan reads JSON in the one form in which encoding/json writes it: without white
// space, and the members of an object in the order of their struct. It is for what this module has
// written itself and reads in bulk, since encoding/json goes over a text again at every level of
// nesting.
//
// A [Reader] explains nothing. It fails on everything that is not of that form, and its user turns
// to encoding/json then, which reads the text or says what is wrong with it. What a Reader does
// read means the same to encoding/json.
package jsonscan

import "bytes"

// maxDepth is far below the nesting that encoding/json refuses.
const maxDepth = 1000

// Reader reads a text from front to back. After a failure it reads nothing more: every method
// gives a zero value, so that one check at the end, by Done, is enough.
type Reader struct {
	rest   []byte
	inside bool // of an object or an array, behind one of its members or elements
	failed bool
}

// Read begins to read a text, of which it keeps nothing.
func Read(text []byte) Reader { return Reader{rest: text} }

// Done reports whether the whole text was read without a failure.
func (r *Reader) Done() bool { return !r.failed && len(r.rest) == 0 }

// Fail is for users who meet something that is not for them.
func (r *Reader) Fail() { r.rest, r.failed = nil, true }

// take passes over what must come next.
func (r *Reader) take(token string) bool {
	if len(r.rest) < len(token) || string(r.rest[:len(token)]) != token {
		r.Fail()
		return false
	}
	r.rest = r.rest[len(token):]
	return true
}

// Open reads the start of an object or an array, "{" or "[".
func (r *Reader) Open(bracket string) {
	r.take(bracket)
	r.inside = false
}

// Close reads its end, "}" or "]", before which nothing may be left.
func (r *Reader) Close(bracket string) {
	r.take(bracket)
	r.inside = true
}

// More reports whether there is another member or element, and passes over the comma before it.
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

// Member reports whether the next member has the name, and goes on to its value if so.
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

// Key reads the name of a member, behind More. It must be printable ASCII without escapes.
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

// Raw reads a value and gives it as it is. Nothing says that the value is in order.
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

// Last reads the value of the last member of the outermost object together with the end of that,
// and gives the value as it is, without having looked at it.
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

// Skip reads a string, which must be in order, and forgets it.
func (r *Reader) Skip() {
	if !valid(r.literal()) {
		r.Fail()
	}
}

// literal reads a string as it is between its quotes.
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

// quoted is the size of the string that b begins with, or -1.
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

// extent is the size of the value that b begins with, or -1. It looks at quotes, brackets and
// commas only.
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
