package screen

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/internal/tui/theme"
	"github.com/reins-agent/reins/internal/tui/tuitest"
)

var dark = theme.Named("dark", true, theme.TrueColor)

// pieces are what random lines are made of: ASCII, wide characters, clusters of several characters, links.
var pieces = []string{
	"a", "bc", " ", "   ", "word ", "世界", "e\u0301", "👩‍👩‍👧", "1\ufe0f\u20e3", "🇩🇪", "☁\ufe0f", "👍🏽", "ｗ", "한", "é", "─", "a\u0308\u0323",
}

func randomLine(t *rapid.T) text.Line {
	var l text.Line
	for range rapid.IntRange(0, 5).Draw(t, "spans") {
		s := text.Style{
			Role: text.Role(rapid.IntRange(0, int(text.Roles)-1).Draw(t, "role")),
			URL:  rapid.SampledFrom([]string{"", "", "", "https://example.com/a"}).Draw(t, "url"),
		}
		if rapid.Bool().Draw(t, "plain") {
			s = text.Style{}
		}
		l = append(l, text.Span{Text: strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 6).Draw(t, "text"), ""), Style: s})
	}
	return l
}

// nextLines changes lines as screens do: some lines change, or all scroll.
func nextLines(t *rapid.T, old []text.Line, h int) []text.Line {
	lines := slices.Clone(old)
	for len(lines) < h {
		lines = append(lines, nil)
	}
	switch rapid.IntRange(0, 3).Draw(t, "change") {
	case 0: // scroll a part
		a := rapid.IntRange(0, h-1).Draw(t, "from")
		b := rapid.IntRange(a, h-1).Draw(t, "to")
		d := rapid.IntRange(0, b-a).Draw(t, "by")
		if rapid.Bool().Draw(t, "down") {
			copy(lines[a+d:b+1], slices.Clone(lines[a:b+1-d]))
		} else {
			copy(lines[a:b+1], slices.Clone(lines[a+d:b+1]))
		}
	case 1: // extend a line, as streaming does
		y := rapid.IntRange(0, h-1).Draw(t, "line")
		lines[y] = append(slices.Clone(lines[y]), randomLine(t)...)
	}
	for range rapid.IntRange(0, 3).Draw(t, "lines") {
		lines[rapid.IntRange(0, h-1).Draw(t, "line")] = randomLine(t)
	}
	return lines
}

// want returns the cells of a line, and which of them terminals may show in different ways.
func want(l text.Line, w int, rule text.Rule) (cells []tuitest.Cell, free []bool) {
	for _, s := range l {
		for rest := s.Text; rest != ""; {
			var c string
			c, rest = text.Next(rest)
			n := rule.Width(c)
			if len(cells)+n > w {
				rest = ""
				break
			}
			cells = append(cells, tuitest.Cell{Text: c, SGR: tuitest.Style(dark.SGR(s.Style)), URL: s.Style.URL})
			for range n {
				free = append(free, risky(c))
			}
			for range n - 1 {
				cells = append(cells, tuitest.Cell{SGR: tuitest.Style(dark.SGR(s.Style)), URL: s.Style.URL})
			}
		}
	}
	for len(cells) < w {
		cells, free = append(cells, tuitest.Cell{Text: " "}), append(free, false)
	}
	return cells[:w], free[:w]
}

func check(t *rapid.T, e *tuitest.Emulator, lines []text.Line, rule text.Rule) {
	for y := range e.H {
		var l text.Line
		if y < len(lines) {
			l = lines[y]
		}
		cells, free := want(l, e.W, rule)
		for x, c := range cells {
			got := e.Cells[y][x]
			if got.Text == " " && c.Text == " " && c.SGR == "" && got.SGR == "" {
				continue
			}
			if free[x] && (rule != text.Graphemes || e.Rule != text.Graphemes) {
				continue
			}
			if got != c {
				t.Fatalf("row %d, column %d is %q, want %q\nrow:  %q\nwant: %q", y, x, got, c, e.Rows()[y], l.Text())
			}
		}
	}
	if len(e.Unknown) > 0 {
		t.Fatalf("sequences that terminals may not understand: %q", e.Unknown)
	}
}

