package tool

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestTruncate_HeadAndTailWithTheMarkerBetween(t *testing.T) {
	in := strings.Repeat("a", 60) + strings.Repeat("b", 60)
	got, err := Truncate(Text(in), Limit{Chars: 20, Lines: -1, Mode: HeadTail})
	if err != nil {
		t.Fatal(err)
	}
	want := "aaaaaaaaaa\n\n[WARNING: Tool output was truncated. 100 characters were removed from the middle. " +
		"The full output is available in the event stream. If you need to see specific parts, " +
		"re-run the tool with more targeted parameters.]\n\nbbbbbbbbbb"
	if got != want {
		t.Errorf("got %q", got)
	}
}

func TestTruncate_TailKeepsTheEnd(t *testing.T) {
	got, err := Truncate(Text("0123456789"), Limit{Chars: 4, Lines: -1, Mode: Tail})
	if err != nil {
		t.Fatal(err)
	}
	want := "[WARNING: Tool output was truncated. First 6 characters were removed. The full output is available in the event stream.]\n\n6789"
	if got != want {
		t.Errorf("got %q", got)
	}
}

func TestTruncate_LinesAreCutAfterCharacters(t *testing.T) {
	var b strings.Builder
	for i := range 10 {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	text := Text(strings.TrimSuffix(b.String(), "\n")) // 69 characters
	const warning = "[WARNING: Tool output was truncated. "
	for _, c := range []struct {
		limit Limit
		want  string
	}{
		{Limit{1000, 5, HeadTail}, "line 0\nline 1\n[... 5 lines omitted ...]\nline 7\nline 8\nline 9"},
		// The omitted lines include the warning about characters. Truncating lines first would leave 55 characters,
		// which need no warning.
		{Limit{60, 4, HeadTail}, "line 0\nline 1\n[... 9 lines omitted ...]\nline 8\nline 9"},
		{Limit{20, 2, Head}, "line 0\nline 1\n[... 3 lines omitted ...]\n"},
		{Limit{20, 2, Tail}, warning + "First 49 characters were removed. The full output is available in the event stream.]\n[... 3 lines omitted ...]\nline 9"},
	} {
		if got, err := Truncate(text, c.limit); err != nil || got != c.want {
			t.Errorf("%+v: got %q (%v), want %q", c.limit, got, err, c.want)
		}
	}
	// Two ten-megabyte lines are few lines, and must be truncated all the same.
	huge := strings.Repeat("x", 10<<20) + "\n" + strings.Repeat("y", 10<<20)
	if got, _ := Truncate(Text(huge), Limit{Chars: 30_000, Lines: 256, Mode: HeadTail}); len(got) > 31_000 {
		t.Errorf("two huge lines leave %d bytes", len(got))
	}
}

func TestTruncate_ShortOutputStaysAsItIs(t *testing.T) {
	for _, s := range []string{"", "x", "a\nb\n", "äöü"} {
		if got, err := Truncate(Text(s), Limit{Chars: 4, Lines: 3, Mode: HeadTail}); err != nil || got != s {
			t.Errorf("%q became %q (%v)", s, got, err)
		}
	}
}

func TestTruncate_HeadKeepsTheBeginning(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit Limit
		want  string
	}{
		{"0123456789", Limit{Chars: 4, Lines: -1, Mode: Head},
			"0123\n\n[WARNING: Tool output was truncated. Last 6 characters were removed. The full output is available in the event stream.]"},
		{"a\nb\nc\nd\ne", Limit{Chars: 100, Lines: 3, Mode: Head}, "a\nb\nc\n[... 2 lines omitted ...]\n"},
		{"a\nb\nc", Limit{Chars: 100, Lines: 3, Mode: Head}, "a\nb\nc"},
	} {
		if got, err := Truncate(Text(c.in), c.limit); err != nil || got != c.want {
			t.Errorf("%q within %+v: %q (%v), want %q", c.in, c.limit, got, err, c.want)
		}
	}
}

