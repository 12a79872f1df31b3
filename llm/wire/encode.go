package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Encoder writes JSON onto Buf. It places commas by looking at the last byte written, so that an
// encoding can be broken off anywhere and continued later.
type Encoder struct{ Buf []byte }

// Open and Close write a bracket or brace. Open begins a value: in an array it is preceded by a
// comma where one is due.
func (e *Encoder) Open(bracket byte) {
	e.comma()
	e.Buf = append(e.Buf, bracket)
}

// Close ends what Open began.
func (e *Encoder) Close(bracket byte) { e.Buf = append(e.Buf, bracket) }

// Key writes a member's name. Names are written as they are and must need no escaping.
func (e *Encoder) Key(name string) {
	e.comma()
	e.Buf = append(e.Buf, '"')
	e.Buf = append(e.Buf, name...)
	e.Buf = append(e.Buf, '"', ':')
}

// Str, Int, Float, Bool and Raw write a value: an array's next element, or what a key names.
func (e *Encoder) Str(s string) {
	e.comma()
	e.Buf = AppendString(e.Buf, s)
}

// Int writes a number.
func (e *Encoder) Int(n int64) {
	e.comma()
	e.Buf = strconv.AppendInt(e.Buf, n, 10)
}

// Float writes a number.
func (e *Encoder) Float(f float64) {
	e.comma()
	e.Buf = strconv.AppendFloat(e.Buf, f, 'g', -1, 64)
}

// Bool writes true or false.
func (e *Encoder) Bool(b bool) {
	e.comma()
	e.Buf = strconv.AppendBool(e.Buf, b)
}

// Raw writes JSON that is already encoded.
func (e *Encoder) Raw(v []byte) {
	e.comma()
	e.Buf = append(e.Buf, v...)
}

// Base64 writes bytes as a base64 string behind a prefix, which must need no escaping.
func (e *Encoder) Base64(prefix string, data []byte) {
	e.comma()
	e.Buf = append(e.Buf, '"')
	e.Buf = append(e.Buf, prefix...)
	e.Buf = base64.StdEncoding.AppendEncode(e.Buf, data)
	e.Buf = append(e.Buf, '"')
}

// StrField writes a member that is a string, if the string is not empty.
func (e *Encoder) StrField(name, s string) {
	if s != "" {
		e.Key(name)
		e.Str(s)
	}
}

func (e *Encoder) comma() {
	if n := len(e.Buf); n > 0 {
		switch e.Buf[n-1] {
		case '{', '[', ':', ',':
		default:
			e.Buf = append(e.Buf, ',')
		}
	}
}

// AppendString appends s as a JSON string. What is not valid UTF-8 in s is written as U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r != utf8.RuneError || n > 1 {
				i += n
				continue
			}
		}
		dst = append(dst, s[start:i]...)
		dst = appendEscaped(dst, c)
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func appendEscaped(dst []byte, c byte) []byte {
	switch {
	case c == '"' || c == '\\':
		return append(dst, '\\', c)
	case c == '\n':
		return append(dst, '\\', 'n')
	case c == '\r':
		return append(dst, '\\', 'r')
	case c == '\t':
		return append(dst, '\\', 't')
	case c >= utf8.RuneSelf:
		return append(dst, "\uFFFD"...)
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// Head writes the members of a request's body that stand before its messages. Options replace the
// members they name; an option of null leaves its member out.
type Head struct {
	Encoder
	Options map[string]json.RawMessage
}

// Set writes a member's name and reports true, unless an option replaces the member.
func (h *Head) Set(name string) bool {
	if _, replaced := h.Options[name]; replaced {
		return false
	}
	h.Key(name)
	return true
}

// Extra writes the options, in the order of their names.
func (h *Head) Extra() {
	for _, name := range slices.Sorted(maps.Keys(h.Options)) {
		if v := bytes.TrimSpace(h.Options[name]); len(v) > 0 && string(v) != "null" {
			h.comma()
			h.Buf = AppendString(h.Buf, name)
			h.Buf = append(h.Buf, ':')
			h.Raw(v)
		}
	}
}