// fit cuts lines where a line would end in the middle of a cluster, as the layouts above this package do.
func fit(lines []text.Line, w int, rule text.Rule) []text.Line {
	out := slices.Clone(lines)
	for i, l := range out {
		out[i] = rule.Cut(l, w)
	}
	return out
}

func TestPaint_TheTerminalShowsTheCellsOfEachFrame(t *testing.T) {
	for _, rule := range []text.Rule{text.Wcwidth, text.Graphemes} {
		for _, terminal := range []text.Rule{text.Wcwidth, text.Graphemes} {
			t.Run(fmt.Sprintf("layout %d, terminal %d", rule, terminal), func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) {
					w, h := rapid.IntRange(2, 24).Draw(t, "w"), rapid.IntRange(1, 10).Draw(t, "h")
					s, e := New(w, h, false, dark.SGR), tuitest.New(w, h)
					s.Rule, e.Rule, e.Modes["?7"] = rule, terminal, false
					s.Sync = rapid.Bool().Draw(t, "sync")
					var lines []text.Line
					for i := range rapid.IntRange(1, 8).Draw(t, "frames") {
						lines = nextLines(t, lines, h)
						f := Frame{Lines: fit(lines, w, rule), Cursor: rapid.Bool().Draw(t, "cursor")}
						f.X, f.Y = rapid.IntRange(0, w-1).Draw(t, "x"), rapid.IntRange(0, h-1).Draw(t, "y")
						out := string(s.Paint(f))
						e.Write([]byte(out))
						check(t, e, f.Lines, rule)
						if f.Cursor && (e.X != f.X || e.Y != f.Y) {
							t.Fatalf("the cursor is at %d, %d; want %d, %d", e.X, e.Y, f.X, f.Y)
						}
						if e.Modes["?25"] != f.Cursor {
							t.Fatalf("the cursor is visible: %v, want %v", e.Modes["?25"], f.Cursor)
						}
						if i > 0 && strings.Contains(out, "\x1b[2J") {
							t.Fatal("the screen was erased")
						}
						if out := s.Paint(f); len(out) != 0 {
							t.Fatalf("an equal frame took the bytes %q", out)
						}
					}
				})
			})
		}
	}
}

func TestResize_ErasesOnceAndShowsTheFrame(t *testing.T) {
	s, e := New(20, 5, false, dark.SGR), tuitest.New(20, 5)
	lines := []text.Line{{{Text: "one"}}, {{Text: "two"}}}
	e.Write(s.Paint(Frame{Lines: lines}))
	e.Resize(10, 3)
	e.Write([]byte("garbage"))
	e.Write(s.Resize(10, 3))
	e.Write(s.Paint(Frame{Lines: lines}))
	if got := e.Text(); got != "one\ntwo" || e.Clears != 2 {
		t.Errorf("the screen shows %q after %d erases, want the frame after 2", got, e.Clears)
	}
}

// stream paints an answer of 1,000 words as it grows, and returns the bytes for each.
func stream(w, h int, s *Screen) float64 {
	const tokens = 1000
	rows, n := []string{""}, 0
	styles := []text.Style{{}, {Role: text.Code}, {Attr: text.Bold}}
	for i := range tokens {
		word := fmt.Sprintf("tok%d ", i%100)
		if len(rows[len(rows)-1])+len(word) > w {
			rows = append(rows, "")
		}
		rows[len(rows)-1] += word
		var lines []text.Line
		for _, row := range rows[max(len(rows)-(h-4), 0):] {
			lines = append(lines, text.Line{{Text: row, Style: styles[len(row)%3]}})
		}
		for len(lines) < h-4 {
			lines = append(lines, nil)
		}
		for _, row := range []string{"", "────", "> a draft", fmt.Sprintf("model · %d %%", i/20)} {
			lines = append(lines, text.Line{{Text: row, Style: text.Style{Role: text.Dim}}})
		}
		n += len(s.Paint(Frame{Lines: lines, X: 9, Y: h - 2, Cursor: true}))
	}
	return float64(n) / tokens
}

