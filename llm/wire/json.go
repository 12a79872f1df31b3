package wire

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// Value is one JSON value, still encoded, without surrounding space; nil where there is none. Its
// methods give the zero value when the JSON is of another type, so that a field that a provider
// changed or left out reads as absent. They assume well-formed JSON, which [ParseJSON] checks.
type Value []byte

// maxDepth bounds the nesting of JSON, and with it the stack that reading takes.
const maxDepth = 1000

// ParseJSON checks that data is one well-formed JSON value and returns it.
func ParseJSON(data []byte) (Value, error) {
	s := scanner{data: data}
	start := s.space(0)
	end, ok := s.value(start, 0)
	if ok {
		if rest := s.space(end); rest != len(data) {
			s.fail(rest, "there is more after the value")
			ok = false
		}
	}
	if !ok {
		return nil, s.err
	}
	return Value(data[start:end]), nil
}

// Kind is the type of the value: '{', '[', '"', '0' (number), 't', 'f', 'n', or 0 if there is none.
func (v Value) Kind() byte {
	if len(v) == 0 {
		return 0
	}
	if c := v[0]; c != '-' && (c < '0' || c > '9') {
		return c
	}
	return '0'
}

// Exists reports whether there is a value other than null.
func (v Value) Exists() bool { return len(v) > 0 && v[0] != 'n' }

// Str is the text of a string.
func (v Value) Str() string {
	if v.Kind() != '"' || len(v) < 2 {
		return ""
	}
	raw := v[1 : len(v)-1]
	if plain(raw) {
		return string(raw)
	}
	// The bytes were made for this string alone, so that they can become it.
	b := unescape(make([]byte, 0, len(raw)), raw)
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// Is reports whether the value is this string.
func (v Value) Is(s string) bool {
	if len(v) != len(s)+2 || v[0] != '"' {
		return len(v) > 0 && v[0] == '"' && v.Str() == s
	}
	return string(v[1:len(v)-1]) == s
}

// Int is the value of a number, or of a string that holds one; fractions are cut off.
func (v Value) Int() int64 {
	switch v.Kind() {
	case '0':
		if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return n
		}
		f, _ := strconv.ParseFloat(string(v), 64)
		return int64(max(-1<<62, min(f, 1<<62)))
	case '"':
		n, _ := strconv.ParseInt(v.Str(), 10, 64)
		return n
	}
	return 0
}

// Float is the value of a number.
func (v Value) Float() float64 {
	if v.Kind() != '0' {
		return 0
	}
	f, _ := strconv.ParseFloat(string(v), 64)
	return f
}

// Bool reports whether the value is true.
func (v Value) Bool() bool { return v.Kind() == 't' }

// Clone copies the value, for keeping it when its buffer is reused.
func (v Value) Clone() Value { return bytes.Clone(v) }

// Get is the member of an object at the end of a path of keys.
func (v Value) Get(path ...string) Value {
	for _, key := range path {
		var found Value
		for m := v.Members(); m.Next(); {
			if string(m.Key) == key {
				found = m.Value
			}
		}
		if v = found; v == nil {
			return nil
		}
	}
	return v
}

// Members iterates over an object; Elements over an array. They visit nothing in a value of
// another type.
//
//	for m := v.Members(); m.Next(); {
//		switch string(m.Key) { … m.Value … }
//	}
func (v Value) Members() Members { return Members{walk: newWalk(v, '{')} }

// Elements iterates over an array.
func (v Value) Elements() Elements { return Elements{walk: newWalk(v, '[')} }

// Members is an iteration over the members of an object.
type Members struct {
	Key   []byte
	Value Value
	walk
}

// Elements is an iteration over the elements of an array.
type Elements struct {
	Value Value
	walk
}

type walk struct {
	scanner
	pos int // of the next member or element; 0 when the iteration is over
}

func newWalk(v Value, open byte) walk {
	if v.Kind() != open {
		return walk{}
	}
	it := walk{scanner: scanner{data: v}}
	it.pos = it.space(1)
	return it
}

// Next goes to the next member and reports whether there is one.
func (m *Members) Next() bool {
	if m.pos == 0 || m.pos >= len(m.data) || m.data[m.pos] != '"' {
		return false
	}
	end, ok := m.str(m.pos)
	if !ok {
		return false
	}
	m.Key = m.data[m.pos+1 : end-1]
	if !plain(m.Key) {
		m.Key = unescape(nil, m.Key)
	}
	colon := m.space(end)
	if colon >= len(m.data) {
		return false
	}
	m.Value, ok = m.next(m.space(colon + 1))
	return ok
}

// Next goes to the next element and reports whether there is one.
func (e *Elements) Next() bool {
	if e.pos == 0 || e.pos >= len(e.data) || e.data[e.pos] == ']' {
		return false
	}
	var ok bool
	e.Value, ok = e.next(e.pos)
	return ok
}

