package textfile_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reins-agent/reins/internal/textfile"
	"github.com/reins-agent/reins/internal/textfile/textfiletest"
)

// decodeCases are files with their encoding, or with a substring of the error.
var decodeCases = []struct {
	name string
	data string
	want string
	text string
}{
	{"empty", "", "UTF-8", ""},
	{"ASCII", "a\n", "UTF-8", "a\n"},
	{"UTF-8", "é漢\n", "UTF-8", "é漢\n"},
	{"UTF-8 with controls", "\x01\x1b[0m\n", "UTF-8", "\x01\x1b[0m\n"},
	{"UTF-8 with mark", "\xef\xbb\xbfa\n", "UTF-8", "a\n"},
	{"only a mark", "\xef\xbb\xbf", "UTF-8", ""},
	{"mark, then not UTF-8", "\xef\xbb\xbfcaf\xe9\n", "not valid", ""},
	{"UTF-8 with a damaged byte", "漢字 é\n\xff\n", "not valid", ""},
	{"mark, then NUL", "\xef\xbb\xbfa\x00", "binary, not text", ""},
	{"UTF-16LE with mark", "\xff\xfea\x00\x22\x6f", "UTF-16LE", "a漢"},
	{"UTF-16BE with mark", "\xfe\xff\x00a\x6f\x22", "UTF-16BE", "a漢"},
	{"UTF-16LE surrogates", "\xff\xfe\x3d\xd8\x00\xde", "UTF-16LE", "\U0001F600"},
	{"UTF-16LE half a pair", "\xff\xfe\x3d\xd8a\x00", "not valid", ""},
	{"UTF-16LE half a unit", "\xff\xfea\x00b", "not valid", ""},
	{"UTF-16LE with NUL", "\xff\xfea\x00\x00\x00b\x00", "binary, not text", ""},
	{"UTF-16LE without mark", "h\x00i\x00\r\x00\n\x00", "UTF-16LE", "hi\r\n"},
	{"UTF-16BE without mark", "\x00h\x00i\x00\n", "UTF-16BE", "hi\n"},
	{"UTF-16LE too short to be certain", "a\x00", "binary, not text", ""},
	{"UTF-16LE with a control character", "h\x00i\x00\x02\x00\n\x00", "binary, not text", ""},
	{"UTF-16LE of an odd length", "h\x00i\x00\n", "binary, not text", ""},
	{"NUL bytes on both sides", "h\x00\x00i", "binary, not text", ""},
	{"one ASCII unit of two", "00\x00f", "binary, not text", ""},
	{"mostly numbers", "\x10\x27\x10\x27a\x00\x10\x27", "binary, not text", ""},
	{"UTF-32LE", "\xff\xfe\x00\x00a\x00\x00\x00", "not text in a known encoding", ""},
	{"UTF-32BE", "\x00\x00\xfe\xff\x00\x00\x00a", "not text in a known encoding", ""},
	{"NUL in ASCII", "abc\x00def", "binary, not text", ""},
	{"control byte in Latin text", "caf\xe9 \x01\n", "binary, not text", ""},
	{"GBK", "// \xd6\xd0\xce\xc4\n", "GBK", "// 中文\n"},
	{"GBK with a rare hanzi", "\xd6\xd0\xce\xc4\xfd\x9b\n", "GBK", "中文龥\n"},
	{"GB18030", "\xd6\xd0\xce\xc4\x95\x32\x82\x36\n", "GB18030", "中文\U00020000\n"},
	{"Latin-1", "caf\xe9 au lait\n", "ISO 8859-1", "café au lait\n"},
	{"Latin-1 that is valid GBK", "na\xefve Gr\xf6\xdfe\n", "ISO 8859-1", "naïve Größe\n"},
	{"Windows-1252", "\x93quoted\x94 \x80\n", "Windows-1252", "“quoted” €\n"},
	{"unassigned in Windows-1252", "a\x81 b\n", "not text in a known encoding", ""},
	{"Cyrillic", "\xcf\xf0\xe8\xe2 \xe5\xf2\xff\n", "not text in a known encoding", ""},
}

func TestDecode_Encodings(t *testing.T) {
	for _, c := range decodeCases {
		t.Run(c.name, func(t *testing.T) {
			file, err := textfile.Decode([]byte(c.data))
			if err != nil {
				if !strings.HasPrefix(err.Error(), "the file is "+c.want) {
					t.Errorf("got %q, want %q", err, c.want)
				}
				return
			}
			if got := file.Encoding().String(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if string(file.Text()) != c.text {
				t.Errorf("got text %q, want %q", file.Text(), c.text)
			}
		})
	}
}

func TestDecode_EverySampleIsRecognised(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := textfiletest.Draw(t)
		file, err := textfile.Decode([]byte(s.File(t)))
		if err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		if name, _, _ := strings.Cut(s.Name, " with"); file.Encoding().String() != name {
			t.Fatalf("%s was read as %s", s.Name, file.Encoding())
		}
		if string(file.BOM()) != s.BOM {
			t.Fatalf("%s: the mark is %q", s.Name, file.BOM())
		}
		want := ""
		for i, line := range s.Lines {
			want += line + s.Endings[i]
		}
		if string(file.Text()) != want {
			t.Fatalf("%s: got %q, want %q", s.Name, file.Text(), want)
		}
	})
}

