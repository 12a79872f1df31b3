package tui

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/session"
)

// shell is a command of the user's own that runs.
type shell struct {
	line  string
	began time.Time
	stop  context.CancelFunc
	out   *tail
}

// maxOutput is how much of a command's output the model gets: its end.
const maxOutput = 30_000

// tail keeps the end of what is written to it. It may be used concurrently.
type tail struct {
	mu      sync.Mutex
	b       []byte
	left    int // bytes that were left out
	changed func()
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	t.b = append(t.b, p...)
	if over := len(t.b) - maxOutput; over > maxOutput {
		t.b = bytes.Clone(t.b[over:])
		t.left += over
	}
	t.mu.Unlock()
	t.changed()
	return len(p), nil
}

// text returns the end of the output.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	b, left := t.b, t.left
	if over := len(b) - maxOutput; over > 0 {
		b, left = b[over:], left+over
	}
	s := strings.ToValidUTF8(text.Unstyled(string(b)), "\uFFFD")
	if left > 0 {
		s = fmt.Sprintf("… %d bytes were left out …\n", left) + s
	}
	return s
}

// startShell runs a command of the user's own. Its output joins the conversation.
func (a *app) startShell(line string) {
	switch {
	case a.o.Shell == nil:
		a.say("Commands cannot be run here.")
		return
	case a.shell != nil:
		a.say("Another command is running; esc stops it.")
		return
	}
	ctx, stop := context.WithCancel(a.ctx)
	s := &shell{line: line, began: time.Now(), stop: stop, out: &tail{changed: a.wake()}}
	cmd := a.o.Shell(ctx, line)
	cmd.Stdout, cmd.Stderr = s.out, s.out
	a.shell = s
	a.do(func(context.Context) func() {
		err := cmd.Run()
		stop()
		return func() { a.shellDone(s, cmd, err) }
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

// shellDone gives the model the output of a command.
func (a *app) shellDone(s *shell, cmd *exec.Cmd, err error) {
	a.shell = nil
	end := "it succeeded"
	if err != nil {
		end = err.Error()
		if cmd.ProcessState != nil {
			end = cmd.ProcessState.String()
		}
	}
	out := strings.TrimRight(s.out.text(), "\n")
	a.say(lastLines("$ "+s.line+"\n"+out+"\n("+end+")", few+2))
	fence := "```"
	for strings.Contains(out, fence) {
		fence += "`"
	}
	message := fmt.Sprintf("I ran `%s` (%s). Its output:\n%s\n%s\n%s", s.line, end, fence, out, fence)
	l := a.live
	if l == nil {
		return
	}
	a.change(func(ctx context.Context, h session.Handle) error {
		return h.Steer(ctx, session.Input{Text: message, Plain: true})
	})
}

// lastLines returns the end of a text.
func lastLines(s string, n int) string {
	lines := strings.Split(s, "\n")
	return strings.Join(lines[max(len(lines)-n, 0):], "\n")
}

// shellLines shows the end of a running command's output.
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