// trickle gives its text out in pieces of uneven size, to split characters.
type trickle struct {
	s string
	n int
}

func (tr trickle) Len() int64 { return int64(len(tr.s)) }
func (tr trickle) Open() io.ReadCloser {
	return io.NopCloser(&trickleReader{tr.s, tr.n})
}

type trickleReader struct {
	s string
	n int
}

func (r *trickleReader) Read(p []byte) (int, error) {
	if r.s == "" {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), r.n)], r.s)
	r.s = r.s[n:]
	return n, nil
}

// reference is truncation over the whole text in memory.
func reference(s string, limit int, mode Mode) (head, tail string, removed int) {
	runes := []rune(s)
	if len(runes) <= limit {
		return s, "", 0
	}
	removed = len(runes) - limit
	switch mode {
	case Head:
		return string(runes[:limit]), "", removed
	case Tail:
		return "", string(runes[len(runes)-limit:]), removed
	}
	return string(runes[:limit/2]), string(runes[len(runes)-(limit-limit/2):]), removed
}

func TestTruncate_StreamingEqualsTheReferenceAndKeepsUTF8Whole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOfN(rapid.SampledFrom([]rune("aé世🌍\n")), 0, 400, -1).Draw(t, "s")
		limit := rapid.IntRange(0, 120).Draw(t, "limit")
		mode := rapid.SampledFrom([]Mode{HeadTail, Head, Tail}).Draw(t, "mode")
		piece := rapid.IntRange(1, 17).Draw(t, "piece")
		got, err := Truncate(trickle{s, piece}, Limit{Chars: limit, Lines: -1, Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		head, tail, removed := reference(s, limit, mode)
		if !utf8.ValidString(got) || !strings.HasPrefix(got, head) || !strings.HasSuffix(got, tail) {
			t.Fatalf("got %q, want it to begin with %q and end with %q", got, head, tail)
		}
		if removed > 0 && !strings.Contains(got, fmt.Sprint(removed)) {
			t.Fatalf("got %q, want it to report %d characters", got, removed)
		}
		if removed == 0 && got != s {
			t.Fatalf("got %q, want %q", got, s)
		}
	})
}

func TestReadExcerpt_CountsWhatIsMissing(t *testing.T) {
	for _, c := range []struct {
		in         string
		head, tail int
		want       Excerpt
	}{
		{"", 1, 1, Excerpt{}},
		{"ab", 1, 1, Excerpt{Head: "a", Tail: "b"}},
		{"a\nb\nc\n", 2, 0, Excerpt{Head: "a\n", Chars: 4, Lines: 2}},
		{"a\nb\nc", 2, 0, Excerpt{Head: "a\n", Chars: 3, Lines: 2}},
		{"a\nb\nc", 0, 1, Excerpt{Tail: "c", Chars: 4, Lines: 2}},
		{"aé\n世\nz", 1, 2, Excerpt{Head: "a", Tail: "\nz", Chars: 3, Lines: 2}},
	} {
		if got, err := ReadExcerpt(trickle{c.in, 1}, c.head, c.tail); err != nil || got != c.want {
			t.Errorf("%q, %d and %d characters: got %+v (%v), want %+v", c.in, c.head, c.tail, got, err, c.want)
		}
	}
}

func TestTruncate_BytesThatAreNotTextCountAsOneEach(t *testing.T) {
	got, err := Truncate(trickle{"ab\xff\xfecd", 1}, Limit{Chars: 100, Lines: -1, Mode: HeadTail})
	if err != nil || got != "ab\uFFFD\uFFFDcd" {
		t.Errorf("got %q (%v)", got, err)
	}
}

func BenchmarkTruncate100MB(b *testing.B) {
	o := Text(strings.Repeat("All work and no play makes a dull log line.\n", 100<<20/44))
	b.SetBytes(o.Len())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Truncate(o, Limit{30_000, 256, HeadTail}); err != nil {
			b.Fatal(err)
		}
	}
}
