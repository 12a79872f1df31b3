package search

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// decode returns a file's text, without a byte order mark and converted to UTF-8 if the mark is for UTF-16. It reports
// false for a binary file, whose text has a NUL byte.
func decode(data []byte) (text []byte, ok bool) {
	switch {
	case len(data) >= 3 && data[0] == 0xEF && data[1] == 0xBB && data[2] == 0xBF:
		data = data[3:]
	case len(data) >= 2 && data[0] == 0xFF && data[1] == 0xFE:
		data = decodeUTF16(data[2:], binary.LittleEndian)
	case len(data) >= 2 && data[0] == 0xFE && data[1] == 0xFF:
		data = decodeUTF16(data[2:], binary.BigEndian)
	}
	return data, bytes.IndexByte(data, 0) < 0
}

// binaryHead reports whether a file that starts with these bytes is binary.
func binaryHead(head []byte) bool {
	if len(head) >= 2 && (head[0] == 0xFF && head[1] == 0xFE || head[0] == 0xFE && head[1] == 0xFF) {
		return false
	}
	return bytes.IndexByte(head, 0) >= 0
}

// decodeUTF16 converts to UTF-8. Unpaired surrogates and a trailing byte become U+FFFD.
func decodeUTF16(data []byte, order binary.ByteOrder) []byte {
	out := make([]byte, 0, len(data))
	for len(data) >= 2 {
		r := rune(order.Uint16(data))
		data = data[2:]
		if utf16.IsSurrogate(r) {
			pair := utf8.RuneError
			if len(data) >= 2 {
				pair = utf16.DecodeRune(r, rune(order.Uint16(data)))
			}
			if pair != utf8.RuneError {
				data = data[2:]
			}
			r = pair
		}
		out = utf8.AppendRune(out, r)
	}
	if len(data) > 0 {
		out = utf8.AppendRune(out, utf8.RuneError)
	}
	return out
}
