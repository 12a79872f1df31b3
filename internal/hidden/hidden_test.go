package hidden

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestFind_NamesInvisibleCharacters(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"tags":                 {"Be kind.\U000E0049\U000E0067", "2 tag characters"},
		"zero-width space":     {"a\u200bb", "1 zero-width character"},
		"word joiner":          {"a\u2060b", "1 zero-width character"},
		"soft hyphen":          {"a\u00adb", "1 zero-width character"},
		"Hangul filler":        {"a\u3164b", "1 zero-width character"},
		"mark inside":          {"a\ufeffb", "1 zero-width character"},
		"invisible times":      {"a\u2062b", "1 zero-width character"},
		"overrides":            {"a\u202eb\u202c", "2 direction controls"},
		"isolates":             {"\u2066a\u2069", "2 direction controls"},
		"direction marks":      {"\u200ea\u200f\u061c", "3 direction controls"},
		"selectors as data":    {"😀\ufe0f\ufe01\U000E0101\U000E01EF", "3 variation selectors"},
		"selector on a letter": {"a\ufe0f", "1 variation selector"},
		"joiner of letters":    {"a\u200db\u200cc", "2 zero-width characters"},
		"joiners in a row":     {"👩\u200d\u200d💻", "2 zero-width characters"},
		"joiner before text":   {"👩\u200dx", "1 zero-width character"},
		"all kinds":            {"\u200b\u202e\U000E0041\ufe00", "1 direction control, 1 tag character, 1 variation selector, 1 zero-width character"},
	} {
		if got := Find(c.text); got == nil || got.String() != c.want {
			t.Errorf("%s: got %v, want %s", name, got, c.want)
		}
	}
	if r := Find("one\ntwo\nth\u200bree\n\u200b"); r == nil || r.Line != 3 {
		t.Errorf("got %+v, want line 3", r)
	}
}

func TestFind_OrdinaryTextIsNotReported(t *testing.T) {
	for _, text := range []string{
		"", "plain\ttext\r\n", "naïve “quotes” — dash … €", "日本語 한국어 中文", "שלום عالم", "Ελληνικά кириллица",
		"\ufeffwith a byte order mark", "❤️ ☎︎ ©️ 1️⃣ #️⃣", "👩‍💻 👨‍👩‍👧‍👦 🏳️‍🌈 👍🏽 🧑🏽‍🚀 ❤️‍🔥", "می\u200cخواهم", "क्\u200dष", "\xff\xfe\xc2\xe2\x80", "a\u00a0b",
	} {
		if got := Find(text); got != nil {
			t.Errorf("%q: got %v, want nothing", text, got)
		}
	}
}

// The standard library has the properties from which Unicode derives the characters to ignore in display.
func TestIndex_FindsUnicodeDefaultIgnorables(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		ignored := unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Cf) &&
			!unicode.Is(unicode.Prepended_Concatenation_Mark, r) && !(r >= 0x13430 && r <= 0x1343F)
		if !utf8.ValidRune(r) || !ignored {
			continue
		}
		if at, n := Index("x"+string(r), 0); at != 1 || n != utf8.RuneLen(r) {
			t.Errorf("%U is not found", r)
		}
	}
}

func FuzzIndex_AgreesWithASlowScan(f *testing.F) {
	f.Add("a\u200b👩\u200d💻\ufe0f\U000E0041\xe2\x80")
	f.Fuzz(func(t *testing.T, s string) {
		want := -1
		for i, r := range s {
			if kind(r) != "" && !ordinary(s, i, r, utf8.RuneLen(r)) {
				want = i
				break
			}
		}
		if got, _ := Index(s, 0); got != want {
			t.Errorf("%q: got %d, want %d", s, got, want)
		}
	})
}

func BenchmarkFind(b *testing.B) {
	for name, text := range map[string]string{
		"ascii": strings.Repeat("func main() { return }\n", 3000), "chinese": strings.Repeat("日本語中文", 4500),
		"quotes": strings.Repeat("“quoted” – text\n", 3000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if Find(text) != nil {
					b.Fatal("found something")
				}
			}
		})
	}
}
