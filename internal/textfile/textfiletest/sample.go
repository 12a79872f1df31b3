// Package textfiletest draws text files in every encoding and with every line ending, for property tests.
package textfiletest

import (
	"fmt"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
	"pgregory.net/rapid"
)

// A Format is an encoding with its byte order mark and characters for sample files.
type Format struct {
	Name     string
	encoding encoding.Encoding
	bom      string
	alphabet []rune // non-ASCII characters that are certain to be recognised
	header   string // a first line that makes the encoding recognisable
}

const (
	anyText  = "äß漢字–“”’ é→\u00a0\U0001F600"
	ansiText = "äöüéèñçÀÉ"
	hanText  = "的是在中国人有我他这个们来到时大地为子"
)

func formats() []Format {
	utf16 := func(order unicode.Endianness) encoding.Encoding {
		return unicode.UTF16(order, unicode.IgnoreBOM)
	}
	return []Format{
		{"UTF-8", encoding.Nop, "", []rune(anyText), ""},
		{"UTF-8 with BOM", encoding.Nop, "\xEF\xBB\xBF", []rune(anyText), ""},
		{"UTF-16LE with BOM", utf16(unicode.LittleEndian), "\xFF\xFE", []rune(anyText), ""},
		{"UTF-16BE with BOM", utf16(unicode.BigEndian), "\xFE\xFF", []rune(anyText), ""},
		{"UTF-16LE", utf16(unicode.LittleEndian), "", []rune("éß漢"), "a header that keeps the file mostly ASCII"},
		{"UTF-16BE", utf16(unicode.BigEndian), "", []rune("éß漢"), "a header that keeps the file mostly ASCII"},
		{"GBK", simplifiedchinese.GBK, "", []rune(hanText), "中文"},
		{"GB18030", simplifiedchinese.GB18030, "", []rune(hanText), "中文的人 \U00020000"},
		// A high byte before a space is not GBK, and these letters cannot start a UTF-8 sequence.
		{"ISO 8859-1", charmap.ISO8859_1, "", []rune(ansiText), "caf\u00e9 au lait"},
		{"Windows-1252", charmap.Windows1252, "", []rune("üöÀ€“”–"), "10\u20ac and caf\u00e9 au lait"},
	}
}

// Encode encodes text, which must be representable.
func (f Format) Encode(t *rapid.T, text string) string {
	out, err := f.encoding.NewEncoder().String(text)
	if err != nil {
		t.Fatalf("encoding %q as %s: %v", text, f.Name, err)
	}
	return out
}

// Line draws a text line, without an ending, in the format's characters.
func (f Format) Line(t *rapid.T, label string) string {
	// Without <, which starts a line's unique text.
	const ascii = "abcxyzABC0123 (){}[]=+-*/.,:;'\">\t_#"
	kinds := rapid.SliceOfN(rapid.IntRange(0, 9), 0, 20).Draw(t, label)
	var line []rune
	for i, kind := range kinds {
		if kind == 9 {
			line = append(line, f.alphabet[rapid.IntRange(0, len(f.alphabet)-1).Draw(t, fmt.Sprintf("%s char %d", label, i))])
			continue
		}
		line = append(line, rune(ascii[rapid.IntRange(0, len(ascii)-1).Draw(t, fmt.Sprintf("%s ascii %d", label, i))]))
	}
	return string(line)
}

// A Sample is a text file and its parts. Every line starts with a unique text, such as <7>.
type Sample struct {
	Format
	BOM     string   // the mark's bytes
	Lines   []string // decoded, without endings
	Endings []string // one per line; the last may be empty
}

// Draw draws a sample of at least one line.
func Draw(t *rapid.T) Sample {
	all := formats()
	format := all[rapid.IntRange(0, len(all)-1).Draw(t, "format")]
	endings := rapid.SampledFrom([][]string{{"\n"}, {"\r\n"}, {"\r"}, {"\n", "\r\n", "\r"}}).Draw(t, "endings")
	s := Sample{Format: format, BOM: format.bom}
	count := rapid.IntRange(1, 12).Draw(t, "lines")
	for i := range count {
		line := fmt.Sprintf("<%d>", i)
		if i == 0 {
			line += format.header
		}
		s.Lines = append(s.Lines, line+format.Line(t, fmt.Sprintf("line %d", i)))
		s.Endings = append(s.Endings, rapid.SampledFrom(endings).Draw(t, fmt.Sprintf("ending %d", i)))
	}
	if !rapid.Bool().Draw(t, "final newline") {
		s.Endings[count-1] = ""
	}
	return s
}

// Bytes returns the bytes of the lines [from, to).
func (s Sample) Bytes(t *rapid.T, from, to int) string {
	out := ""
	for i := from; i < to; i++ {
		out += s.Encode(t, s.Lines[i]+s.Endings[i])
	}
	return out
}

// File returns the whole file's bytes.
func (s Sample) File(t *rapid.T) string {
	return s.BOM + s.Bytes(t, 0, len(s.Lines))
}
