package pager

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/llm"
)

// full lays out everything, and returns the first row of each block.
func full(p *Pager) (rows []text.Line, first []int) {
	for i, b := range p.blocks {
		first = append(first, len(rows))
		if b.Gap && i > 0 {
			rows = append(rows, text.Line{})
		}
		rows = append(rows, b.Part.Lines(p.layout)...)
	}
	return rows, append(first, len(rows))
}

func shown(p *Pager) string {
	var b strings.Builder
	for _, l := range p.Lines() {
		b.WriteString(strings.TrimRight(l.Text(), " ") + "\n")
	}
	return b.String()
}

func TestPager_ShowsTheSameInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sections []Section
		for i := range rapid.IntRange(0, 4).Draw(t, "sections") {
			words := rapid.SliceOf(rapid.SampledFrom([]string{"word ", "long words in a line ", "日本", "\n", "\n\n", "- x\n"})).Draw(t, "text")
			s := strings.Repeat(strings.Join(words, ""), rapid.IntRange(1, 30).Draw(t, "times"))
			if i%2 == 0 {
				sections = append(sections, Markdown("a", s))
			} else {
				sections = append(sections, Text("b", s))
			}
		}
		p := New(sections...)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch n := rapid.IntRange(-30, 30).Draw(t, "n"); rapid.IntRange(0, 6).Draw(t, "act") {
			case 0, 1:
				p.Scroll(n)
			case 2:
				p.Page(n / 5)
			case 3:
				p.Resize(35+n, 31+n)
			case 4:
				p.Jump(n / 10)
			case 5:
				if p.Bottom(); n < 0 {
					p.Top()
				}
			case 6:
				p.Search("word")
				p.Next(n)
				p.Search("")
			}
			got := p.Lines()
			rows, first := full(p)
			if len(got) != p.height {
				t.Fatalf("%d rows, want %d", len(got), p.height)
			}
			at := first[p.top.block] + p.top.row
			if at > 0 && at+p.height > len(rows) {
				t.Fatalf("the window is not full at row %d of %d", at, len(rows))
			}
			for i, l := range got {
				var want text.Line
				if at+i < len(rows) {
					want = rows[at+i]
				}
				if !slices.Equal(l, want) {
					t.Fatalf("row %d: got %q, want %q", at+i, l.Text(), want.Text())
				}
			}
		}
	})
}

func TestPager_LaysOutOnlyWhatItShows(t *testing.T) {
	p := New(Text("output", strings.Repeat("\x1b[31ma line\x1b[0m of output\n", 100_000)))
	p.Resize(80, 40)
	if got := shown(p); !strings.HasPrefix(got, "a line of output\n") || p.kept > 128 {
		t.Errorf("%d rows, %q", p.kept, got[:40])
	}
	p.Bottom()
	p.Lines()
	if p.kept > 300 {
		t.Errorf("%d rows at the end", p.kept)
	}
	for range 300 {
		p.Page(-1)
		p.Lines()
	}
	if p.kept > maxRows+200 {
		t.Errorf("%d rows after scrolling", p.kept)
	}
}

