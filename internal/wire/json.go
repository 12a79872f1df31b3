package wire

import (
	"bytes"
	"strconv"
	"unsafe"
)

// Value is one encoded JSON value without surrounding space, or nil. Its methods return the zero value if
// the JSON has another type, so a field that a provider changed or omitted reads as absent. They assume
// well-formed JSON, which [ParseJSON] checks.
type Value []byte

// maxDepth limits the nesting of JSON, and so the stack that reading needs.
const maxDepth = 1000

// ParseJSON checks that data is one well-formed JSON value and returns it.
func ParseJSON(data []byte) (Value, error) {
	s := scanner{data: data}
	start := s.space(0)
	end, ok := s.value(start, 0)
	if ok {
		if rest := s.space(end); rest != len(data) {
			s.fail(rest, "unexpected data after the value")
			ok = false
		}
	}
	if !ok {
		return nil, s.err
	}
	return Value(data[start:end]), nil
}

// Kind returns the value's type: '{', '[', '"', '0' (number), 't', 'f', 'n', or 0 for nil.
func (v Value) Kind() byte {
	if len(v) == 0 {
		return 0
	}
	if c := v[0]; c != '-' && (c < '0' || c > '9') {
		return c
	}
	return '0'
}

// Exists reports whether the value is neither nil nor null.
func (v Value) Exists() bool { return len(v) > 0 && v[0] != 'n' }

// Str returns a string's text.
func (v Value) Str() string {
	if v.Kind() != '"' || len(v) < 2 {
		return ""
	}
	raw := v[1 : len(v)-1]
	if plain(raw) {
		return string(raw)
	}
	// Nothing else refers to these bytes, so they can become the string without a copy.
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

// Int returns the value of a number, or of a string that contains one, without the fraction.
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

// Float returns a number's value.
func (v Value) Float() float64 {
	if v.Kind() != '0' {
		return 0
	}
	f, _ := strconv.ParseFloat(string(v), 64)
	return f
}

// Bool reports whether the value is true.
func (v Value) Bool() bool { return v.Kind() == 't' }

// Clone copies the value.
func (v Value) Clone() Value { return bytes.Clone(v) }

// Get returns the object member at the end of a path of names.
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

// Members returns an iterator over an object. It is empty if the value has another type:
//
//	for m := v.Members(); m.Next(); {
//		switch string(m.Key) { … m.Value … }
//	}
func (v Value) Members() Members { return Members{it: newWalk(v, '{')} }

// Elements returns an iterator over an array. It is empty if the value has another type.
func (v Value) Elements() Elements { return Elements{it: newWalk(v, '[')} }

// Members iterates over an object's members.
type Members struct {
	Key   []byte
	Value Value
	it    walk
}

// Elements iterates over an array's elements.
type Elements struct {
	Value Value
	it    walk
}

// Next advances to the next member and reports whether there is one.
func (m *Members) Next() bool {
	it := &m.it
	if it.pos == 0 || it.pos >= len(it.data) || it.data[it.pos] != '"' {
		return false
	}
	end, ok := it.str(it.pos)
	if !ok {
		return false
	}
	m.Key = it.data[it.pos+1 : end-1]
	if !plain(m.Key) {
		m.Key = unescape(nil, m.Key)
	}
	colon := it.space(end)
	if colon >= len(it.data) {
		return false
	}
	m.Value, ok = it.next(it.space(colon + 1))
	return ok
}

// Next advances to the next element and reports whether there is one.
func (e *Elements) Next() bool {
	it := &e.it
	if it.pos == 0 || it.pos >= len(it.data) || it.data[it.pos] == ']' {
		return false
	}
	var ok bool
	e.Value, ok = it.next(it.pos)
	return ok
}

type walk struct {
	scanner
	pos int // next member or element; 0 after the last
}

func newWalk(v Value, open byte) walk {
	if v.Kind() != open {
		return walk{}
	}
	it := walk{scanner: scanner{data: v}}
	it.pos = it.space(1)
	return it
}

// next returns the value at start and advances past the comma after it.
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
