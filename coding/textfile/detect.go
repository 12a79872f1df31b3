package textfile

import (
	"bytes"
	"encoding/binary"
	"unicode"
	"unicode/utf8"
)

const (
	bomUTF8    = "\xEF\xBB\xBF"
	bomUTF16LE = "\xFF\xFE"
	bomUTF16BE = "\xFE\xFF"
	bomUTF32LE = "\xFF\xFE\x00\x00"
	bomUTF32BE = "\x00\x00\xFE\xFF"
)

// Decode reads data as text by the rules in the package comment. The error is
// an [*Error]. The File refers to data, which must not change while it is used.
func Decode(data []byte) (*File, error) {
	if file, err := decodeMarked(data); file != nil || err != nil {
		return file, err
	}
	nul := bytes.IndexByte(data, 0)
	if nul < 0 && utf8.Valid(data) {
		return &File{data: data, text: data, enc: UTF8}, nil
	}
	if nul >= 0 {
		if file := decodeUnmarkedUTF16(data); file != nil {
			return file, nil
		}
		return nil, &Error{Kind: Binary, Offset: nul, Reason: "there is a NUL byte"}
	}
	return decodeLegacy(data)
}

// decodeMarked handles data with a byte order mark; it returns nil, nil when
// there is none.
func decodeMarked(data []byte) (*File, error) {
	has := func(mark string) bool { return bytes.HasPrefix(data, []byte(mark)) }
	switch {
	case has(bomUTF32LE), has(bomUTF32BE):
		return nil, &Error{Kind: UnknownEncoding, Reason: "there is a UTF-32 byte order mark"}
	case has(bomUTF16LE):
		return decodeMarkedUTF16(data, UTF16LE, binary.LittleEndian)
	case has(bomUTF16BE):
		return decodeMarkedUTF16(data, UTF16BE, binary.BigEndian)
	case has(bomUTF8):
		text := data[len(bomUTF8):]
		if bad := firstInvalid(text); bad >= 0 {
			return nil, &Error{Kind: Malformed, Encoding: UTF8, Offset: bad + len(bomUTF8), Reason: "there is an invalid sequence"}
		}
		if nul := bytes.IndexByte(text, 0); nul >= 0 {
			return nil, &Error{Kind: Binary, Offset: nul + len(bomUTF8), Reason: "there is a NUL byte"}
		}
		return &File{data: data, text: text, enc: UTF8, bom: len(bomUTF8)}, nil
	}
	return nil, nil
}

func decodeMarkedUTF16(data []byte, enc Encoding, order binary.ByteOrder) (*File, error) {
	const mark = len(bomUTF16LE)
	text, bad := decodeUTF16(data[mark:], order)
	if bad >= 0 {
		return nil, &Error{Kind: Malformed, Encoding: enc, Offset: bad + mark, Reason: "there is half of a character"}
	}
	if nul := bytes.IndexByte(text, 0); nul >= 0 {
		return nil, &Error{Kind: Binary, Offset: mark, Reason: "there is a NUL character"}
	}
	return &File{data: data, text: text, enc: enc, bom: mark}, nil
}

func firstInvalid(text []byte) int {
	if utf8.Valid(text) {
		return -1
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// damagedUTF8 returns the offset of the first invalid byte of data that is
// clearly UTF-8 apart from a few bytes, and otherwise -1. Text in another
// encoding has few valid sequences, and those by accident.
func damagedUTF8(data []byte) int {
	valid, invalid, first := 0, 0, -1
	for i := asciiRun(data); i < len(data); i += asciiRun(data[i:]) {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			invalid++
			if first < 0 {
				first = i
			}
		} else {
			valid++
		}
		i += size
	}
	if valid >= 2*invalid {
		return first
	}
	return -1
}

// decodeUnmarkedUTF16 returns nil unless data is certainly UTF-16.
func decodeUnmarkedUTF16(data []byte) *File {
	if len(data) < 4 || len(data)%2 != 0 {
		return nil
	}
	var nuls [2]int // at even and odd offsets
	for i, b := range data {
		if b == 0 {
			nuls[i%2]++
		}
	}
	enc, order := UTF16LE, binary.ByteOrder(binary.LittleEndian)
	switch {
	case nuls[0] > 0 && nuls[1] > 0:
		return nil
	case nuls[0] > 0:
		enc, order = UTF16BE, binary.BigEndian
	}
	if units := len(data) / 2; 3*(nuls[0]+nuls[1]) < 2*units {
		return nil
	}
	text, bad := decodeUTF16(data, order)
	if bad >= 0 || !plausible(text) {
		return nil
	}
	return &File{data: data, text: text, enc: enc}
}

// plausible reports whether every character is one that text files contain.
func plausible(text []byte) bool {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		i += size
		if r < 0x20 && !isTextControl(byte(r)) || r == 0x7F {
			return false
		}
		if r >= utf8.RuneSelf && !unicode.IsGraphic(r) && !unicode.Is(unicode.Cf, r) {
			return false
		}
	}
	return true
}

