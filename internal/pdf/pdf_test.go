package pdf

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// file returns a PDF with objects, numbered from 1, and a trailer.
func file(objects ...string) []byte {
	var b strings.Builder
	b.WriteString("%PDF-1.7\n")
	for i, o := range objects {
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	b.WriteString("trailer << /Root 1 0 R >>\n%%EOF\n")
	return []byte(b.String())
}

// packed returns a compressed stream.
func packed(head, content string) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	w.Write([]byte(content))
	w.Close()
	return fmt.Sprintf("<< %s /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream", head, b.Len(), b.Bytes())
}

func plainStream(head, content string) string {
	return fmt.Sprintf("<< %s /Length %d >> stream\n%s\nendstream", head, len(content), content)
}

const (
	catalog = "<< /Type /Catalog /Pages 2 0 R >>"
	one     = "<< /Type /Pages /Kids [3 0 R] /Count 1 /Resources << /Font << /F 5 0 R >> >> >>"
	page    = "<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>"
	latin   = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
)

// simple returns a file of one page with a content stream and a font.
func simple(content, font string, more ...string) []byte {
	return file(append([]string{catalog, one, page, packed("", content), font}, more...)...)
}

func TestText(t *testing.T) {
	cmap := packed("", `/CIDInit /ProcSet findresource begin 1 begincodespacerange <0000> <ffff> endcodespacerange
2 beginbfchar <0001> <0048> <0002> <D83DDE00> endbfchar
2 beginbfrange <0003> <0005> <0061> <0010> <0011> [<00660066> <0020>] endbfrange end`)
	wide := "<< /Subtype /Type0 /Encoding /Identity-H /DescendantFonts [<< /Subtype /CIDFontType2 /DW 500 /W [3 [400 400] 5 6 300] >>] /ToUnicode 6 0 R >>"
	measured := "<< /Subtype /TrueType /Encoding /WinAnsiEncoding /FirstChar 97 /Widths [500 500 500] >>"
	var rows strings.Builder
	for i, row := range []string{"BT /F 12 Tf ", "(rows) Tj ET "} {
		rows.WriteByte(byte(2 - i)) // above, and the left neighbour
		row += strings.Repeat(" ", 14-len(row))
		for j := range row {
			switch {
			case i == 0:
				rows.WriteByte(row[j])
			case j == 0:
				rows.WriteByte(row[j])
			default:
				rows.WriteByte(row[j] - row[j-1])
			}
		}
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"lines":       {simple(`BT /F 12 Tf 72 700 Td (Hello) Tj 0 -14 Td (caf\351 \(1\)) Tj T* (open\) Tj ET`, latin), "Hello\ncafé (1)"},
		"next line":   {simple("BT /F 12 Tf 14 TL (one) Tj (two) ' 1 2 (three) \" ET", latin), "one\ntwo\nthree"},
		"kerning":     {simple("BT /F 12 Tf [(W) 80 (o) -20 (rd) -300 (next)] TJ ET", latin), "Word next"},
		"glued":       {simple("BT /F 10 Tf 1 0 0 1 10 10 Tm (ab) Tj 1 0 0 1 20 10 Tm (c) Tj 1 0 0 1 30 10 Tm (a) Tj ET", measured), "abc a"},
		"hex":         {simple("BT /F 12 Tf <48 65 6C6c6F> Tj ET", latin), "Hello"},
		"wide":        {simple("BT /F 12 Tf <00010003000400100011000500020009> Tj ET", wide, cmap), "Habff c😀"},
		"names":       {simple("BT /F 12 Tf (abcdef) Tj ET", "<< /Subtype /Type1 /Encoding << /Differences [97 /fi /Adieresis /uni20AC /A.alt /nothing /space] >> >>"), "fiÄ€A"},
		"mac":         {simple(`BT /F 12 Tf (\212) Tj ET`, "<< /Subtype /TrueType /Encoding /MacRomanEncoding >>"), "ä"},
		"image":       {simple("BI /W 1 ID \x00(\xff EI BT /F 12 Tf (after) Tj ET", latin), "after"},
		"predictor":   {file(catalog, one, page, packed("/DecodeParms << /Predictor 15 /Columns 14 >>", rows.String()), latin), "rows"},
		"two streams": {file(catalog, one, "<< /Type /Page /Contents [4 0 R 6 0 R] >>", packed("", "BT /F 12 Tf (first)"), latin, plainStream("", "Tj ET BT 0 -20 Td (second) Tj ET")), "first\nsecond"},
		"form":        {simple("/X Do BT /F 12 Tf 0 -30 Td (own) Tj ET", latin, "unused", packed("/Type /XObject /Subtype /Form", "BT /F 12 Tf (form) Tj ET")), "own"},
		"pages": {file(catalog, "<< /Type /Pages /Kids [6 0 R 3 0 R] >>", page, packed("", "BT (last) Tj ET"), latin,
			"<< /Type /Pages /Kids [7 0 R 6 0 R] >>", "<< /Type /Page /Contents 8 0 R >>", packed("", "BT (first) Tj ET")), "first\n\nlast"},
		"object stream": {file(catalog, "null", page, packed("", "BT /F 12 Tf (packed) Tj ET"), "null",
			packed("/Type /ObjStm /N 2 /First 9", "12 0 15 5 null "+latin)), "packed"},
		"no trailer":      {bytes.Replace(simple("BT (found) Tj ET", latin), []byte("trailer"), []byte("traitor"), 1), "found"},
		"wrong length":    {file(catalog, one, page, strings.Replace(plainStream("", "BT (long) Tj ET"), "/Length", "/Length 3 /X", 1), latin), "long"},
		"replaced object": {append(simple("BT (old) Tj ET", latin), []byte("\n4 0 obj "+plainStream("", "BT (new) Tj ET")+" endobj")...), "new"},
		"no font":         {simple("BT (plain) Tj ET", "null"), "plain"},
		"cut off":         {simple("BT (cut) Tj ET", latin)[:330], "cut"},
	} {
		got, err := Text(t.Context(), c.data)
		if err != nil || got != c.want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, c.want)
		}
	}
}