func TestPager_SearchGoesAround(t *testing.T) {
	var b strings.Builder
	for i := range 500 {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	p := New(Text("a", b.String()), Text("b", "the Needle\nline 42\n"))
	p.Resize(40, 10)
	match := func() string {
		for _, l := range p.Lines() {
			for _, s := range l {
				if s.Style.Role == text.Match {
					return l.Text()
				}
			}
		}
		return ""
	}
	if !p.Search("LINE 42") || match() != "line 42" {
		t.Fatalf("got %q", match())
	}
	for i, want := range []int{420, 421, 422} {
		p.Next(1)
		if got := p.rows[p.match.block][p.match.row].Text(); got != fmt.Sprint("line ", want) {
			t.Errorf("match %d: got %q, want line %d", i, got, want)
		}
	}
	p.Next(-1)
	p.Next(-1)
	p.Next(-1)
	p.Next(-1)
	if p.match.block != p.starts[1] {
		t.Errorf("the search did not continue at the end, but in block %d", p.match.block)
	}
	if !p.Search("needle") || match() != "the Needle" {
		t.Errorf("got %q", match())
	}
	if p.Search("nothing like it") || p.Next(1) {
		t.Error("it found what is not there")
	}
}

// gitDiff is a diff as git writes it.
func gitDiff() string {
	return "diff --git a/a.go b/a.go\nindex 1..2 100644\n" + show.Unified("a.go", "one\n-- two\nthree\n", "one\n++ two\nthree\nfour\n") +
		"diff --git a/img.png b/img.png\nindex 1..2\nBinary files a/img.png and b/img.png differ\n" +
		"diff --git a/new.txt b/new.txt\nnew file mode 100644\nindex 0..2\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+hello\n" +
		"diff --git a/old.txt b/old.txt\ndeleted file mode 100644\n--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n"
}

func TestDiff_HasASectionPerFile(t *testing.T) {
	p := New(Diff(gitDiff())...)
	p.Resize(50, 40)
	if got, want := p.Titles(), []string{"Summary", "a.go", "img.png", "new.txt", "old.txt"}; !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	want := `4 files changed, +3 −2

a.go     ██████████████████████████████████  +2 −1
img.png                                      +0 −0
new.txt  ███████████▍                        +1 −0
old.txt  ███████████▍                        +0 −1

a.go
1   one
2 - -- two
2 + ++ two
3   three
4 + four

Binary files a/img.png and b/img.png differ

new.txt (new)
1 + hello

old.txt (deleted)
1 - bye
`
	if got := strings.TrimRight(shown(p), "\n") + "\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	p.Resize(50, 5)
	p.Jump(1)
	if got := shown(p); !strings.HasPrefix(got, "a.go\n") {
		t.Errorf("got\n%s", got)
	}
	p.Jump(2)
	if got := shown(p); !strings.HasPrefix(got, "new.txt (new)\n") {
		t.Errorf("got\n%s", got)
	}
}

func TestDiff_TakesDiffsWithoutGitHeaders(t *testing.T) {
	diff := show.Unified("a", "x\n", "y\n") + show.Unified("b", "--- x\n", "--- y\n")
	if got := New(Diff(diff)...).Titles(); !slices.Equal(got, []string{"Summary", "a", "b"}) {
		t.Errorf("got %q", got)
	}
}

func TestCost_ShowsModelsAgentsAndCalls(t *testing.T) {
	half, one := 0.5, 1.0
	var s event.Spending
	add := func(agent, model string, cost *float64) {
		d := event.ModelCallEnd{Provider: "p", Model: model, Cost: cost, Usage: llm.Usage{Input: 1000, Output: 10}}
		s.Add(event.Record{Agent: agent, Data: d})
	}
	add("", "big", &one)
	add("", "big", &one)
	add("1", "small", &half)
	add("1", "local", nil)
	p := New(Cost(s, []float64{1, 1, 0.5, 0})...)
	p.Resize(80, 16)
	want := `4.0k tokens in, 40 out · cost unknown

██▅
cost of each model call

By model
big    ███████████████████████████████████  $2.0000 · 2 calls · 2.0k in · 20 out
small  ████████▊                            $0.5000 · 1 call · 1.0k in · 10 out
local                                       unknown · 1 call · 1.0k in · 10 out

By agent
main  ██████████████████████████  $2.0000 · 2 calls · 2.0k in · 20 out
1     ██████▌                     $0.5000 + unknown · 2 calls · 2.0k in · 20 out
`
	if got := strings.TrimRight(shown(p), "\n") + "\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func FuzzDiff_KeepsEveryLineOfHunks(f *testing.F) {
	f.Add(gitDiff(), 40)
	f.Add("@@ -1 +1 @@\n-a\n+b\n--- x\n+++ y\n@@ -0,0 +1 @@\n+\x1b[2J", 3)
	f.Fuzz(func(t *testing.T, diff string, width int) {
		p := New(Diff(diff)...)
		p.Resize(1+width&0xff, 20)
		for p.Lines(); p.top.block < len(p.blocks); p.Page(1) {
			before := p.top
			for _, l := range p.Lines() {
				if p.layout.Rule.LineWidth(l) > p.layout.Width {
					t.Fatalf("%q is wider than %d", l.Text(), p.layout.Width)
				}
				if s := l.Text(); text.Clean(s) != s && !strings.HasPrefix(text.Clean(s), "◌") {
					t.Fatalf("%q is not clean", s)
				}
			}
			if p.Scroll(18); p.top == before {
				break
			}
		}
		if got, want := len(split(diff)), len(p.sections)-1; got != want {
			t.Fatalf("%d files in %d sections", got, want)
		}
	})
}
