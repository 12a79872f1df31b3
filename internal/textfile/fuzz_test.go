package textfile_test

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"github.com/reins-agent/reins/internal/textfile"
)

// Decode never panics. Decoded text is valid, has no NUL and encodes back to the same bytes. An edit
// keeps the bytes on both sides.
func FuzzDecode(f *testing.F) {
	for _, c := range decodeCases {
		f.Add([]byte(c.data), 1, 2)
	}
	f.Fuzz(func(t *testing.T, data []byte, start, end int) {
		file, err := textfile.Decode(data)
		if err != nil {
			return
		}
		text := file.Text()
		if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
			t.Fatalf("%q is not text", text)
		}
		encoded, err := file.Encoding().Encode(string(text))
		if err != nil || !bytes.Equal(data, append(file.BOM(), encoded...)) {
			t.Fatalf("%q does not encode back: %q, %v", data, encoded, err)
		}
		checkSplice(t, file, boundary(text, start), boundary(text, end))
		checkView(t, file)
	})
}

// boundary returns a character boundary of text near n.
func boundary(text []byte, n int) int {
	n = int(uint(n) % uint(len(text)+1))
	for n < len(text) && !utf8.RuneStart(text[n]) {
		n++
	}
	return n
}

func checkSplice(t *testing.T, file *textfile.File, start, end int) {
	if start > end {
		start, end = end, start
	}
	out, err := file.Splice([]textfile.Edit{{Start: start, End: end, Text: "new"}})
	if err != nil {
		t.Fatal(err)
	}
	text := string(file.Text())
	want, err := file.Encoding().Encode(text[:start] + "new" + text[end:])
	if err != nil || !bytes.Equal(out, append(file.BOM(), want...)) {
		t.Fatalf("replacing [%d, %d) of %q gave %q, want %q (%v)", start, end, text, out, want, err)
	}
}

func checkView(t *testing.T, file *textfile.File) {
	view := file.View()
	if string(view.Text) != textfile.ToLF(string(file.Text())) {
		t.Fatalf("the view of %q is %q", file.Text(), view.Text)
	}
	lines := textfile.Lines(file.Text())
	mapper := view.Mapper()
	at := 0
	for _, line := range lines {
		if got := mapper.Offset(at); got != line.Start {
			t.Fatalf("line at %d of the view maps to %d, want %d", at, got, line.Start)
		}
		at += line.End - line.Start + 1
	}
}
