package jsonscan

import (
	"encoding/binary"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// plain returns the number of bytes in b before an escape or a control character. It checks eight at a time.
func plain(b []byte) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x8080808080808080
	)
	i := 0
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		slash := w ^ '\\'*ones
		// The highest bit marks a control character or a backslash. Only the first mark is reliable.
		if hit := ((w-' '*ones)&^w | (slash-ones)&^slash) & highs; hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for i < len(b) && b[i] >= ' ' && b[i] != '\\' {
		i++
	}
	return i
}

// unquote returns the string with this text between its quotes.
func unquote(in []byte) (string, bool) {
	n := plain(in)
	if n == len(in) {
		return string(in), utf8.Valid(in)
	}
	var out strings.Builder
	out.Grow(len(in))
	for {
		out.Write(in[:n])
		in = in[n:]
		if len(in) == 0 {
			return out.String(), utf8.ValidString(out.String())
		}
		r, size := escape(in)
		if size == 0 {
			return "", false
		}
		if r < utf8.RuneSelf {
			out.WriteByte(byte(r)) // faster than WriteRune
		} else {
			out.WriteRune(r)
		}
		in = in[size:]
		n = plain(in)
	}
}

// valid reports whether encoding/json accepts a string with this text between its quotes. It rejects lone surrogates,
// which encoding/json accepts.
func valid(in []byte) bool {
	for {
		in = in[plain(in):]
		if len(in) == 0 {
			return true
		}
		_, size := escape(in)
		if size == 0 {
			return false
		}
		in = in[size:]
	}
}

// escape returns the character and the size of the escape that begins b. The size is 0 for an invalid escape or half a
// surrogate pair.
func escape(b []byte) (rune, int) {
	if len(b) < 2 || b[0] != '\\' {
		return 0, 0
	}
	switch c := b[1]; c {
	case '"', '\\', '/':
		return rune(c), 2
	case 'n':
		return '\n', 2
	case 't':
		return '\t', 2
	case 'r':
		return '\r', 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	}
	r, ok := hex4(b)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	low, ok := hex4(b[6:])
	if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
		return 0, 0
	}
	return r, 12
}

// hex4 decodes an escape like \u1234.
func hex4(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(n), err == nil
}
