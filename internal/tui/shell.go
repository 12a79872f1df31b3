package tui

import (
	"bytes"
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/internal/tui/usercmd"
	"github.com/reins-agent/reins/session"
)

// shell is a running command that the user typed.
type shell struct {
	line  string
	began time.Time
	stop  context.CancelFunc
	out   *tail
}

// maxOutput is how many bytes at the end of a command's output are kept.
const maxOutput = 30_000

// tail keeps the last bytes written to it. It is safe for concurrent use.
type tail struct {
	mu      sync.Mutex
	b       []byte
	changed func()
}

func (t *tail) write(p []byte) {
	t.mu.Lock()
	t.b = append(t.b, p...)
	if over := len(t.b) - maxOutput; over > maxOutput {
		t.b = bytes.Clone(t.b[over:])
	}
	t.mu.Unlock()
	t.changed()
}

// text returns the kept output.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(text.Unstyled(string(t.b)), "\uFFFD")
}

// startShell runs a command that the user typed. Its output joins the conversation.
func (a *app) startShell(line string) {
	if a.shell != nil {
		a.say("Another command is running; esc stops it.")
		return
	}
	ctx, stop := context.WithCancel(a.ctx)
	s := &shell{line: line, began: time.Now(), stop: stop, out: &tail{changed: a.wake()}}
	dir := cmp.Or(a.info.Dir, a.o.Dir)
	a.shell = s
	a.do(func(context.Context) func() {
		message, err := usercmd.Run(ctx, dir, line, s.out.write)
		stop()
		return func() { a.shellDone(s, message, err) }
	})
}

// wake returns a function that makes the loop paint soon. It never waits, and any goroutine may call it.
func (a *app) wake() func() {
	return func() {
		select {
		case a.posts <- func() {}:
		default:
		}
	}
}

// shellDone gives the model a command's output.
func (a *app) shellDone(s *shell, message string, err error) {
	a.shell = nil
	if err != nil {
		a.sayError(err)
		return
	}
	a.say(lastLines("$ "+s.line+"\n"+strings.TrimRight(s.out.text(), "\n"), few+2))
	a.change(func(ctx context.Context, h session.Handle) error {
		return h.Steer(ctx, session.Input{Text: message, Plain: true})
	})
}

// lastLines returns the last n lines of s.
func lastLines(s string, n int) string {
	lines := strings.Split(s, "\n")
	return strings.Join(lines[max(len(lines)-n, 0):], "\n")
}

// shellLines shows a running command's last output.
func (a *app) shellLines(w, rows int) []text.Line {
	if a.shell == nil {
		return nil
	}
	title := "$ " + a.shell.line
	if d := time.Since(a.shell.began).Truncate(time.Second); d > 0 {
		title += " · " + show.Duration(d)
	}
	lines := []text.Line{{{Text: a.rule.CutText(text.Clean(title), w), Style: text.Style{Role: text.Accent}}}}
	out := lastLines(strings.TrimRight(a.shell.out.text(), "\n"), max(rows-1, 1))
	for l := range text.CleanLines(out) {
		lines = append(lines, text.Line{{Text: a.rule.CutText("  "+l, w), Style: text.Style{Role: text.Dim}}})
	}
	return lines
}
