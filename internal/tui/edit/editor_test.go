package edit

import (
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/fileindex"
	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/text"
)

// press sends keys by their names. A word in quotes is typed.
func press(t *testing.T, e *Editor, names ...string) Outcome {
	t.Helper()
	var out Outcome
	for _, name := range names {
		if s, ok := strings.CutPrefix(name, "'"); ok {
			for _, r := range s {
				out = e.Handle(keys.Key{Code: keys.Code(r), Text: string(r)})
			}
			continue
		}
		k, err := keys.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		out = e.Handle(k)
	}
	return out
}

// screen returns the lines of a view, with | at the caret's cell.
func screen(e *Editor, width, rows int) string {
	v := e.View(width, rows)
	var out []string
	for y, l := range v.Lines {
		s := l.Text()
		if y == v.Y {
			at, x := 0, 0
			for at < len(s) && x < v.X {
				c, _ := text.Next(s[at:])
				at, x = at+len(c), x+e.opts.Rule.Width(c)
			}
			s = s[:at] + strings.Repeat(" ", v.X-x) + "|" + s[at:]
		}
		out = append(out, s)
	}
	return strings.Join(out, "\n")
}

func TestView_ShowsTheCaretCell(t *testing.T) {
	for _, c := range []struct {
		typed       string
		left, width int
		rule        text.Rule
		want        string
	}{
		{"", 0, 10, text.Graphemes, "|"},
		{"hello", 2, 10, text.Graphemes, "hel|lo"},
		{"漢字かな", 1, 10, text.Graphemes, "漢字か|な"},
		{"漢字かな漢", 0, 8, text.Graphemes, "漢字かな\n漢|"},
		{"👩\u200d🚀x", 1, 10, text.Graphemes, "👩\u200d🚀|x"},
		{"👩\u200d🚀x", 1, 10, text.Wcwidth, "👩\u200d🚀|x"},
		{"1\ufe0f\u20e3 ❤\ufe0f", 2, 10, text.Graphemes, "1\ufe0f\u20e3| ❤\ufe0f"},
		{"e\u0301a", 1, 10, text.Wcwidth, "e\u0301|a"},
		{"a\tb", 1, 10, text.Graphemes, "a   |b"},
		{"one two three", 0, 8, text.Graphemes, "one two \nthree|"},
		{"one two three", 5, 8, text.Graphemes, "one two \n|three"},
		{"12345678", 0, 8, text.Graphemes, "12345678\n|"},
		{"123456789", 1, 8, text.Graphemes, "12345678\n|9"},
		{"a\x1b[31m", 0, 20, text.Graphemes, "a␛[31m|"},
		{"می\u200cخواهم", 0, 20, text.Graphemes, "می\u200cخواهم|"},
		{"a\u202eb", 0, 20, text.Graphemes, "a\uFFFDb|"},
	} {
		e := New(Options{Rule: c.rule})
		e.Paste(c.typed)
		for range c.left {
			press(t, e, "left")
		}
		if got := screen(e, c.width, 10); got != c.want {
			t.Errorf("%q, %d to the left, is shown as %q, want %q", c.typed, c.left, got, c.want)
		}
	}
}

func TestView_ShowsAtMostTheGivenRowsAroundTheCaret(t *testing.T) {
	e := New(Options{})
	press(t, e, "'1", "ctrl+j", "'2", "ctrl+j", "'3", "ctrl+j", "'4", "ctrl+j", "'5")
	v := e.View(20, 3)
	if got := screen(e, 20, 3); got != "3\n4\n5|" || v.Above != 2 || v.Below != 0 {
		t.Errorf("shows %q, above %d, below %d", got, v.Above, v.Below)
	}
	press(t, e, "up", "up")
	if got := screen(e, 20, 3); got != "3|\n4\n5" {
		t.Errorf("shows %q", got)
	}
	press(t, e, "up")
	if got := screen(e, 20, 3); got != "2|\n3\n4" {
		t.Errorf("shows %q", got)
	}
}

func TestUpAndDown_KeepTheColumnAcrossRowsAndWideCharacters(t *testing.T) {
	e := New(Options{Rule: text.Graphemes})
	e.Paste("abcdef\n漢字\nabcdef")
	e.View(20, 5)
	press(t, e, "left")
	for _, want := range []string{"abcdef\n漢字|\nabcdef", "abcde|f\n漢字\nabcdef"} {
		if press(t, e, "up"); screen(e, 20, 5) != want {
			t.Errorf("up: %q, want %q", screen(e, 20, 5), want)
		}
	}
	press(t, e, "left", "left", "down")
	if got := screen(e, 20, 5); got != "abcdef\n漢|字\nabcdef" {
		t.Errorf("down: %q", got)
	}
}

