package show

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestRows_NothingIsOutOfSight(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"plain", "a\n\tb\n", []string{"a", "\tb"}},
		{"few blank lines", "a\n\n\n\nb", []string{"a", "", "", "", "b"}},
		{"blank lines", "a\n" + strings.Repeat(" \t\n", 214) + "b", []string{"a", "[214 blank lines]", "b"}},
		{"blank lines at the end", "a" + strings.Repeat("\n", 9), []string{"a", "[8 blank lines]"}},
		{"spaces", "a" + strings.Repeat(" ", 180) + "b", []string{"a[180 spaces]b"}},
		{"spaces at the end", "a" + strings.Repeat(" ", 33), []string{"a[33 spaces]"}},
		{"as many as are shown", strings.Repeat(" ", 32) + "b", []string{strings.Repeat(" ", 32) + "b"}},
		{"tabs", "a" + strings.Repeat("\t", 40) + "b", []string{"a[40 tabs]b"}},
		{"other blanks", "a" + strings.Repeat(" \u3000\u2800\u00a0", 10) + "b", []string{"a[40 blanks]b"}},
		{"long lines", strings.Repeat("x", 40) + strings.Repeat("y", 36) + "z", []string{strings.Repeat("x", 40), "    " + strings.Repeat("y", 36), "    z"}},
		{"wide characters", strings.Repeat("語", 21), []string{strings.Repeat("語", 20), "    語"}},
		{"marks of a diff", "+\n-\n+\n-\n+", []string{"+", "-", "+", "-", "+"}},
		{"escapes", "a\x1b[2Jb", []string{"a\uFFFD[2Jb"}},
		{"nothing", "", []string{""}},
	} {
		if got := Rows(c.text, 40); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestRows_WithoutAWidthAreLines(t *testing.T) {
	long := strings.Repeat("x", 500)
	if got := Rows(long+"\ny", 0); !slices.Equal(got, []string{long, "y"}) {
		t.Errorf("got %q", got)
	}
}

func TestDiffRows_FoldsTheBlankLinesOfEachSide(t *testing.T) {
	diff := "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n" + strings.Repeat("-  \n", 5) + strings.Repeat("+\n", 7) + "+" + strings.Repeat("n", 45) + "\n \n last\n"
	want := []string{
		"--- a/x", "+++ b/x", "@@ -1 +1 @@", "-old", "-[5 blank lines]", "+[7 blank lines]",
		"+" + strings.Repeat("n", 39), "    " + strings.Repeat("n", 6), " ", " last",
	}
	if got := DiffRows(diff, 40, false); !slices.Equal(got, want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
	for i, row := range DiffRows(diff, 40, true) {
		colour := map[byte]string{'-': Red, '+': Green, '@': Cyan}[want[i][0]]
		if strings.HasPrefix(want[i], "    n") {
			colour = Green
		}
		if row != Paint(colour, want[i]) {
			t.Errorf("row %d is %q, want %q in colour %q", i, row, want[i], colour)
		}
	}
}

func FuzzRows(f *testing.F) {
	f.Add("a\n\n\n\n\n\nb"+strings.Repeat(" ", 50)+"c", 30)
	f.Add("+\t\t語\x1b", 0)
	f.Fuzz(func(t *testing.T, text string, width int) {
		width = min(max(width, 20), 1000)
		if !utf8.ValidString(text) {
			return
		}
		var got strings.Builder
		for _, row := range Rows(text, width) {
			if n := Width(strings.ReplaceAll(row, "\t", "        ")); n > width || strings.ContainsAny(row, "\n\x1b\r") {
				t.Errorf("row %q has %d columns of %d", row, n, width)
			}
			got.WriteString(row)
		}
		letters := func(s string) string {
			return strings.Map(func(r rune) rune {
				if blankRune(r) {
					return -1
				}
				return r
			}, s)
		}
		if !strings.Contains(text, "[") && !strings.Contains(got.String(), "[") && letters(got.String()) != letters(Visible(text)) {
			t.Errorf("%q became %q", text, got.String())
		}
	})
}
