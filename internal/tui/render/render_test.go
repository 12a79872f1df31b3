package render

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/tui/text"
)

var update = flag.Bool("update", false, "write the golden files")

// all returns the lines of blocks.
func all(blocks []Block, o Layout) (out []text.Line) {
	for i, b := range blocks {
		if b.Gap && i > 0 {
			out = append(out, text.Line{})
		}
		out = append(out, b.Part.Lines(o)...)
	}
	return out
}

func plainText(lines []text.Line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(strings.TrimRight(l.Text(), " ") + "\n")
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs:\n%s\nwant:\n%s", name, got, want)
	}
}

var goldenWidths = []int{40, 80, 120, 200}

func TestMarkdown_LooksAsIntended(t *testing.T) {
	source, err := os.ReadFile("testdata/answer.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range goldenWidths {
		golden(t, "answer."+strconv.Itoa(width)+".txt", plainText(all(Parse(string(source)), Layout{Width: width})))
	}
}

// check fails if a line is too wide or has a character that controls the terminal.
func check(t *testing.T, lines []text.Line, o Layout) {
	t.Helper()
	for _, l := range lines {
		if w := o.Rule.LineWidth(l); w > o.Width {
			t.Fatalf("%q has %d columns of %d", l.Text(), w, o.Width)
		}
		for _, s := range l {
			if got := text.Clean(s.Text); got != s.Text && !strings.HasPrefix(got, "◌") {
				t.Fatalf("%q is not clean", s.Text)
			}
			if strings.ContainsFunc(s.Style.URL, func(r rune) bool { return r <= ' ' || r > '~' }) {
				t.Fatalf("the address %q is not safe", s.Style.URL)
			}
		}
	}
}

func same2(a, b []text.Line) bool {
	return slices.EqualFunc(a, b, func(x, y text.Line) bool { return slices.Equal(x, y) })
}

func FuzzMarkdown_PiecesAreLaidOutAsTheWhole(f *testing.F) {
	source, err := os.ReadFile("testdata/answer.md")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(source), 7, 40, false)
	f.Add("- a\n\n\tb\n> c\n\n1. ```x\n   y\n```\n|a|b|\n|-|-|\n\x1b[2J|\u202e", 1, 10, true)
	f.Add("* * *\n- - x\n-\n\n  y\n+ [ ] \n[x](http://é) ![](\n`` ` ``&#27;[31m&Tab;", 3, 3, true)
	f.Fuzz(func(t *testing.T, s string, piece, width int, graphemes bool) {
		o := Layout{Width: 1 + width&0x7f}
		if graphemes {
			o.Rule = text.Graphemes
		}
		whole := Parse(s)
		want := all(whole, o)
		check(t, want, o)
		var m Markdown
		var done [][]text.Line
		for rest := s; rest != ""; {
			n := min(1+piece&0x3f, len(rest))
			m.Write(rest[:n])
			rest = rest[n:]
			if len(m.Done()) < len(done) {
				t.Fatal("a finished block disappeared")
			}
			for _, b := range m.Done()[len(done):] {
				done = append(done, b.Part.Lines(o))
			}
			all(m.Open(), o)
		}
		if got := all(append(m.Done(), m.Open()...), o); !same2(got, want) {
			t.Fatalf("in pieces:\n%s\nas a whole:\n%s", plainText(got), plainText(want))
		}
		for i, lines := range done {
			if again := whole[i].Part.Lines(o); !same2(again, lines) {
				t.Fatalf("finished block %d was\n%s\nand is\n%s", i, plainText(lines), plainText(again))
			}
		}
	})
}

// A line without spaces, and a line of bytes that begin no character, are divided.
func TestMarkdown_DividesLongLines(t *testing.T) {
	for name, s := range map[string]string{
		"letters":         strings.Repeat("a", 5*maxLine),
		"two paragraphs":  strings.Repeat("a", maxParagraph) + "\n" + strings.Repeat("b", maxParagraph),
		"characters":      strings.Repeat("\u4e16", 2*maxLine),
		"half characters": strings.Repeat("\x80", 3*maxLine),
	} {
		t.Run(name, func(t *testing.T) {
			var m Markdown
			m.Write(s)
			for _, b := range append(m.Done(), m.Open()...) {
				if n := len(b.Part.(*para).text); n > 2*maxParagraph {
					t.Errorf("a paragraph has %d bytes", n)
				}
			}
		})
	}
}
