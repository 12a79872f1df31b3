package edit

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/text"
)

// pieces are texts that join each other when they are next to each other.
var pieces = []string{
	"a", "b", " ", "\n", "\t", "hello", "x_1", "(", "é", "e", "\u0301", "漢", "字", "👩", "\u200d", "🚀", "\ufe0f", "1", "\u20e3",
	"🇩", "🇪", "한", "ᄒ", "ᅡ", "ᆫ", "\u0600", "\u0e33", "नि", "\u094d", "क", "\U0010F000", "\U0010FFFD", "\x1b", "\u202e", "مح", "\u200c",
	"\r\n", "\r", "\x00", "\xff", "\\",
}

// model is an editor in the simplest form: runes, and boundaries found from the start of the text.
type model struct {
	runes []rune
	caret int
}

func (m *model) boundaries() []int {
	list := []int{0}
	for i, line := range strings.SplitAfter(string(m.runes), "\n") {
		_ = i
		body, broken := strings.CutSuffix(line, "\n")
		for body != "" {
			c, _ := text.Next(body)
			n := len([]rune(c))
			for i, r := range []rune(c) {
				if isFold(r) {
					n = max(i, 1)
					break
				}
			}
			body = string([]rune(body)[n:])
			list = append(list, list[len(list)-1]+n)
		}
		if broken {
			list = append(list, list[len(list)-1]+1)
		}
	}
	return list
}

func (m *model) left() int {
	at := 0
	for _, b := range m.boundaries() {
		if b < m.caret {
			at = b
		}
	}
	return at
}

func (m *model) right() int {
	for _, b := range m.boundaries() {
		if b > m.caret {
			return b
		}
	}
	return m.caret
}

// replace replaces runes, and moves the caret to the next boundary.
func (m *model) replace(from, to int, s string) {
	m.runes = slices.Concat(m.runes[:from], []rune(s), m.runes[to:])
	m.caret = from + len([]rune(s))
	for _, b := range m.boundaries() {
		if b >= m.caret {
			m.caret = b
			return
		}
	}
}

func TestBuffer_EditsLikeASliceOfRunes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, m := &Buffer{goal: -1}, &model{}
		for range rapid.IntRange(1, 40).Draw(t, "edits") {
			switch rapid.SampledFrom([]string{"insert", "left", "right", "backspace", "delete", "start"}).Draw(t, "op") {
			case "insert":
				s := b.admit(rapid.SampledFrom(pieces).Draw(t, "text"))
				m.replace(m.caret, m.caret, s)
				b.begin(other)
				b.replace(b.caret, b.caret, s)
			case "left":
				m.caret = m.left()
				b.do(keys.CharLeft)
			case "right":
				m.caret = m.right()
				b.do(keys.CharRight)
			case "backspace":
				m.replace(m.left(), m.caret, "")
				b.do(keys.DeleteLeft)
			case "delete":
				m.replace(m.caret, m.right(), "")
				b.do(keys.DeleteRight)
			case "start":
				m.caret = 0
				b.do(keys.TextStart)
			}
			if b.text != string(m.runes) || b.caret != len(string(m.runes[:m.caret])) {
				t.Fatalf("text %q, caret %d; want %q, %d", b.text, b.caret, string(m.runes), len(string(m.runes[:m.caret])))
			}
		}
	})
}

// editing are the actions that change the draft or move the caret.
var editing = []keys.Action{
	keys.Newline, keys.CharLeft, keys.CharRight, keys.WordLeft, keys.WordRight, keys.LineStart, keys.LineEnd, keys.CaretUp,
	keys.CaretDown, keys.TextStart, keys.TextEnd, keys.DeleteLeft, keys.DeleteRight, keys.DeleteOrQuit, keys.KillWordLeft,
	keys.KillWordRight, keys.KillLineLeft, keys.KillLineRight, keys.Yank, keys.YankPop, keys.ShowPaste, keys.HistoryPrev,
	keys.HistoryNext, keys.Undo, keys.Redo,
}

// drawEdit does something random to an editor.
func drawEdit(t *rapid.T, e *Editor) {
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0, 1, 2, 3:
		e.Insert(rapid.SampledFrom(pieces).Draw(t, "text"))
	case 4:
		e.Paste(strings.Repeat(rapid.SampledFrom(pieces).Draw(t, "pasted"), rapid.SampledFrom([]int{1, 3, 1001}).Draw(t, "times")))
	case 5:
		e.PasteImage(Image{Name: "a.png"})
	default:
		e.Do(rapid.SampledFrom(editing).Draw(t, "action"))
	}
}