func TestEnter_SubmitsUnlessABackslashAsksForALineBreak(t *testing.T) {
	e := New(Options{})
	for _, key := range []string{"shift+enter", "alt+enter", "ctrl+j"} {
		if out := press(t, e, "'a", key); !out.Handled {
			t.Errorf("%s is not handled: %+v", key, out)
		}
	}
	if out := press(t, e, "'b", `\`, "enter"); !out.Handled || e.buf.text != "a\na\na\nb\n" {
		t.Errorf("text %q, %+v", e.buf.text, out)
	}
	if out := press(t, e, `\`, `\`, "enter"); out != (Outcome{Action: keys.Submit}) {
		t.Errorf("two backslashes and enter: %+v", out)
	}
	m, err := e.Take()
	if err != nil || m.Text != "a\na\na\nb\n"+`\\` || !e.Empty() {
		t.Errorf("took %q, %v", m.Text, err)
	}
}

func TestHandle_ReturnsWhatTheCallerHasToDo(t *testing.T) {
	e := New(Options{})
	for key, want := range map[string]keys.Action{
		"enter": keys.Submit, "ctrl+g": keys.ExternalEditor, "ctrl+v": keys.PasteImage, "tab": keys.CompleteOrQueue,
		"ctrl+d": keys.DeleteOrQuit, "ctrl+r": keys.HistorySearch, "alt+s": keys.FollowUp, "pgup": "", "esc": "", "f1": "",
	} {
		if out := press(t, e, key); out.Handled || out.Action != want {
			t.Errorf("%s: %+v, want %q", key, out, want)
		}
	}
	if out := press(t, e, "'x", "left", "ctrl+d"); !out.Handled || !e.Empty() {
		t.Errorf("ctrl+d in a draft: %+v, %q", out, e.buf.text)
	}
}

func TestPaste_FoldsLargeTextsAndSendsThemWhole(t *testing.T) {
	five, six := "1\n2\n3\n4\n5\n", "1\n2\n3\n4\n5\n6"
	for text, want := range map[string]string{
		five:                            five,
		six:                             "[paste #1, 6 lines]",
		strings.Repeat("漢", 1000):       strings.Repeat("漢", 1000),
		strings.Repeat("漢", 1001):       "[paste #1, 1,001 characters]",
		strings.Repeat("line\r\n", 213): "[paste #1, 213 lines]",
	} {
		e := New(Options{})
		e.Paste(text)
		shown := ""
		for _, l := range e.View(5000, 100).Lines {
			shown += l.Text() + "\n"
		}
		if strings.TrimSpace(shown) != strings.TrimSpace(want) {
			t.Errorf("%.20q is shown as %.40q, want %.40q", text, shown, want)
		}
		if got := e.Message().Text; got != strings.ReplaceAll(text, "\r\n", "\n") {
			t.Errorf("%.20q is sent as %.40q", text, got)
		}
	}
}

func TestPaste_IsEditedAsOneCharacter(t *testing.T) {
	e := New(Options{})
	long := strings.Repeat("x\n", 10)
	press(t, e, "'a")
	e.Paste(long)
	e.Paste(long + "y")
	press(t, e, "'b")
	if got := screen(e, 80, 5); got != "a[paste #1, 10 lines][paste #2, 11 lines]b|" {
		t.Errorf("shows %q", got)
	}
	press(t, e, "left", "left", "backspace")
	if got := e.Message().Text; got != "a"+long+"yb" {
		t.Errorf("after backspace: %q", got)
	}
	press(t, e, "ctrl+_")
	if got := e.Message().Text; got != "a"+long+long+"yb" {
		t.Errorf("after undo: %q", got)
	}
	press(t, e, "alt+p")
	if got := screen(e, 80, 50); !strings.HasPrefix(got, "a[paste #1, 10 lines]x\nx\n") || e.Message().Text != "a"+long+long+"yb" {
		t.Errorf("unfolded: %q", got)
	}
}

func TestPaste_NeverSubmitsAndKeepsEveryCharacter(t *testing.T) {
	e := New(Options{Commands: func() []Command { return []Command{{Name: "quit"}} }})
	pasted := "/quit\n\t\x1b[2J\U0010F005\u202e\r"
	e.Paste(pasted)
	if e.Popup() != nil {
		t.Error("a paste opens completions")
	}
	if got, want := e.Message().Text, "/quit\n\t\x1b[2J\U0010F005\u202e\n"; got != want {
		t.Errorf("the draft is %q, want %q", got, want)
	}
	if got := screen(e, 40, 10); strings.ContainsAny(got, "\x1b\u202e") {
		t.Errorf("shows %q", got)
	}
}

func TestPaste_OfImagesIsSentWithTheMessage(t *testing.T) {
	e := New(Options{})
	press(t, e, "'see ")
	e.PasteImage(Image{Name: "a\x1b.png", Type: "image/png", Data: []byte("1")})
	e.PasteImage(Image{Type: "image/png", Data: []byte("2")})
	press(t, e, "left", "left", "right", "backspace")
	m := e.Message()
	if len(m.Images) != 1 || string(m.Images[0].Data) != "2" || m.Text != "see [image #2]" {
		t.Errorf("message %+v", m)
	}
}

func TestMessage_RecognizesCommandLines(t *testing.T) {
	for text, want := range map[string]string{"!go test": "go test", "! ls": "ls", "!": "", "!  ": "", "a !b": ""} {
		if got, ok := (Message{Text: text}).Shell(); got != want || ok != (want != "") {
			t.Errorf("%q is the command line %q, %v, want %q", text, got, ok, want)
		}
	}
}

var demoCommands = []Command{
	{"compact", "make the conversation smaller", "[FOCUS]"}, {"cost", "show the cost", ""}, {"co", "short", ""}, {"record", "", ""},
}

func labels(p *Popup) (list []string) {
	if p != nil {
		for _, i := range p.Items {
			list = append(list, i.Label)
		}
	}
	return list
}

func TestCommands_AreCompletedAtTheStartOnly(t *testing.T) {
	e := New(Options{Commands: func() []Command { return demoCommands }})
	press(t, e, "'/com")
	if got := labels(e.Popup()); !slices.Equal(got, []string{"/compact [FOCUS]"}) {
		t.Errorf("/com offers %q", got)
	}
	if press(t, e, "tab"); e.buf.text != "/compact " || e.Popup() != nil {
		t.Errorf("tab makes %q", e.buf.text)
	}
	e.Clear()
	press(t, e, "'see /co")
	if e.Popup() != nil {
		t.Errorf("a slash in a sentence offers %q", labels(e.Popup()))
	}
	e.Clear()
	press(t, e, "'/cor")
	if got := labels(e.Popup()); !slices.Equal(got, []string{"/record"}) {
		t.Errorf("/cor offers %q", got)
	}
}

func TestPopup_NeverTakesEnterFromAFinishedLine(t *testing.T) {
	files := newIndex([]string{"main.go", "main_test.go", "internal/bob/b.go"})
	for _, c := range []struct {
		keys []string
		want string // the draft, after a completion; "" is a submission
	}{
		{[]string{"'/co"}, ""},      // a command, though others begin with it
		{[]string{"'/compact"}, ""}, // the only one
		{[]string{"'/comp"}, "/compact "},
		{[]string{"'/co", "down"}, "/cost "},
		{[]string{"'/ecor"}, ""}, // only resembles a command
		{[]string{"'/zzz"}, ""},
		{[]string{"'see @main.go"}, ""},
		{[]string{"'see @main"}, "see @main.go "},
		{[]string{"'see @"}, ""},
		{[]string{"'see @", "down", "up"}, "see @main.go "},
		{[]string{"'mail bob@main"}, ""},
		{[]string{"'ask @mgo"}, ""}, // only resembles a path
		{[]string{"'see @main", "esc"}, ""},
		{[]string{"'see @main", "left"}, ""},
	} {
		e := New(Options{Commands: func() []Command { return demoCommands }, Files: files})
		press(t, e, c.keys...)
		before := e.buf.text
		out := press(t, e, "enter")
		if c.want == "" && (out.Action != keys.Submit || e.buf.text != before) || c.want != "" && (!out.Handled || e.buf.text != c.want) {
			t.Errorf("%q and enter: %+v, %q; want %q", c.keys, out, e.buf.text, c.want)
		}
	}
}

func TestPopup_StaysClosedUntilAnotherWord(t *testing.T) {
	e := New(Options{Files: newIndex([]string{"main.go", "my dir/a.go"})})
	press(t, e, "'@ma", "esc", "'i")
	if e.Popup() != nil {
		t.Error("typing opens the popup that was closed")
	}
	press(t, e, "' @my")
	if got := labels(e.Popup()); !slices.Equal(got, []string{"my dir/", "my dir/a.go"}) {
		t.Errorf("the next word offers %q", got)
	}
	press(t, e, "tab")
	if got := labels(e.Popup()); e.buf.text != `@mai @my\ dir/` || !slices.Equal(got, []string{"my dir/a.go"}) {
		t.Errorf("a directory makes %q and offers %q", e.buf.text, got)
	}
	press(t, e, "tab")
	if e.buf.text != `@mai @my\ dir/a.go ` {
		t.Errorf("the file makes %q", e.buf.text)
	}
}

// index finds files at once.
type index struct {
	fileindex.Index
	note string
}

func newIndex(paths []string) *index {
	x := &index{}
	for _, p := range paths {
		x.Add(p)
	}
	return x
}

func (x *index) Find(query string, limit int) (list []Found, note string) {
	for _, m := range x.Index.Find(query, limit) {
		list = append(list, Found(m))
	}
	return list, x.note
}
