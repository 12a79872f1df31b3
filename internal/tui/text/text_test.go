package text

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/reins-agent/reins/internal/hidden"
)

func TestClean_ShowsWhatControlsTheTerminalOrHides(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "plain text", "plain text"},
		{"languages", "naïve 日本語 한국어 ไทย עברית", "naïve 日本語 한국어 ไทย עברית"},
		{"emoji", "👩‍💻 ❤️ 1️⃣ 🇩🇪 👍🏽", "👩‍💻 ❤️ 1️⃣ 🇩🇪 👍🏽"},
		{"mark", "cafe\u0301", "cafe\u0301"},
		{"escape", "\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇"},
		{"erase", "a\x1b[2Jb", "a␛[2Jb"},
		{"newline", "a\nb\rc", "a␊b␍c"},
		{"delete", "a\x7f", "a␡"},
		{"byte order mark", "\ufeffa", "\uFFFDa"},
		{"C1", "a\u009b31m", "a\uFFFD31m"},
		{"C1 byte", "a\x9b31m", "a\uFFFD31m"},
		{"separators", "a\u2028b\u2029", "a\uFFFDb\uFFFD"},
		{"direction", "a\u202eb\u2066", "a\uFFFDb\uFFFD"},
		{"part of an image", "a\U0010EEEE\u0305", "a\uFFFD\u0305"},
		{"tags", "a\U000E0041", "a\uFFFD"},
		{"zero width", "a\u200bb\ufeff", "a\uFFFDb\uFFFD"},
		{"tabs", "\ta\tbcd\te", "    a   bcd e"},
		{"tab after wide", "日\tx", "日  x"},
		{"mark at the start", "\u0301a", "◌\u0301a"},
		{"skin at the start", "\U0001F3FDa", "◌\U0001F3FDa"},
		{"joiner at the end", "👩\u200d", "👩\uFFFD"},
		{"many marks", "a" + strings.Repeat("\u0301", 50) + "b", "a" + strings.Repeat("\u0301", 8) + "\uFFFDb"},
	} {
		if got := Clean(c.in); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestClean_KeepsSpacingMarksThatAreCharacters(t *testing.T) {
	for _, s := range []string{"\u102b", "a\u102b", "\u102c\u102b"} {
		if got := Clean(s); got != s {
			t.Errorf("Clean(%q) = %q", s, got)
		}
	}
	if got := Clean("\u0903"); got != "◌\u0903" { // this spacing mark belongs to the character before it
		t.Errorf("Clean(U+0903) = %q", got)
	}
}

func TestCleanLines_TakesBothLineEnds(t *testing.T) {
	got := slices.Collect(CleanLines("a\r\nb\n\tc\rd\n"))
	if want := []string{"a", "b", "    c␍d", ""}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestUnstyled_RemovesOnlyColors(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[1;31mred\x1b[0m \x1b[38:5:1mx\x1b[m": "red x",
		"plain":                       "plain",
		"\x1b[2Jx\x1b[mx":             "\x1b[2Jxx",
		"\x1b[>4m \x1b[?1m \x1b[31":   "\x1b[>4m \x1b[?1m \x1b[31",
		"\x1b\x1b[m\x1b]0;title\x07m": "\x1b\x1b]0;title\x07m",
	} {
		if got := Unstyled(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// widths lists the columns of clusters under both rules.
var widths = []struct {
	cluster            string
	wcwidth, graphemes int
}{
	{"a", 1, 1},
	{"é", 1, 1},
	{"e\u0301", 1, 1},
	{"e\u0301\u0323", 1, 1},
	{"\u00a0", 1, 1},
	{"日", 2, 2},
	{"、", 2, 2},
	{"Ａ", 2, 2},
	{"ｱ", 1, 1},
	{"が", 2, 2},
	{"か\u3099", 2, 2},
	{"한", 2, 2},
	{"\u1112\u1161\u11ab", 2, 2},
	{"ก\u0e34", 1, 1},
	{"क\u093f", 2, 1},
	{"ש\u05b8", 1, 1},
	{"س\u064e", 1, 1},
	{"€", 1, 1},
	{"→", 1, 1},
	{"…", 1, 1},
	{"│", 1, 1},
	{"😀", 2, 2},
	{"✅", 2, 2},
	{"❤", 1, 1},
	{"❤\ufe0f", 1, 2},
	{"☎\ufe0e", 1, 1},
	{"1\ufe0f\u20e3", 1, 2},
	{"👍🏽", 4, 2},
	{"👩\u200d💻", 4, 2},
	{"👨\u200d👩\u200d👧\u200d👦", 8, 2},
	{"🏳\ufe0f\u200d🌈", 3, 2},
	{"🇩🇪", 2, 2},
	{"🇩", 1, 2},
	{"\U00020000", 2, 2},
	{"\uFFFD", 1, 1},
	{"␛", 1, 1},
}

func TestWidth_FollowsTheRuleOfTheTerminal(t *testing.T) {
	for _, c := range widths {
		if cluster, rest := Next(c.cluster + "x"); cluster != c.cluster || rest != "x" {
			t.Errorf("%q is not one cluster but %q", c.cluster, cluster)
		}
		if got := Clean(c.cluster); got != c.cluster {
			t.Errorf("%q is shown as %q", c.cluster, got)
		}
		for rule, want := range map[Rule]int{Wcwidth: c.wcwidth, Graphemes: c.graphemes} {
			if got := rule.Width(c.cluster); got != want {
				t.Errorf("%q: %d columns under rule %d, want %d", c.cluster, got, rule, want)
			}
			if got := rule.Width("ab" + c.cluster + "cd" + c.cluster); got != 4+2*want {
				t.Errorf("%q in text: %d columns under rule %d, want %d", c.cluster, got, rule, 4+2*want)
			}
		}
	}
}

func plainLines(lines []Line) (out []string) {
	for _, l := range lines {
		out = append(out, l.Text())
	}
	return out
}

func TestWrap_BreaksBetweenWords(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  []string
	}{
		{"one two three", 20, []string{"one two three"}},
		{"one two three", 8, []string{"one two", "three"}},
		{"one two three", 7, []string{"one two", "three"}},
		{"one   two", 5, []string{"one", "two"}},
		{"  indented text", 10, []string{"  indented", "text"}},
		{"abcdefghij xyz", 4, []string{"abcd", "efgh", "ij", "xyz"}},
		{"a bcdefghij", 4, []string{"a", "bcde", "fghi", "j"}},
		{"trailing      ", 8, []string{"trailing"}},
		{"日本語のテキスト。終", 8, []string{"日本語の", "テキス", "ト。終"}},
		{"say 日本語", 6, []string{"say 日", "本語"}},
		{"a👩\u200d💻b", 2, []string{"a…", "b"}},
		{"日", 1, []string{"…"}},
		{"", 5, []string{""}},
	} {
		if got := plainLines(Wcwidth.Wrap(Line{{Text: c.in}}, c.width)); !slices.Equal(got, c.want) {
			t.Errorf("%q in %d columns: got %q, want %q", c.in, c.width, got, c.want)
		}
	}
}

func TestWrap_KeepsStyles(t *testing.T) {
	bold := Style{Attr: Bold}
	got := Graphemes.Wrap(Line{{"one ", Style{}}, {"two three", bold}, {" four", Style{}}}, 9)
	want := []Line{{{"one ", Style{}}, {"two", bold}}, {{"three", bold}}, {{"four", Style{}}}}
	want[1] = Line{{"three", bold}}
	if len(got) != 3 || !slices.Equal(got[0], want[0]) || !slices.Equal(got[1], want[1]) || !slices.Equal(got[2], want[2]) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestFold_LeavesOutNothing(t *testing.T) {
	if got := plainLines(Graphemes.Fold(Line{{Text: "a  b  cd日本"}}, 3)); !slices.Equal(got, []string{"a  ", "b  ", "cd", "日", "本"}) {
		t.Errorf("got %q", got)
	}
}

func TestCut_MarksWhatIsLeftOut(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"abcdef", 6, "abcdef"}, {"abcdef", 5, "abcd…"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"}, {"abc", 1, "…"}, {"abc", 0, ""},
	} {
		if got := Graphemes.CutText(c.in, c.width); got != c.want {
			t.Errorf("%q in %d columns: got %q, want %q", c.in, c.width, got, c.want)
		}
	}
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"a/b/c.go", 8, "a/b/c.go"}, {"a/b/c.go", 5, "…c.go"}, {"日本語", 5, "…本語"}, {"日本語", 4, "…語"}, {"abc", 1, "…"}, {"abc", 0, ""},
	} {
		if got := Graphemes.CutStart(c.in, c.width); got != c.want {
			t.Errorf("start of %q in %d columns: got %q, want %q", c.in, c.width, got, c.want)
		}
	}
}

func TestPad_FillsTheWidth(t *testing.T) {
	style := Style{Role: Selected}
	got := Graphemes.Pad(Line{{Text: "日本"}}, 6, style)
	if want := (Line{{Text: "日本"}, {"  ", style}}); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := Graphemes.Pad(Line{{Text: "abc"}}, 2, style); len(got) != 1 {
		t.Errorf("got %v", got)
	}
	if Blank(300) != strings.Repeat(" ", 300) || Blank(-1) != "" {
		t.Error("Blank is wrong")
	}
}

func FuzzClean_NothingControlsTheTerminal(f *testing.F) {
	for _, c := range widths {
		f.Add(c.cluster)
	}
	f.Add("\x1b[2J\u009b\u202e\u200d\t\r\n\xff\U000E0041\u0301")
	f.Add("ك\u200c\u200d")
	f.Fuzz(func(t *testing.T, s string) {
		got := Clean(s)
		if !utf8.ValidString(got) {
			t.Fatalf("%q is not UTF-8", got)
		}
		for _, r := range got {
			if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
				t.Fatalf("%q has %U", got, r)
			}
		}
		if at, _ := hidden.Index(got, 0); at >= 0 {
			t.Fatalf("%q has an invisible character at %d", got, at)
		}
		if again := Clean(got); again != got {
			t.Fatalf("cleaned twice: %q, then %q", got, again)
		}
		for _, rule := range []Rule{Wcwidth, Graphemes} {
			if before, both := rule.Width("│"), rule.Width("│"+got); both != before+rule.Width(got) {
				t.Fatalf("%q changes the cell before it", got)
			}
		}
	})
}

func FuzzWrap_KeepsEveryWordAndTheWidth(f *testing.F) {
	for _, c := range widths {
		f.Add("some words "+c.cluster+" and "+c.cluster+c.cluster+"\u0301 more", 7, 5)
	}
	f.Add("   x", 2, 1)
	f.Fuzz(func(t *testing.T, s string, width, split int) {
		s = Clean(s)
		width = 1 + (width&0xff)%40
		at := 0
		for range split & 0xff % 50 {
			c, _ := Next(s[at:])
			at += len(c)
		}
		line := Line{{Text: Clean(s[:at])}, {Clean(s[at:]), Style{Role: Code}}}
		whole := line.Text()
		for _, rule := range []Rule{Wcwidth, Graphemes} {
			for name, rows := range map[string][]Line{"wrapped": rule.Wrap(line, width), "folded": rule.Fold(line, width)} {
				var all strings.Builder
				for _, row := range rows {
					if w := rule.LineWidth(row); w > width {
						t.Fatalf("%s: %q has %d columns of %d", name, row.Text(), w, width)
					}
					all.WriteString(row.Text())
				}
				got, want := all.String(), whole
				if name == "wrapped" {
					got, want = strings.ReplaceAll(got, " ", ""), strings.ReplaceAll(want, " ", "")
				}
				if got != want && !strings.Contains(got, ellipsis) {
					t.Fatalf("%s: %q became %q", name, want, got)
				}
			}
			if cut := rule.Cut(line, width); rule.LineWidth(cut) > width {
				t.Fatalf("cut: %q has more than %d columns", cut.Text(), width)
			}
			if cut := rule.CutStart(whole, width); rule.Width(cut) > width {
				t.Fatalf("start cut: %q has more than %d columns", cut, width)
			}
		}
	})
}

func FuzzWidth_IsTheSumOfClusters(f *testing.F) {
	for _, c := range widths {
		f.Add("ab" + c.cluster + "cdefghijkl" + c.cluster)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = Clean(s)
		for _, rule := range []Rule{Wcwidth, Graphemes} {
			sum := 0
			rest := s
			for c := range Clusters(s) {
				sum += rule.cluster(c)
				var first string
				if first, rest = Next(rest); first != c {
					t.Fatalf("%q: got %q, want %q", s, first, c)
				}
			}
			if got := rule.Width(s); got != sum {
				t.Fatalf("%q: got %d, want %d", s, got, sum)
			}
		}
	})
}

func BenchmarkWidth(b *testing.B) {
	for name, s := range map[string]string{
		"ascii": strings.Repeat("func main() ", 8), "chinese": strings.Repeat("日本語中文", 10), "emoji": strings.Repeat("👩\u200d💻a", 10),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				Graphemes.Width(s)
			}
		})
	}
}

func BenchmarkClean(b *testing.B) {
	for name, s := range map[string]string{"ascii": strings.Repeat("func main() ", 8), "chinese": strings.Repeat("日本語中文", 10)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				Clean(s)
			}
		})
	}
}
