package wire

import (
	"bytes"
	"strconv"
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
