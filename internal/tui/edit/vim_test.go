package edit

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reins-agent/reins/internal/tui/keys"
)

// vimEditor returns an editor in normal mode with the caret where the text has a bar.
func vimEditor(t *testing.T, start string) *Editor {
	m := keys.Default()
	m.Vim = true
	e := New(Options{Keys: m})
	before, after, _ := strings.Cut(start, "|")
	e.buf.set(before + after)
	e.buf.reset()
	e.buf.text, e.buf.caret = before+after, len(before)
	e.vim.normal = true
	return e
}

// result returns the text with a bar at the caret.
func (e *Editor) result() string { return e.buf.text[:e.buf.caret] + "|" + e.buf.text[e.buf.caret:] }

func TestVim_MotionsOperatorsAndCommands(t *testing.T) {
	const esc = "\x1b"
	for _, c := range []struct{ start, typed, want string }{
		{"|one two", "w", "one |two"},
		{"|a.b c", "w", "a|.b c"},
		{"|a.b c", "W", "a.b |c"},
		{"|one two three", "2w", "one two |three"},
		{"|a\n\nb", "w", "a\n|\nb"},
		{"one t|wo", "b", "one |two"},
		{"one |two", "b", "|one two"},
		{"a.b |c", "B", "|a.b c"},
		{"|one two", "e", "on|e two"},
		{"on|e two", "e", "one tw|o"},
		{"one t|wo", "0", "|one two"},
		{"  on|e", "^", "  |one"},
		{"|one", "$", "on|e"},
		{"a|b", "hh", "|ab"},
		{"|ab", "lll", "a|b"},
		{"abc|d\nx\nabcd", "jj", "abcd\nx\nabc|d"},
		{"a\nb\n|c", "gg", "|a\nb\nc"},
		{"|a\nb\nc", "G", "a\nb\n|c"},
		{"|a\nb\nc", "2G", "a\n|b\nc"},
		{"|a.b.c", "f.", "a|.b.c"},
		{"|a.b.c", "2f.", "a.b|.c"},
		{"|a.b.c", "f.;", "a.b|.c"},
		{"|a.b.c", "f.;,", "a|.b.c"},
		{"|a.b.c", "tc", "a.b|.c"},
		{"a.b.|c", "F.", "a.b|.c"},
		{"a.b.|c", "T.", "a.b.|c"},
		{"a.b.|c", "2F.", "a|.b.c"},
		{"|abc", "fz", "|abc"},

		{"|one two", "dw", "|two"},
		{"one |two\nthree", "dw", "one| \nthree"},
		{"|one two three", "d2w", "|three"},
		{"|a b c d e f g", "2d3w", "|g"},
		{"one |two", "db", "|two"},
		{"|one two", "de", "| two"},
		{"one |two", "d$", "one| "},
		{"one |two", "D", "one| "},
		{"one |two", "d0", "|two"},
		{"a\n|b\nc", "dd", "a\n|c"},
		{"a\nb\n|c", "dd", "a\n|b"},
		{"|a\nb\nc", "2dd", "|c"},
		{"|a\nb\nc", "dj", "|c"},
		{"a\nb\n|c", "dk", "|a"},
		{"a\n|b\nc", "dG", "|a"},
		{"a\n|b\nc", "dgg", "|c"},
		{"|a(b)c", "df)", "|c"},
		{"|a(b)c", "dt)", "|)c"},
		{"|a", "dd", "|"},
		{"one t|wo three", "diw", "one | three"},
		{"one t|wo three", "daw", "one |three"},
		{"one t|wo", "daw", "on|e"},

		{"|one two", "cwx" + esc, "|x two"},
		{"|one two", "ccx" + esc, "|x"},
		{"  o|ne\nb", "ccx" + esc, "|x\nb"},
		{"one |two", "Cx" + esc, "one |x"},
		{"a|bc", "sx" + esc, "a|xc"},
		{"one t|wo", "ciwx" + esc, "one |x"},
		{"|ab", "cfbx" + esc, "|x"},

		{"|one two", "ywP", "one| one two"},
		{"|one two", "yw$p", "one twoone| "},
		{"|a\nb", "yyp", "a\n|a\nb"},
		{"|a\nb", "yyjp", "a\nb\n|a"},
		{"a\n|b", "yyP", "a\n|b\nb"},
		{"|a\nb\nc", "ddp", "b\n|a\nc"},
		{"|ab", "xp", "b|a"},
		{"|ab", "yl3p", "aaa|ab"},

		{"|abc", "x", "|bc"},
		{"|abc", "2x", "|c"},
		{"ab|c", "X", "a|c"},
		{"a|bc", "rx", "a|xc"},
		{"|abc", "2rx", "x|xc"},
		{"|ab", "~~", "A|B"},
		{"|a\n  b", "J", "a| b"},
		{"a|bc", "ix" + esc, "a|xbc"},
		{"a|bc", "ax" + esc, "ab|xc"},
		{"a|bc", "Ax" + esc, "abc|x"},
		{" a|bc", "Ix" + esc, " |xabc"},
		{"|a\nb", "ox" + esc, "a\n|x\nb"},
		{"a\n|b", "Ox" + esc, "a\n|x\nb"},

		{"|one two", "dwu", "|one two"},
		{"|one two", "cwxyz" + esc + "u", "|one two"},
		{"|one two", "dwu\x12", "|two"},
		{"|a\nb", "ddp.u", "b\n|a"},
		{"|one two three", "dw.", "|three"},
		{"|one two three", "cwx" + esc + "w.", "x |x three"},
		{"|abcdef", "x..", "|def"},
		{"|a\nb\nc", "dd.", "|c"},
		{"|漢字 かな", "dw", "|かな"},
		{"|e\u0301x", "x", "|x"},
	} {
		e := vimEditor(t, c.start)
		for _, r := range c.typed {
			switch r {
			case '\x1b':
				e.Handle(keys.Key{Code: keys.Esc})
			case '\x12':
				e.Handle(keys.Key{Code: 'r', Mods: keys.Ctrl})
			default:
				e.Handle(keys.Key{Code: keys.Code(r), Text: string(r)})
			}
		}
		if got := e.result(); got != c.want {
			t.Errorf("%q, %q: %q, want %q", c.start, c.typed, got, c.want)
		}
	}
}

