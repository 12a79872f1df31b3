// Package textfile decodes a file's bytes as text and writes changes back without changing other bytes.
//
// A [File] keeps the original bytes and their decoded text. An [Edit] replaces a span in the text; [File.Splice] maps
// the span to its bytes, encodes only the inserted text and copies the rest. Byte order mark, encoding, line endings
// and the final newline are therefore preserved.
//
// # Encodings
//
// [Decode] tries these in order and fails if none fits:
//
//  1. A byte order mark names UTF-8, UTF-16LE or UTF-16BE; the rest must be valid in it. UTF-32 is
//     rejected.
//  2. Valid UTF-8 without NUL bytes is UTF-8.
//  3. Data with NUL bytes is UTF-16 without a mark only if that is certain: every NUL is the high byte
//     of a unit, the units decode to characters that text files contain, and two thirds of them are
//     Latin. Anything else with a NUL byte is binary.
//  4. Data with control bytes that text does not have is binary. Data that is UTF-8 except for a few
//     bytes is damaged.
//  5. GBK, or GB18030 if it has four-byte characters: the bytes decode and encode back to themselves,
//     and at least half of the multi-byte characters are common ones (GB 2312 symbols and level-1
//     hanzi). Accented Western text can be valid GBK, but then its characters are rare ones.
//  6. ISO 8859-1 if no byte is in 0x80–0x9F, else Windows-1252 if all of those are assigned. In both,
//     at least half of the bytes must be ASCII; otherwise the file is probably Cyrillic, Greek or
//     something else.
//
// Confusing the last two cannot damage bytes that are not replaced, and ASCII is the same in all.
package textfile

import (
	"fmt"
	"unicode/utf8"
)

// A File is a decoded text file and its original bytes. It is immutable. It refers to the bytes passed
// to [Decode], which must not be modified.
type File struct {
	data []byte
	text []byte
	enc  Encoding
	bom  int
}

// Text returns the decoded text as UTF-8, without a byte order mark and with the file's line endings.
// The caller must not modify it.
func (f *File) Text() []byte { return f.text }

// Encoding returns the detected encoding.
func (f *File) Encoding() Encoding { return f.enc }

// BOM returns the byte order mark, or an empty slice.
func (f *File) BOM() []byte { return f.data[:f.bom:f.bom] }

// An Edit replaces the span [Start, End) in a file's text with Text.
type Edit struct {
	Start, End int
	Text       string
}

// Splice returns the file's bytes with the edits applied. Edits must be in order, must not overlap, and
// must lie on character boundaries. Text that the encoding cannot represent is an error that names the
// character.
func (f *File) Splice(edits []Edit) ([]byte, error) {
	size := len(f.data)
	for _, e := range edits {
		size += len(e.Text)
	}
	out := make([]byte, 0, size)
	at := cursor{file: f, source: f.bom}
	copied := 0
	for i, e := range edits {
		if e.Start < at.text || e.End < e.Start || e.End > len(f.text) {
			return nil, fmt.Errorf("textfile: edit %d: span [%d, %d) is out of range or out of order", i, e.Start, e.End)
		}
		start, ok1 := at.seek(e.Start)
		end, ok2 := at.seek(e.End)
		if !ok1 || !ok2 {
			return nil, fmt.Errorf("textfile: edit %d: span [%d, %d) splits a character", i, e.Start, e.End)
		}
		out = append(out, f.data[copied:start]...)
		var err error
		if out, err = f.enc.append(out, e.Text); err != nil {
			return nil, err
		}
		copied = end
	}
	return append(out, f.data[copied:]...), nil
}

// A cursor is a position in the text and in the original bytes.
type cursor struct {
	file         *File
	text, source int
}

// seek moves forward to a text offset and returns the byte offset of that character. It returns false
// if the offset is inside a character.
func (c *cursor) seek(offset int) (int, bool) {
	text := c.file.text
	if c.file.enc == UTF8 {
		c.source += offset - c.text
		c.text = offset
		return c.source, offset == len(text) || utf8.RuneStart(text[offset])
	}
	for c.text < offset {
		run := asciiRun(text[c.text:offset])
		c.text += run
		c.source += run * c.file.enc.asciiWidth()
		if c.text < offset {
			_, size := utf8.DecodeRune(text[c.text:])
			c.source += c.file.enc.width(size, c.file.data[c.source:])
			c.text += size
		}
	}
	return c.source, c.text == offset
}
