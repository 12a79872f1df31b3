package jsonscan

import (
	"encoding/binary"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// plain is how many bytes at the start of b stand for themselves in a string: up to an escape or a
// control character. It looks at eight of them at a time.
func plain(b []byte) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x8080808080808080
	)
	i := 0
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		slash := w ^ '\\'*ones
		// The highest bit of a byte says that it is small or a backslash; above the first such
		// byte it may be wrong.
		if hit := ((w-' '*ones)&^w | (slash-ones)&^slash) & highs; hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for i < len(b) && b[i] >= ' ' && b[i] != '\\' {
		i++
	}
	return i
}

// unquote is the text that stands between the quotes of a string.
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
			out.WriteByte(byte(r)) // which is cheaper than a rune
		} else {
			out.WriteRune(r)
		}
		in = in[size:]
		n = plain(in)
	}
}

// valid reports whether encoding/json would take what stands between the quotes of a string. It
// says no to some that are odd.
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

// escape is what the escape at the start of b stands for, and its size; 0 if there is none, or half
// of a surrogate pair.
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

// hex4 reads an escape of the form \u1234.
func hex4(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(n), err == nil
}