// The samples were made by programs from our own texts.
func TestText_RealPrograms(t *testing.T) {
	files, err := filepath.Glob("testdata/*.pdf")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(strings.TrimSuffix(path, ".pdf") + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		got, err := Text(t.Context(), data)
		if err != nil || got != strings.TrimSpace(string(want)) {
			t.Errorf("%s: %v, got\n%s\nwant\n%s", path, err, got, want)
		}
	}
}

func TestText_Refuses(t *testing.T) {
	done, cancel := context.WithCancel(t.Context())
	cancel()
	encrypted := bytes.Replace(simple("BT (x) Tj ET", latin), []byte("/Root"), []byte("/Encrypt << >> /Root"), 1)
	bomb := simple(strings.Repeat(" ", MaxDecoded+1), latin)
	for name, c := range map[string]struct {
		ctx  context.Context
		data []byte
		want error
	}{
		"nothing":    {t.Context(), nil, ErrInvalid},
		"not a PDF":  {t.Context(), []byte("<html>"), ErrInvalid},
		"no objects": {t.Context(), []byte("%PDF-1.7\n"), ErrNoText},
		"no text":    {t.Context(), simple("0 0 1 1 re f", latin), ErrNoText},
		"encrypted":  {t.Context(), encrypted, ErrEncrypted},
		"bomb":       {t.Context(), bomb, ErrTooLarge},
		"cancelled":  {done, simple("BT (x) Tj ET", latin), context.Canceled},
	} {
		if got, err := Text(c.ctx, c.data); !errors.Is(err, c.want) {
			t.Errorf("%s: got %.20q, %v, want %v", name, got, err, c.want)
		}
	}
}

