package event

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// lift takes members with long texts out of a JSON object, which encoding/json would go over many
// times. It gives the texts, "" for one that is not there, and the object without them. It reads
// only what MarshalJSON writes: compact, each member once, and a text for each that is named. The
// rest is not checked, since it is decoded afterwards.
func lift(object []byte, names ...string) (texts []string, rest []byte, ok bool) {
	if len(object) < 2 || object[0] != '{' || object[len(object)-1] != '}' {
		return nil, nil, false
	}
	texts = make([]string, len(names))
	seen := make([]bool, len(names))
	rest = append(make([]byte, 0, 256), '{')
	for b := object[1 : len(object)-1]; len(b) > 0; {
		key, value, after, ok := member(b)
		if !ok {
			return nil, nil, false
		}
		i, ok := which(key, names)
		if !ok || i >= 0 && seen[i] {
			return nil, nil, false
		}
		if i < 0 {
			rest = append(append(rest, b[:len(key)+3+len(value)]...), ',')
		} else if texts[i], seen[i] = unquote(value); !seen[i] {
			return nil, nil, false
		}
		b = after
	}
	return texts, append(bytes.TrimSuffix(rest, []byte(",")), '}'), true
}

// which is the index of a key among names, or -1. A key that encoding/json would take for one of
// them without being it is not ok.
func which(key []byte, names []string) (int, bool) {
	for i, name := range names {
		if string(key) == name {
			return i, true
		}
		if strings.EqualFold(string(key), name) {
			return -1, false
		}
	}
	return -1, true
}

// member is the first member of the inside of an object, and what comes behind its comma.
func member(b []byte) (key, value, after []byte, ok bool) {
	n := textSize(b)
	if n < 0 || n >= len(b) || b[n] != ':' || bytes.ContainsFunc(b[1:n-1], special) {
		return nil, nil, nil, false
	}
	key, b = b[1:n-1], b[n+1:]
	n = valueSize(b)
	switch {
	case n <= 0:
		return nil, nil, nil, false
	case n == len(b):
		return key, b, nil, true
	case b[n] != ',' || n+1 == len(b):
		return nil, nil, nil, false
	}
	return key, b[:n], b[n+1:], true
}

// textSize is the size of the string that b begins with, or -1.
func textSize(b []byte) int {
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

// valueSize is the size of the value that b begins with, or -1.
func valueSize(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			n := textSize(b[i:])
			if n < 0 {
				return -1
			}
			i += n - 1
		case '{', '[':
			depth++
		case '}', ']':
			depth--
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

// unquote is the text that a JSON string stands for.
func unquote(literal []byte) (string, bool) {
	if textSize(literal) != len(literal) {
		return "", false
	}
	in := literal[1 : len(literal)-1]
	var out strings.Builder
	out.Grow(len(in))
	for {
		n := 0
		for n < len(in) && in[n] != '\\' && in[n] >= ' ' {
			n++
		}
		out.Write(in[:n])
		in = in[n:]
		if len(in) == 0 {
			return out.String(), utf8.ValidString(out.String())
		}
		size := unescape(&out, in)
		if size == 0 {
			return "", false
		}
		in = in[size:]
	}
}

// unescape adds what the escape at the start of b stands for, and gives the size of that, or 0.
func unescape(out *strings.Builder, b []byte) int {
	if len(b) < 2 || b[0] != '\\' {
		return 0
	}
	if i := strings.IndexByte(`"\/bfnrt`, b[1]); i >= 0 {
		out.WriteByte("\"\\/\b\f\n\r\t"[i])
		return 2
	}
	r, ok := hex4(b)
	if !ok {
		return 0
	}
	if !utf16.IsSurrogate(r) {
		out.WriteRune(r)
		return 6
	}
	low, ok := hex4(b[6:])
	r = utf16.DecodeRune(r, low)
	if !ok || r == utf8.RuneError {
		return 0
	}
	out.WriteRune(r)
	return 12
}

// hex4 reads an escape of the form \u1234.
func hex4(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(n), err == nil
}