// next reads the value at start and moves on past the comma behind it.
func (it *walk) next(start int) (Value, bool) {
	end := it.skip(start)
	if end <= start {
		return nil, false
	}
	v := Value(it.data[start:end])
	it.pos = it.space(end)
	if it.pos < len(it.data) && it.data[it.pos] == ',' {
		it.pos = it.space(it.pos + 1)
	} else {
		it.pos = 0
	}
	return v, true
}

// scanner reads well-formedness off JSON text.
type scanner struct {
	data []byte
	err  error
}

func (s *scanner) fail(at int, what string) (int, bool) {
	if s.err == nil {
		if at >= len(s.data) {
			s.err = fmt.Errorf("malformed JSON: it ends at byte %d in the middle of a value", len(s.data))
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

// value returns the end of the value that starts at i.
func (s *scanner) value(i, depth int) (int, bool) {
	if i >= len(s.data) {
		return s.fail(i, "")
	}
	switch c := s.data[i]; c {
	case '"':
		return s.str(i)
	case '{', '[':
		if depth >= maxDepth {
			return s.fail(i, "it is nested too deeply")
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
			return s.fail(i, "a comma or the end of the object or array is missing")
		}
		i = s.space(i + 1)
	}
}

// key reads a member's name and colon and returns where its value starts.
func (s *scanner) key(i int) (int, bool) {
	if i < len(s.data) && s.data[i] != '"' {
		return s.fail(i, "a member name is missing")
	}
	end, ok := s.str(i)
	if !ok {
		return 0, false
	}
	if end = s.space(end); end < len(s.data) && s.data[end] == ':' {
		return s.space(end + 1), true
	}
	return s.fail(end, "a colon is missing")
}

func (s *scanner) str(i int) (int, bool) {
	for j := i + 1; j < len(s.data); j++ {
		switch c := s.data[j]; {
		case c == '"':
			return j + 1, true
		case c < ' ':
			return s.fail(j, "a control character stands in a string")
		case c == '\\':
			j++
			if j < len(s.data) && !s.escape(j) {
				return s.fail(j, "an escape sequence is unknown")
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
	return s.fail(i, "a word other than true, false and null")
}

func (s *scanner) number(i int) (int, bool) {
	start := i
	if i < len(s.data) && s.data[i] == '-' {
		i++
	}
	whole := s.digits(i)
	if whole == i || (s.data[i] == '0' && whole > i+1) {
		return s.fail(start, "this starts no JSON value")
	}
	i = whole
	if i < len(s.data) && s.data[i] == '.' {
		frac := s.digits(i + 1)
		if frac == i+1 {
			return s.fail(i, "a number has no digits behind its point")
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
			return s.fail(i, "a number has no digits in its exponent")
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

// skip returns the end of the well-formed value at i, looking only at quotes and brackets.
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

// closingQuote finds the quote that ends the string whose text starts at i.
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

// plain reports whether the inside of a string literal is its own text.
func plain(raw []byte) bool {
	ascii := true
	for _, c := range raw {
		if c == '\\' {
			return false
		}
		if c >= utf8.RuneSelf {
			ascii = false
		}
	}
	return ascii || utf8.Valid(raw)
}

// unescape appends the text of a string literal's inside. What is not valid Unicode becomes
// U+FFFD, as everywhere in Go.
func unescape(dst, raw []byte) []byte {
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '\\' && i+1 < len(raw):
			var n int
			dst, n = unescapeOne(dst, raw[i:])
			i += n
		case c < utf8.RuneSelf:
			dst = append(dst, c)
			i++
		default:
			r, n := utf8.DecodeRune(raw[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
		}
	}
	return dst
}

func unescapeOne(dst, raw []byte) ([]byte, int) {
	switch c := raw[1]; c {
	case 'b':
		return append(dst, '\b'), 2
	case 'f':
		return append(dst, '\f'), 2
	case 'n':
		return append(dst, '\n'), 2
	case 'r':
		return append(dst, '\r'), 2
	case 't':
		return append(dst, '\t'), 2
	case 'u':
		r := hex4(raw)
		if utf16.IsSurrogate(r) && len(raw) >= 12 && raw[6] == '\\' && raw[7] == 'u' {
			if pair := utf16.DecodeRune(r, hex4(raw[6:])); pair != utf8.RuneError {
				return utf8.AppendRune(dst, pair), 12
			}
		}
		return utf8.AppendRune(dst, r), min(6, len(raw))
	default:
		return append(dst, c), 2
	}
}

// hex4 reads the \uXXXX at the start of raw.
func hex4(raw []byte) rune {
	if len(raw) < 6 {
		return utf8.RuneError
	}
	var r rune
	for _, c := range raw[2:6] {
		d := hexDigit(c)
		if d < 0 {
			return utf8.RuneError
		}
		r = r<<4 | rune(d)
	}
	return r
}

func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