// Hostile files end with a result or an error, without a panic, and without more work than their size allows.
func TestText_HostileFilesEnd(t *testing.T) {
	const many = 50_000
	huge := "1" + strings.Repeat("0", 300)
	chain := make([]string, 0, many)
	for i := range cap(chain) {
		chain = append(chain, fmt.Sprintf("<< /Length %d 0 R >> stream\nendstream", i+2))
	}
	heads := func(rest string) []byte {
		var b strings.Builder
		b.WriteString("%PDF-1.7\n")
		for i := range many {
			fmt.Fprintf(&b, "%d 0 obj%s", i, rest)
		}
		return []byte(b.String())
	}
	wide := "<< /Subtype /Type0 /DescendantFonts [<< /W [" + strings.Repeat("0 65535 1 ", many) + "] >>] >>"
	self := "BT /F 1 Tf (x) Tj ET /X Do /X Do /X Do"
	for name, data := range map[string][]byte{
		"deep":          simple("BT (x) Tj ET", strings.Repeat("[", many)),
		"deep dict":     simple("BT (x) Tj ET", strings.Repeat("<</A", many)),
		"open objects":  heads("<<"),
		"open texts":    heads("("),
		"open streams":  heads("<<>>stream"),
		"lengths":       file(chain...),
		"itself":        file("<< /Pages 1 0 R /Kids [1 0 R 1 0 R] >>", "2 0 R"),
		"own form":      file(catalog, "<< /Kids [3 0 R] /Resources 5 0 R >>", page, packed("/Subtype /Form", self), "<< /XObject << /X 4 0 R >> /Font << /F 6 0 R >> >>", latin),
		"wide":          simple(strings.Repeat("/F 1 Tf (x) Tj ", 1000), wide),
		"inline font":   file(catalog, "<< /Kids [3 0 R] /Resources << /Font << /F "+wide+" >> >> >>", page, packed("", strings.Repeat("/F 1 Tf ", 100_000))),
		"long ligature": simple("BT /F 1 Tf <"+strings.Repeat("01", many)+"> Tj ET", "<< /Subtype /Type1 /ToUnicode 6 0 R >>", packed("", "<01> <"+strings.Repeat("0041", many)+"> endbfchar")),
		"ranges":        simple("BT /F 1 Tf (x) Tj ET", "<< /Subtype /Type1 /ToUnicode 6 0 R >>", packed("", strings.Repeat("<0000> <ffff> <0041> ", 50_000)+" endbfrange")),
		"numbers": simple("BT (x) Tj ET 1e999 +Inf "+huge+" -"+huge+" Td (y) Tj", "<< /FirstChar -"+huge+" /Widths ["+huge+" -1] /FontMatrix ["+huge+"] /Encoding << /Differences ["+huge+" /A] >> >>",
			"<< /Length "+huge+" >> stream\nx endstream", packed("/Type /ObjStm /N "+huge+" /First "+huge, "1 "+huge+" x"), packed("/Type /ObjStm /N 1 /First 1", "1 "+huge+" x")),
		"predictor": file(catalog, one, page, packed("/DecodeParms << /Predictor 15 /Columns 65536 /Colors 65536 /BitsPerComponent 65536 >>", "x"), latin),
	} {
		if text, err := Text(t.Context(), data); len(text) > MaxText || err != nil && !errors.Is(err, ErrTooLarge) && !errors.Is(err, ErrNoText) {
			t.Errorf("%s: %d bytes, %v", name, len(text), err)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add(simple("BT /F 12 Tf [(a) -300 <41>] TJ T* /X Do BI EI ET", latin))
	f.Add(file(catalog, one, page, plainStream("/Filter [/AHx /A85 /LZW]", "41>"), "<< /Subtype /Type0 /ToUnicode 4 0 R /DescendantFonts [5 0 R] /W [1 [2] 3 4 5] >>"))
	f.Add([]byte("%PDF-1 1 0 obj<</Type/ObjStm/N 1/First 4>>stream\n2 0 [3 0 R]endstream trailer<</Root 2 0 R>>"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if text, err := Text(t.Context(), data); err == nil && text == "" {
			t.Error("no text, and no error")
		}
	})
}