func TestVim_EscapeInterruptsOnlyInNormalMode(t *testing.T) {
	e := vimEditor(t, "|")
	e.Clear()
	if e.Mode() != "insert" {
		t.Errorf("a new draft is in %s mode", e.Mode())
	}
	if out := press(t, e, "'hi", "esc"); !out.Handled || e.Mode() != "normal" {
		t.Errorf("esc in insert mode: %+v, %s", out, e.Mode())
	}
	if out := press(t, e, "'d", "esc"); !out.Handled {
		t.Errorf("esc after an operator: %+v", out)
	}
	if out := press(t, e, "esc"); out.Handled {
		t.Errorf("esc in normal mode: %+v", out)
	}
	if out := press(t, e, "enter"); out.Action != keys.Submit || e.Message().Text != "hi" {
		t.Errorf("enter in normal mode: %+v, %q", out, e.Message().Text)
	}
	if out := press(t, e, "ctrl+g"); out.Action != keys.ExternalEditor {
		t.Errorf("ctrl+g in normal mode: %+v", out)
	}
}

func TestVim_AnyKeysKeepTheCaretOnABoundaryAndUndoReachesTheStart(t *testing.T) {
	typed := strings.Split("hjkl0^$wWbBeEgGfFtTdcyxXsSDCYrJpPu~.iIaAoO;,123 漢e\u0301'(w\n", "")
	rapid.Check(t, func(t *rapid.T) {
		m := keys.Default()
		m.Vim = true
		e := New(Options{Keys: m})
		start := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "start"), "")
		e.Paste(start)
		e.Handle(keys.Key{Code: keys.Esc})
		for _, s := range rapid.SliceOfN(rapid.SampledFrom(append(typed, "\x1b", "\x1b")), 0, 30).Draw(t, "typed") {
			k := keys.Key{Text: s}
			switch s {
			case "\x1b":
				k = keys.Key{Code: keys.Esc}
			case "\n":
				k = keys.Key{Code: 'j', Mods: keys.Ctrl}
			}
			e.Handle(k)
			if b := &e.buf; b.caret > len(b.text) || b.snap(b.caret) != b.caret {
				t.Fatalf("after %q: caret %d is inside a cluster of %q", s, b.caret, b.text)
			}
			e.View(10, 5)
		}
		e.Handle(keys.Key{Code: keys.Esc})
		for e.buf.undo() {
		}
		if e.buf.text != "" {
			t.Fatalf("everything undone leaves %q", e.buf.text)
		}
	})
}