func TestPaint_AStreamedTokenTakesAtMost100Bytes(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		s := New(size[0], size[1], false, dark.SGR)
		s.Sync = true
		if got := stream(size[0], size[1], s); got > 100 {
			t.Errorf("at %d×%d a token takes %.0f bytes, want at most 100", size[0], size[1], got)
		} else {
			t.Logf("%d×%d: %.0f bytes per token", size[0], size[1], got)
		}
	}
}

func TestPrint_FinishedLinesEnterTheHistoryOnceAndInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, h := rapid.IntRange(10, 30).Draw(t, "w"), rapid.IntRange(6, 12).Draw(t, "h")
		live := rapid.IntRange(1, 4).Draw(t, "live")
		s, e := New(w, live, true, dark.SGR), tuitest.New(w, h)
		e.Modes["?7"] = false
		s.Sync = rapid.Bool().Draw(t, "sync")
		e.Write([]byte("$ reins\r\n"))
		printed := []string{"$ reins"}
		frame := func() Frame {
			var lines []text.Line
			for i := range live {
				lines = append(lines, text.Line{{Text: fmt.Sprintf("live %d %d", i, rapid.IntRange(0, 99).Draw(t, "v"))}})
			}
			return Frame{Lines: lines, Cursor: true, X: 2, Y: rapid.IntRange(0, live-1).Draw(t, "y")}
		}
		e.Write(s.Paint(frame()))
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			f := frame()
			if rapid.Bool().Draw(t, "print") {
				var lines []text.Line
				for range rapid.IntRange(0, 5).Draw(t, "lines") {
					printed = append(printed, fmt.Sprintf("line %d", len(printed)))
					lines = append(lines, text.Line{{Text: printed[len(printed)-1]}})
				}
				e.Write(s.Print(lines, f))
			} else {
				e.Write(s.Paint(f))
			}
			var all []string
			for _, l := range f.Lines {
				all = append(all, l.Text())
			}
			want := strings.Join(append(slices.Clone(printed), all...), "\n")
			got := strings.TrimRight(strings.Join(append(slices.Clone(e.History), e.Rows()...), "\n"), "\n")
			if got != want {
				t.Fatalf("the terminal has\n%s\nwant\n%s", got, want)
			}
		}
		if e.Clears > 0 {
			t.Fatal("the screen was erased")
		}
		e.Write(s.Leave())
		got := strings.TrimRight(strings.Join(append(slices.Clone(e.History), e.Rows()...), "\n"), "\n")
		if want := strings.Join(printed, "\n"); got != want {
			t.Fatalf("afterwards the terminal has\n%s\nwant\n%s", got, want)
		}
	})
}

func TestPaint_LaysOutEqualLinesOnce(t *testing.T) {
	s := New(20, 2, false, dark.SGR)
	frames := make([]Frame, 2) // of different slices, as if they were laid out again
	for i := range frames {
		frames[i].Lines = []text.Line{{{Text: "equal"}, {Text: " 世界", Style: text.Style{Role: text.Dim}}}, nil}
		s.Paint(frames[i])
	}
	n := 0
	if allocs := testing.AllocsPerRun(100, func() { n++; s.Paint(frames[n%2]) }); allocs > 0 {
		t.Errorf("an equal frame takes %v allocations", allocs)
	}
}

func BenchmarkPaint_AStreamedToken(b *testing.B) {
	s := New(120, 40, false, dark.SGR)
	for b.Loop() {
		stream(120, 40, s)
	}
}