func TestEditor_CaretIsAlwaysOnAClusterBoundaryWithACell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := New(Options{Rule: rapid.SampledFrom([]text.Rule{text.Wcwidth, text.Graphemes}).Draw(t, "rule"), Commands: func() []Command {
			return []Command{{Name: "help"}}
		}})
		for range rapid.IntRange(1, 40).Draw(t, "edits") {
			drawEdit(t, e)
			m := model{runes: []rune(e.buf.text), caret: len([]rune(e.buf.text[:e.buf.caret]))}
			if !slices.Contains(m.boundaries(), m.caret) {
				t.Fatalf("caret %d of %q is inside a cluster", e.buf.caret, e.buf.text)
			}
			width, rows := rapid.IntRange(1, 30).Draw(t, "width"), rapid.IntRange(1, 5).Draw(t, "rows")
			v := e.View(width, rows)
			if len(v.Lines) > rows || v.Y < 0 || v.Y >= len(v.Lines) || v.X < 0 || v.X >= max(width, 2) || v.Above < 0 || v.Below < 0 {
				t.Fatalf("width %d, rows %d: %d lines, caret %d, %d, above %d, below %d of %q",
					width, rows, len(v.Lines), v.X, v.Y, v.Above, v.Below, e.buf.text)
			}
			for _, l := range v.Lines {
				if w := e.opts.Rule.LineWidth(l); w > max(width, 2) {
					t.Fatalf("line %q is %d wide, not %d", l.Text(), w, width)
				}
				for _, r := range l.Text() {
					if r < ' ' || r == 0x7F || r == 0x202E {
						t.Fatalf("line %q has %U", l.Text(), r)
					}
				}
			}
		}
	})
}

func TestBuffer_UndoReturnsToEveryEarlierTextAndRedoComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := New(Options{})
		seen := []string{""}
		for range rapid.IntRange(1, 30).Draw(t, "edits") {
			drawEdit(t, e)
			seen = append(seen, e.buf.text)
		}
		last := e.buf.text
		undone := 0
		for e.buf.undo() {
			undone++
			if !slices.Contains(seen, e.buf.text) {
				t.Fatalf("undo made %q, which the text never was", e.buf.text)
			}
		}
		if e.buf.text != "" {
			t.Fatalf("everything undone leaves %q", e.buf.text)
		}
		for range undone {
			e.buf.redo()
		}
		if e.buf.text != last {
			t.Fatalf("redo made %q, want %q", e.buf.text, last)
		}
	})
}

func do(e *Editor, list ...keys.Action) {
	for _, a := range list {
		e.Do(a)
	}
}

func TestUndo_TakesBackTypingWordByWord(t *testing.T) {
	e := New(Options{})
	for _, c := range strings.Split("fix the bug", "") {
		e.Insert(c)
	}
	e.Do(keys.KillWordLeft)
	for _, want := range []string{"fix the bug", "fix the ", "fix ", ""} {
		if e.Do(keys.Undo); e.buf.text != want {
			t.Errorf("undo made %q, want %q", e.buf.text, want)
		}
	}
	do(e, keys.Redo, keys.Redo, keys.Redo, keys.Redo)
	if e.buf.text != "fix the " || e.buf.caret != 8 {
		t.Errorf("redo made %q, caret %d", e.buf.text, e.buf.caret)
	}
}

func TestUndo_OfMoreChangesThanAreKeptStopsAtAnEarlierText(t *testing.T) {
	b := &Buffer{goal: -1}
	for range 5000 {
		b.begin(other)
		b.replace(b.caret, b.caret, "x")
		b.begin(other)
		b.replace(0, 0, "y")
	}
	for b.undo() {
	}
	if n := len(b.text); n < 8000 || n > 9000 {
		t.Errorf("%d characters are left, want 8,000 to 9,000", n)
	}
}

func TestKill_RepeatedKillsAreOneYank(t *testing.T) {
	e := New(Options{})
	e.Insert("one two three")
	do(e, keys.KillWordLeft, keys.KillWordLeft, keys.LineStart, keys.Yank)
	if e.buf.text != "two threeone " {
		t.Errorf("text %q", e.buf.text)
	}
	do(e, keys.TextEnd, keys.KillLineLeft, keys.Yank, keys.YankPop)
	if e.buf.text != "two three" {
		t.Errorf("after yank-pop: %q", e.buf.text)
	}
	e.Do(keys.YankPop)
	if e.buf.text != "two threeone " {
		t.Errorf("after the second yank-pop: %q", e.buf.text)
	}
}

func TestKill_SurvivesTheDraftWithItsFoldedPastes(t *testing.T) {
	e := New(Options{})
	long := strings.Repeat("line\n", 10)
	e.Insert("look at ")
	e.Paste(long)
	e.Do(keys.KillLineLeft)
	e.Clear()
	e.Do(keys.Yank)
	if got := e.Message().Text; got != "look at "+long {
		t.Errorf("yanked %q", got)
	}
}

func TestWords_StopAtPunctuationAndFolds(t *testing.T) {
	e := New(Options{})
	e.Insert("go test ./internal/tui ")
	e.Paste(strings.Repeat("x", 2000))
	e.Insert(" 漢字 é")
	var left []string
	for e.buf.caret > 0 {
		e.Do(keys.WordLeft)
		left = append(left, e.buf.expand(strings.Split(e.buf.text[e.buf.caret:], " ")[0])[:2])
	}
	if want := []string{"é", "漢字"[:2], "xx", "tu", "in", "te", "go"}; !slices.Equal(left, want) {
		t.Errorf("words to the left begin with %q, want %q", left, want)
	}
}
