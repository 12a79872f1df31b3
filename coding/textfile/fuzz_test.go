package textfile_test

import (
	"bytes"
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/reins-agent/reins/coding/textfile"
)

// Decode never panics. What it accepts is valid text without NUL that encodes
// back to the very bytes, and an edit keeps the bytes on both sides.
func FuzzDecode(f *testing.F) {
	for _, c := range decodeCases {
		f.Add([]byte(c.data), 1, 2)
	}
	f.Fuzz(func(t *testing.T, data []byte, start, end int) {
		file, err := textfile.Decode(data)
		if err != nil {
			var failure *textfile.Error
			if !errors.As(err, &failure) || failure.Offset < 0 || failure.Offset > len(data) {
				t.Fatalf("error %#v", err)
			}
			return
		}
		text := file.Text()
		if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
			t.Fatalf("%q is not text", text)
		}
		encoded, err := file.Encoding().Encode(string(text))
		if err != nil || !bytes.HasSuffix(data, encoded) || len(data)-len(encoded) > 3 {
			t.Fatalf("%q does not encode back: %q, %v", data, encoded, err)
		}
		checkSplice(t, file, data, boundary(text, start), boundary(text, end))
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

func checkSplice(t *testing.T, file *textfile.File, data []byte, start, end int) {
	if start > end {
		start, end = end, start
	}
	out, spans, err := file.Splice([]textfile.Edit{{Start: start, End: end, Text: "new"}})
	if err != nil {
		t.Fatal(err)
	}
	s := spans[0]
	if !bytes.Equal(out[:s.NewStart], data[:s.OldStart]) || !bytes.Equal(out[s.NewEnd:], data[s.OldEnd:]) {
		t.Fatalf("bytes outside the span changed: %q became %q", data, out)
	}
	inside, err := file.Encoding().Encode(string(file.Text()[start:end]))
	if err != nil || !bytes.Equal(inside, data[s.OldStart:s.OldEnd]) {
		t.Fatalf("the span [%d, %d) of %q is %q, want %q", start, end, data, data[s.OldStart:s.OldEnd], inside)
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