// isTextControl reports whether a C0 control byte occurs in text: white space,
// and the escape character of terminal logs.
func isTextControl(b byte) bool {
	return b >= '\t' && b <= '\r' || b == 0x1B
}

// isUnassigned1252 reports whether Windows-1252 has no character for b.
func isUnassigned1252(b byte) bool {
	switch b {
	case 0x81, 0x8D, 0x8F, 0x90, 0x9D:
		return true
	}
	return false
}

// decodeLegacy handles data without NUL bytes that is not UTF-8.
func decodeLegacy(data []byte) (*File, error) {
	high, c1, firstHigh, unassigned := 0, 0, -1, -1
	for i, b := range data {
		switch {
		case b < 0x20 && !isTextControl(b), b == 0x7F:
			return nil, &Error{Kind: Binary, Offset: i, Reason: "there is a control byte in data that is not UTF-8"}
		case b >= utf8.RuneSelf:
			high++
			if firstHigh < 0 {
				firstHigh = i
			}
			if b <= 0x9F {
				c1++
			}
			if unassigned < 0 && isUnassigned1252(b) {
				unassigned = i
			}
		}
	}
	if bad := damagedUTF8(data); bad >= 0 {
		return nil, &Error{Kind: Malformed, Encoding: UTF8, Offset: bad, Reason: "there is an invalid sequence"}
	}
	if file := decodeChinese(data); file != nil {
		return file, nil
	}
	enc := ISO8859_1
	if c1 > 0 {
		enc = Windows1252
	}
	if unassigned >= 0 {
		return nil, &Error{Kind: UnknownEncoding, Offset: unassigned, Reason: "the bytes are neither UTF-8, GBK nor Windows-1252"}
	}
	if 2*high > len(data) {
		return nil, &Error{Kind: UnknownEncoding, Offset: firstHigh, Reason: "most bytes are outside ASCII and neither UTF-8 nor GBK"}
	}
	text, ok := enc.decodeTable(data)
	if !ok {
		return nil, &Error{Kind: UnknownEncoding, Offset: firstHigh, Reason: "the bytes do not decode"}
	}
	return &File{data: data, text: text, enc: enc}, nil
}

// decodeChinese returns nil unless data reads as Chinese text in GBK or
// GB18030 and encodes back to the same bytes.
func decodeChinese(data []byte) *File {
	if !looksChinese(data) {
		return nil
	}
	for _, enc := range []Encoding{GBK, GB18030} {
		if text, ok := enc.decodeTable(data); ok {
			return &File{data: data, text: text, enc: enc}
		}
	}
	return nil
}

// looksChinese checks the shape of GB18030 and that at least half of the
// multi-byte characters are symbols or level-1 hanzi of GB 2312.
func looksChinese(data []byte) bool {
	all, common := 0, 0
	for i := asciiRun(data); i < len(data); i += asciiRun(data[i:]) {
		width := gbWidth(data[i:])
		if width == 1 || i+width > len(data) {
			return false
		}
		lead, trail := data[i], data[i+1]
		if width == 2 && trail < 0x40 {
			return false
		}
		all++
		if trail >= 0xA1 && (lead >= 0xA1 && lead <= 0xA3 || lead >= 0xB0 && lead <= 0xD7) {
			common++
		}
		i += width
	}
	return all > 0 && 2*common >= all
}