func TestSplice_CharacterTheEncodingLacksIsNamed(t *testing.T) {
	for _, c := range []struct{ name, data, insert, want string }{
		{"Latin-1", "caf\xe9 au lait", "5 €", "'€' (U+20AC), which ISO 8859-1"},
		{"Windows-1252", "\x80 caf\xe9 au lait", "漢", "'漢' (U+6F22), which Windows-1252"},
		{"GBK", "\xd6\xd0\xce\xc4", "\U0001F600", "(U+1F600), which GBK"},
		{"NUL", "a", "b\x00", "U+0000, which UTF-8"},
		{"invalid", "a", "b\xff", "which UTF-8"},
		{"C1 control", "caf\xe9 au lait", "\u0085", "U+0085, which ISO 8859-1"},
	} {
		file, err := textfile.Decode([]byte(c.data))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = file.Splice([]textfile.Edit{{Text: c.insert}}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want it to name %s", c.name, err, c.want)
		}
	}
}

func TestSplice_BadEditsAreRefused(t *testing.T) {
	file, err := textfile.Decode([]byte("\xff\xfea\x00\xe9\x00b\x00"))
	if err != nil {
		t.Fatal(err)
	}
	for name, edits := range map[string][]textfile.Edit{
		"outside":         {{Start: 0, End: 9}},
		"negative":        {{Start: -1, End: 0}},
		"backwards":       {{Start: 2, End: 1}},
		"overlapping":     {{Start: 0, End: 3}, {Start: 1, End: 3}},
		"in a character":  {{Start: 2, End: 3}},
		"to a character":  {{Start: 0, End: 2}},
		"wrong order":     {{Start: 3, End: 3}, {Start: 0, End: 0}},
		"second outside":  {{Start: 0, End: 1}, {Start: 4, End: 5}},
		"second reversed": {{Start: 0, End: 0}, {Start: 3, End: 1}},
	} {
		if out, err := file.Splice(edits); err == nil {
			t.Errorf("%s: accepted, giving %q", name, out)
		}
	}
}

func TestEndings_CountedAndRanked(t *testing.T) {
	for _, c := range []struct {
		text     string
		want     textfile.Endings
		dominant textfile.Ending
	}{
		{"", textfile.Endings{First: textfile.LF}, textfile.LF},
		{"a", textfile.Endings{First: textfile.LF}, textfile.LF},
		{"a\r\nb\nc\r\n", textfile.Endings{LF: 1, CRLF: 2, First: textfile.CRLF}, textfile.CRLF},
		{"a\rb\nc\n", textfile.Endings{LF: 2, CR: 1, First: textfile.CR}, textfile.LF},
		{"a\rb\nc", textfile.Endings{LF: 1, CR: 1, First: textfile.CR}, textfile.CR},
	} {
		file, err := textfile.Decode([]byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		got := file.Endings()
		if got != c.want || got.Dominant() != c.dominant {
			t.Errorf("%q: got %+v, dominant %s", c.text, got, got.Dominant())
		}
	}
}

func TestVisible_ShowsInvisibleCharacters(t *testing.T) {
	for in, want := range map[string]string{
		"plain text":     "plain text",
		"\tx  ":          `\tx\x20\x20`,
		"a\u00a0b":       `a\u00a0b`,
		"a\u200bb":       `a\u200bb`,
		"e\u0301":        `e\u0301`,
		"a\rb":           `a\rb`,
		"\xff":           `\xff`,
		"é漢":             "é漢",
		"\U000e0041tag":  `\U000e0041tag`,
		"say \"hi\" \\n": "say \"hi\" \\n",
	} {
		if got := textfile.Visible(in); got != want {
			t.Errorf("Visible(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestFold_OffsetsLeadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{"a", "e", "\u0301", "\u0323", "é", "“", "…", "Ａ", "–", "\u00a0", "한", "\u1112", "\u1161", "\n", "漢"})).Draw(t, "parts")
		text := []byte(strings.Join(parts, ""))
		folded := textfile.Fold(text)
		mapper := textfile.NewFoldMapper(text)
		for at := range len(folded) + 1 {
			offset, ok := mapper.Offset(at)
			if !ok {
				mapper = textfile.NewFoldMapper(text)
				continue
			}
			if got := string(textfile.Fold(text[:offset])) + string(textfile.Fold(text[offset:])); got != string(folded) {
				t.Fatalf("%q folds to %q, but %q when split at %d", text, folded, got, offset)
			}
		}
	})
}
