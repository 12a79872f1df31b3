package textfile

import (
	"encoding/binary"
	"fmt"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"
)

// An Encoding is a text encoding that this package reads and writes.
type Encoding uint8

// The known encodings.
const (
	UTF8 Encoding = iota
	UTF16LE
	UTF16BE
	GBK
	GB18030
	ISO8859_1
	Windows1252
)

// String returns the encoding's usual name.
func (e Encoding) String() string {
	switch e {
	case UTF8:
		return "UTF-8"
	case UTF16LE:
		return "UTF-16LE"
	case UTF16BE:
		return "UTF-16BE"
	case GBK:
		return "GBK"
	case GB18030:
		return "GB18030"
	case ISO8859_1:
		return "ISO 8859-1"
	case Windows1252:
		return "Windows-1252"
	}
	return "unknown"
}

// Encode encodes text, without a byte order mark. A character that the encoding cannot represent is an
// error.
func (e Encoding) Encode(text string) ([]byte, error) { return e.append(nil, text) }

// append appends the encoded text to dst.
func (e Encoding) append(dst []byte, text string) ([]byte, error) {
	if err := e.check(text); err != nil {
		return nil, err
	}
	switch e {
	case UTF8:
		return append(dst, text...), nil
	case UTF16LE:
		return appendUTF16(dst, text, binary.LittleEndian), nil
	case UTF16BE:
		return appendUTF16(dst, text, binary.BigEndian), nil
	}
	encoder := e.table().NewEncoder()
	for _, r := range text {
		// One character at a time, so the error can name it.
		encoded, err := encoder.String(string(r))
		if err != nil {
			return nil, e.lacks(r)
		}
		dst = append(dst, encoded...)
	}
	return dst, nil
}

// lacks returns the error for a character that the encoding cannot represent.
func (e Encoding) lacks(r rune) error {
	name := fmt.Sprintf("U+%04X", r)
	if unicode.IsPrint(r) {
		name = fmt.Sprintf("%q (U+%04X)", r, r)
	}
	return fmt.Errorf("the new text contains %s, which %s cannot represent; use only characters that the file's encoding supports", name, e)
}

// check rejects characters that a text file must not contain: NUL, which would make it binary, invalid UTF-8, and C1
// controls in encodings where their bytes are ambiguous.
func (e Encoding) check(text string) error {
	for i := 0; i < len(text); {
		b := text[i]
		if b != 0 && b < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		c1 := r >= 0x80 && r <= 0x9F && (e == ISO8859_1 || e == Windows1252)
		if r == 0 || c1 || (r == utf8.RuneError && size == 1) {
			return e.lacks(r)
		}
		i += size
	}
	return nil
}

// table returns the character table for an encoding that is not Unicode.
func (e Encoding) table() encoding.Encoding {
	switch e {
	case GBK:
		return simplifiedchinese.GBK
	case GB18030:
		return simplifiedchinese.GB18030
	case Windows1252:
		return charmap.Windows1252
	}
	return charmap.ISO8859_1
}

// asciiWidth returns how many bytes hold an ASCII character.
func (e Encoding) asciiWidth() int {
	if e == UTF16LE || e == UTF16BE {
		return 2
	}
	return 1
}

// width returns how many bytes hold the non-ASCII character at the start of source, given its length in
// UTF-8.
func (e Encoding) width(utf8Len int, source []byte) int {
	switch e {
	case UTF16LE, UTF16BE:
		if utf8Len == utf8.UTFMax {
			return 4
		}
		return 2
	case GBK, GB18030:
		return gbWidth(source)
	}
	return 1
}

// gbWidth returns the length of the GB18030 character that begins b, from its first two bytes.
func gbWidth(b []byte) int {
	switch {
	case b[0] <= 0x80 || len(b) == 1:
		return 1
	case b[1] >= '0' && b[1] <= '9':
		return 4
	}
	return 2
}

func appendUTF16(dst []byte, text string, order binary.AppendByteOrder) []byte {
	for _, r := range text {
		if hi, lo := utf16.EncodeRune(r); hi != utf8.RuneError {
			dst = order.AppendUint16(dst, uint16(hi))
			dst = order.AppendUint16(dst, uint16(lo))
			continue
		}
		dst = order.AppendUint16(dst, uint16(r))
	}
	return dst
}

// decodeUTF16 decodes data. bad is the offset of the first unit that is not part of a character, or -1.
func decodeUTF16(data []byte, order binary.ByteOrder) (text []byte, bad int) {
	text = make([]byte, 0, len(data)/2+len(data)/8)
	low, high := 0, 1
	if order == binary.BigEndian {
		low, high = 1, 0
	}
	i := 0
	for ; i+1 < len(data); i += 2 {
		if data[i+high] == 0 && data[i+low] < utf8.RuneSelf {
			text = append(text, data[i+low])
			continue
		}
		unit := rune(order.Uint16(data[i:]))
		if utf16.IsSurrogate(unit) {
			if i+3 >= len(data) {
				return nil, i
			}
			r := utf16.DecodeRune(unit, rune(order.Uint16(data[i+2:])))
			if r == utf8.RuneError {
				return nil, i
			}
			unit = r
			i += 2
		}
		text = utf8.AppendRune(text, unit)
	}
	if i < len(data) {
		return nil, i
	}
	return text, -1
}
