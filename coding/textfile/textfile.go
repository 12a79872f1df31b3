// Package textfile reads a file's bytes as text and writes changes back so
// that nothing but the changed span differs.
//
// A [File] keeps the original bytes beside their decoded text. A change names
// a span of the text; [File.Splice] maps the span to the bytes it came from,
// encodes only the inserted text and copies everything else. Byte order mark,
// encoding, line endings and the final newline therefore survive without any
// rule about them, because untouched bytes are never encoded again.
//
// # Encodings
//
// [Decode] decides in this order, and refuses when nothing fits:
//
//  1. A byte order mark names UTF-8, UTF-16LE or UTF-16BE; the rest must be
//     valid in it. The marks of UTF-32 are refused.
//  2. Valid UTF-8 without NUL bytes is UTF-8.
//  3. Data with NUL bytes is UTF-16 without a mark only when that is certain:
//     every NUL is the high byte of a unit, the units decode, no unit is a
//     control or an unassigned character, and two thirds are ASCII or at least
//     Latin. Anything else with a NUL byte is binary.
//  4. Data with control bytes that text does not have is binary, and data
//     that is UTF-8 apart from a few bytes is damaged; both are refused.
//  5. GBK, or GB18030 when four-byte characters occur: the bytes decode and
//     encode back to themselves, and at least half of the multi-byte
//     characters are common ones (GB 2312 symbols and level-1 hanzi). Accented
//     Western text is sometimes valid GBK, but then as rare characters.
//  6. ISO 8859-1 when no byte is in 0x80–0x9F, Windows-1252 when each of those
//     is assigned in it; in both, ASCII must be at least half of the bytes, or
//     the file is more likely Cyrillic, Greek or something else unknown.
//
// A wrong choice between the last two cannot harm bytes that are not replaced,
// and ASCII is the same in all of them.
package textfile

import (
	"fmt"
	"unicode/utf8"
)

// A File is a decoded text file together with the bytes it came from. It is
// immutable and keeps a reference to those bytes, which must not be modified.
type File struct {
	data []byte
	text []byte
	enc  Encoding
	bom  int
}

// Text returns the decoded text as UTF-8, without a byte order mark and with
// the line endings of the file. The caller must not modify it.
func (f *File) Text() []byte { return f.text }

// Encoding returns the encoding that was detected.
func (f *File) Encoding() Encoding { return f.enc }

// HasBOM reports whether the file starts with a byte order mark.
func (f *File) HasBOM() bool { return f.bom > 0 }

// An Edit replaces the span [Start, End) of a file's text by Text. Start equal
// to End inserts.
type Edit struct {
	Start, End int
	Text       string
}

// A Span says where an edit is in the bytes before and after it.
type Span struct {
	OldStart, OldEnd int // the replaced bytes of the original
	NewStart, NewEnd int // the bytes that stand in the result instead
}

// Splice returns the file's bytes with the edits made, and one Span per edit.
// Edits are in order, do not overlap and lie on character boundaries. Every
// byte outside the spans is the original one. Text that the encoding cannot
// represent gives an [*Error] of kind [Unencodable] that names the character.
func (f *File) Splice(edits []Edit) ([]byte, []Span, error) {
	size := len(f.data)
	for _, e := range edits {
		size += len(e.Text)
	}
	out := make([]byte, 0, size)
	spans := make([]Span, len(edits))
	at := cursor{file: f, source: f.bom}
	copied := 0
	for i, e := range edits {
		if e.Start < at.text || e.End < e.Start || e.End > len(f.text) {
			return nil, nil, fmt.Errorf("textfile: edit %d has span [%d, %d) outside the text or before the previous edit", i, e.Start, e.End)
		}
		start, ok1 := at.seek(e.Start)
		end, ok2 := at.seek(e.End)
		if !ok1 || !ok2 {
			return nil, nil, fmt.Errorf("textfile: edit %d has span [%d, %d) that splits a character", i, e.Start, e.End)
		}
		out = append(out, f.data[copied:start]...)
		span := Span{OldStart: start, OldEnd: end, NewStart: len(out)}
		var err error
		if out, err = f.enc.append(out, e.Text); err != nil {
			return nil, nil, err
		}
		span.NewEnd = len(out)
		spans[i] = span
		copied = end
	}
	return append(out, f.data[copied:]...), spans, nil
}

// SourceSpan returns the span of the original bytes that holds the span
// [start, end) of the text. Both must be character boundaries.
func (f *File) SourceSpan(start, end int) (int, int) {
	at := cursor{file: f, source: f.bom}
	from, _ := at.seek(start)
	to, _ := at.seek(end)
	return from, to
}

// A cursor walks the text and the bytes it came from in step.
type cursor struct {
	file         *File
	text, source int
}

// seek moves forward to the text offset and returns the offset of the same
// character in the original bytes; it reports false inside a character.
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
