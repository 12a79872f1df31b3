package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/reins-agent/reins/llm"
)

// Encoder appends JSON to Buf. It places commas by the last byte written, so that encoding can stop
// anywhere and continue later.
type Encoder struct{ Buf []byte }

// Open writes an opening bracket or brace, after a comma if one is needed.
func (e *Encoder) Open(bracket byte) {
	e.comma()
	e.Buf = append(e.Buf, bracket)
}

// Close writes a closing bracket or brace.
func (e *Encoder) Close(bracket byte) { e.Buf = append(e.Buf, bracket) }

// Key writes a member name, which must not need escaping.
func (e *Encoder) Key(name string) {
	e.comma()
	e.Buf = append(e.Buf, '"')
	e.Buf = append(e.Buf, name...)
	e.Buf = append(e.Buf, '"', ':')
}

// Str writes a string.
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

// Base64 writes a string: the prefix, which must not need escaping, and the data in base64.
func (e *Encoder) Base64(prefix string, data []byte) {
	e.comma()
	e.Buf = append(e.Buf, '"')
	e.Buf = append(e.Buf, prefix...)
	e.Buf = base64.StdEncoding.AppendEncode(e.Buf, data)
	e.Buf = append(e.Buf, '"')
}

// Field writes a member that is a string.
func (e *Encoder) Field(name, s string) {
	e.Key(name)
	e.Str(s)
}

// Member writes a member as it was read.
func (e *Encoder) Member(name []byte, value Value) {
	e.Str(string(name))
	e.Buf = append(e.Buf, ':')
	e.Raw(value)
}

// StrField writes a member that is a string, unless it is empty.
func (e *Encoder) StrField(name, s string) {
	if s != "" {
		e.Field(name, s)
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

// Rest returns the object without the members that skip reports, or nil if none are left.
func Rest(object Value, skip func(name string, value Value) bool) []byte {
	var e Encoder
	for m := object.Members(); m.Next(); {
		if skip(string(m.Key), m.Value) {
			continue
		}
		if e.Buf == nil {
			e.Open('{')
		}
		e.Member(m.Key, m.Value)
	}
	if e.Buf != nil {
		e.Close('}')
	}
	return e.Buf
}

// Digest returns 11 letters and digits derived from s. Adapters build call ids from it if the id of another
// provider does not have the form theirs requires.
func Digest(s string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s))
	letters := base64.RawURLEncoding.EncodeToString(h.Sum(nil))
	return strings.NewReplacer("-", "x", "_", "y").Replace(letters)
}

// AppendString appends s as a JSON string, with invalid UTF-8 replaced by U+FFFD.
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

// Head writes the request body members before the messages. Options replace members by name; a null option omits its
// member.
type Head struct {
	Encoder
	Options map[string]json.RawMessage
}

// HeadSize estimates a request's size without its conversation: the instructions, the tools, and the rest.
func HeadSize(r *llm.Request) int {
	n := 1024
	for _, m := range r.Messages {
		if m.Role == llm.RoleSystem {
			n += len(m.Text()) * 17 / 16 // with escapes
		}
	}
	for _, t := range r.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Parameters) + len(t.Hosted.Data) + 100
	}
	return n
}

// Set writes a member name and reports true, unless an option replaces the member.
func (h *Head) Set(name string) bool {
	if _, replaced := h.Options[name]; replaced {
		return false
	}
	h.Key(name)
	return true
}

// Extra writes the options, sorted by name.
func (h *Head) Extra() {
	for _, name := range slices.Sorted(maps.Keys(h.Options)) {
		if v := bytes.TrimSpace(h.Options[name]); len(v) > 0 && string(v) != "null" {
			h.Member([]byte(name), v)
		}
	}
}
