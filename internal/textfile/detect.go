package textfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
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

// Decode decodes data by the rules in the package comment. The File refers to data, which must not be modified.
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
		return nil, binaryError(nul, "NUL byte")
	}
	return decodeLegacy(data)
}

func binaryError(offset int, what string) error {
	return fmt.Errorf("the file is binary, not text (%s at byte %d)", what, offset)
}

func malformedError(enc Encoding, offset int, what string) error {
	return fmt.Errorf("the file is not valid %s (%s at byte %d)", enc, what, offset)
}

func unknownError(offset int, why string) error {
	return fmt.Errorf("the file is not text in a known encoding (%s at byte %d)", why, offset)
}

// decodeMarked decodes data with a byte order mark. It returns nil, nil without a mark.
func decodeMarked(data []byte) (*File, error) {
	has := func(mark string) bool { return bytes.HasPrefix(data, []byte(mark)) }
	switch {
	case has(bomUTF32LE), has(bomUTF32BE):
		return nil, unknownError(0, "UTF-32 byte order mark")
	case has(bomUTF16LE):
		return decodeMarkedUTF16(data, UTF16LE, binary.LittleEndian)
	case has(bomUTF16BE):
		return decodeMarkedUTF16(data, UTF16BE, binary.BigEndian)
	case has(bomUTF8):
		text := data[len(bomUTF8):]
		if bad := firstInvalid(text); bad >= 0 {
			return nil, malformedError(UTF8, bad+len(bomUTF8), "invalid sequence")
		}
		if nul := bytes.IndexByte(text, 0); nul >= 0 {
			return nil, binaryError(nul+len(bomUTF8), "NUL byte")
		}
		return &File{data: data, text: text, enc: UTF8, bom: len(bomUTF8)}, nil
	}
	return nil, nil
}

func decodeMarkedUTF16(data []byte, enc Encoding, order binary.ByteOrder) (*File, error) {
	const mark = len(bomUTF16LE)
	text, bad := decodeUTF16(data[mark:], order)
	if bad >= 0 {
		return nil, malformedError(enc, bad+mark, "half a character")
	}
	if nul := bytes.IndexByte(text, 0); nul >= 0 {
		return nil, binaryError(mark, "NUL character")
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

// damagedUTF8 returns the first invalid byte's offset if data is clearly UTF-8 except for a few bytes, otherwise -1.
// Text in other encodings has few valid sequences.
func damagedUTF8(data []byte) int {
	valid := 0
	invalid := 0
	first := -1
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

// decodeUnmarkedUTF16 decodes UTF-16 without a mark. It returns nil unless data is certainly UTF-16.
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

// isTextControl reports whether a C0 control byte occurs in text: white space, and the escape character
// of terminal logs.
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

// decodeLegacy decodes data without NUL bytes that is not UTF-8.
func decodeLegacy(data []byte) (*File, error) {
	high := 0
	c1 := 0
	firstHigh := -1
	unassigned := -1
	for i, b := range data {
		switch {
		case b < 0x20 && !isTextControl(b), b == 0x7F:
			return nil, binaryError(i, "control byte in data that is not UTF-8")
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
		return nil, malformedError(UTF8, bad, "invalid sequence")
	}
	if file := decodeChinese(data); file != nil {
		return file, nil
	}
	enc := ISO8859_1
	if c1 > 0 {
		enc = Windows1252
	}
	if unassigned >= 0 {
		return nil, unknownError(unassigned, "not UTF-8, GBK or Windows-1252")
	}
	if 2*high > len(data) {
		return nil, unknownError(firstHigh, "mostly non-ASCII bytes that are not UTF-8 or GBK")
	}
	text, ok := enc.decodeTable(data)
	if !ok {
		return nil, unknownError(firstHigh, "undecodable bytes")
	}
	return &File{data: data, text: text, enc: enc}, nil
}

// decodeChinese decodes GBK or GB18030. It returns nil unless data reads as Chinese text and encodes
// back to the same bytes.
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

// looksChinese reports whether data has the shape of GB18030 and at least half of its multi-byte characters are symbols
// or level-1 hanzi in GB 2312.
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
