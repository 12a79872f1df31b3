package event

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzNeedle compares needles with case-insensitive regular expressions.
func FuzzNeedle(f *testing.F) {
	f.Add("The quick BROWN fox", "brown")
	f.Add("100 \u212A \u017F", "ks")
	f.Add("aaaaab", "AAB")
	f.Add("\xff\u0301e\u0301 \U0001F469\u200d\U0001F467", "e")
	f.Fuzz(func(t *testing.T, text, query string) {
		if query == "" || !utf8.ValidString(query) || strings.ContainsRune(query, utf8.RuneError) {
			return
		}
		start, end := newNeedle(query).index(text)
		want := regexp.MustCompile("(?i)" + regexp.QuoteMeta(query)).FindStringIndex(text)
		if want == nil {
			want = []int{-1, -1}
		}
		if start != want[0] || end != want[1] {
			t.Fatalf("%q in %q: got %d to %d, want %v", query, text, start, end, want)
		}
		if start < 0 {
			return
		}
		s := newSnippet(text, start, end)
		if !utf8.ValidString(s.Text) || strings.ContainsAny(s.Text, "\n\r\t") {
			t.Errorf("got snippet %q, want one line of UTF-8", s.Text)
		}
		if s.Text[s.Start:s.End] != oneSpace(text[start:end]) {
			t.Errorf("the match in %q is %q", s.Text, s.Text[s.Start:s.End])
		}
		if n := utf8.RuneCountInString(s.Text) - utf8.RuneCountInString(query); n > 4*around+2 {
			t.Errorf("the snippet has %d characters around the match", n)
		}
	})
}

func BenchmarkNeedle(b *testing.B) {
	text := strings.Repeat("func (s *search) hit(h Hit) bool { return s.goesOn() && s.hits < s.query.PerSession }\n", 12_000)
	n := newNeedle("sisyphus")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if start, _ := n.index(text); start >= 0 {
			b.Fatal("found")
		}
	}
}
