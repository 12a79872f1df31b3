package panel

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/screen"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/internal/tui/theme"
	"github.com/reins-agent/reins/internal/tui/tuitest"
	"github.com/reins-agent/reins/session"
)

// now is the time in tests.
var now = time.Date(2026, 11, 19, 12, 0, 0, 0, time.UTC)

// sizes are the sizes that every panel is drawn in.
var sizes = [][2]int{{1, 1}, {5, 2}, {40, 10}, {80, 24}, {120, 40}, {200, 60}}

// loop runs what panels post, as a program's loop does.
type loop struct {
	t     *testing.T
	posts chan func() Outcome
	last  Outcome // of what was posted, except for a repaint
}

func newLoop(t *testing.T) *loop { return &loop{t: t, posts: make(chan func() Outcome, 1000)} }

// until runs posts until a condition holds.
func (l *loop) until(what string, ok func() bool) {
	l.t.Helper()
	late := time.After(time.Minute)
	for !ok() {
		select {
		case f := <-l.posts:
			if out := f(); out != handled && out != (Outcome{}) {
				l.last = out
			}
		case <-late:
			l.t.Fatalf("%s: it did not happen", what)
		}
	}
}

// options returns the options of a panel on a loop.
func (l *loop) options(h session.Handle) Options {
	return Options{
		Handle: h,
		Post:   func(f func() Outcome) { l.posts <- f },
		Now:    func() time.Time { return now },
	}
}

// paint returns what a terminal of a size shows, and checks that nothing else reaches it.
func paint(t *testing.T, p Panel, width, height int) *tuitest.Emulator {
	t.Helper()
	f := p.Draw(width, height)
	if len(f.Lines) != height {
		t.Errorf("%s at %d×%d has %d lines", p.Title(), width, height, len(f.Lines))
	}
	for i, l := range f.Lines {
		if w := text.Wcwidth.LineWidth(l); w > width {
			t.Errorf("%s at %d×%d: line %d is %d wide: %q", p.Title(), width, height, i, w, l.Text())
		}
		for _, s := range l {
			if text.Clean(s.Text) != s.Text {
				t.Errorf("%s at %d×%d: line %d is not clean: %q", p.Title(), width, height, i, s.Text)
			}
		}
	}
	if f.Cursor && (f.X < 0 || f.X >= width || f.Y < 0 || f.Y >= height) {
		t.Errorf("%s at %d×%d: the cursor is at %d,%d", p.Title(), width, height, f.X, f.Y)
	}
	e := tuitest.New(width, height)
	look := theme.Named("dark", true, theme.TrueColor)
	s := screen.New(width, height, false, look.SGR)
	fmt.Fprintf(e, "%s", s.Paint(f))
	if len(e.Unknown) > 0 {
		t.Errorf("%s at %d×%d sends %q", p.Title(), width, height, e.Unknown)
	}
	return e
}

// everywhere draws a panel in all sizes, and returns what a terminal of 80×24 shows.
func everywhere(t *testing.T, p Panel) string {
	t.Helper()
	for _, s := range sizes {
		paint(t, p, s[0], s[1])
	}
	return paint(t, p, 80, 24).Text()
}

// press presses keys by their names, and returns the last outcome. A name in quotes is typed as text.
func press(t testing.TB, p Panel, names ...string) (out Outcome) {
	t.Helper()
	for _, name := range names {
		if s, ok := strings.CutPrefix(name, "'"); ok {
			for _, r := range s {
				out = p.Key(keys.Key{Code: keys.Code(r), Text: string(r)})
			}
			continue
		}
		k, err := keys.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		out = p.Key(k)
	}
	return out
}

// contains reports whether a panel shows a text on a large screen.
func contains(p Panel, part string) bool {
	for _, l := range p.Draw(200, 100).Lines {
		if strings.Contains(l.Text(), part) {
			return true
		}
	}
	return false
}

// has checks that a text has parts.
func has(t *testing.T, shown string, parts ...string) {
	t.Helper()
	for _, s := range parts {
		if !strings.Contains(shown, s) {
			t.Errorf("%q is missing in\n%s", s, shown)
		}
	}
}

// hostile is a name that tries to control the terminal.
const hostile = "日本語 👩‍💻 \x1b[31mred\x1b]0;x\a \u202egnirts\u2066 e\u0301"

// fake is a session without a model. Methods that a test does not set fail by a panic.
type fake struct {
	session.Handle
	commands []session.Command
	results  map[string]session.Result
	info     session.Info
}

func (f *fake) Commands(context.Context) ([]session.Command, error) { return f.commands, nil }

func (f *fake) Info(context.Context) (session.Info, error) { return f.info, nil }

func (f *fake) Run(_ context.Context, line string) (session.Result, error) {
	r, ok := f.results[line]
	if !ok {
		return r, fmt.Errorf("there is no %s", line)
	}
	return r, nil
}
