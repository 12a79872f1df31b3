package cli

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/view"
)

// status is the bottom of the screen while the agent works: the model's current line, the last lines of a
// running command, and a line with the agent's activity, its duration and cost. The view's lock guards it.
type status struct {
	view  *textView // nil before begin
	file  *os.File
	start time.Time
	frame int
	drawn int       // how many lines are visible
	since time.Time // when they became visible
	off   bool      // a question uses the terminal
	spent event.Spending

	stop, stopped chan struct{}
}

var frames = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

// tick is how often the lines are drawn.
const tick = 120 * time.Millisecond

// begin starts drawing, unless it was started before or there is no terminal.
func (s *status) begin(v *textView) {
	if s.view != nil || s.file == nil {
		return
	}
	s.view, s.start = v, time.Now()
	s.stop, s.stopped = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(s.stopped)
		ticker := time.NewTicker(tick)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				v.mu.Lock()
				s.draw()
				v.mu.Unlock()
			case <-s.stop:
				return
			}
		}
	}()
}

// end stops drawing. The view must not be locked.
func (s *status) end() {
	if s.view == nil {
		return
	}
	close(s.stop)
	<-s.stopped
}

func (s *status) draw() {
	if s.off || s.view.midLine {
		return
	}
	s.frame++
	now, width := time.Now(), screenWidth(s.file)-1
	root, _ := s.view.state.Agent("")
	lines := unfinished(s.view.partial, width)
	text := len(lines)
	lines = append(lines, runningOutput(&s.view.state, width)...)
	lines = append(lines, s.line(doing(root.Activity, agentsAtWork(&s.view.state), now), now.Sub(s.start), width))
	var b strings.Builder
	b.WriteString(s.clearing(s.drawn - 1))
	for i, line := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		if i >= text {
			line = show.Paint(show.Grey, line)
		}
		b.WriteString(line)
	}
	fmt.Fprint(s.file, b.String())
	if s.drawn == 0 {
		s.since = now
	}
	s.drawn = len(lines)
}

// clearing returns the bytes that clear the cursor's line and the lines above it.
func (s *status) clearing(above int) string {
	if above > 0 {
		return fmt.Sprintf("\r\x1b[%dA\x1b[J", above)
	}
	return "\r\x1b[J"
}

// leave clears the lines after the user typed a newline on the last. They are now above the cursor, and may have
// been redrawn a line lower.
func (s *status) leave() {
	if s.drawn > 0 && time.Since(s.since) > tick {
		fmt.Fprint(s.file, s.clearing(s.drawn))
		s.drawn = 0
	}
}

// hide clears the lines for other output.
func (s *status) hide() {
	if s.drawn > 0 {
		fmt.Fprint(s.file, s.clearing(s.drawn-1))
		s.drawn = 0
	}
}

// line returns the last line, fitted to a width. The current action is cut first, but stays readable.
func (s *status) line(what string, took time.Duration, width int) string {
	const minAction = 12
	frame := string(frames[s.frame%len(frames)]) + " "
	rest := fmt.Sprintf(" · %s · %s", took.Round(time.Second), s.usage())
	what = show.Cut(what, max(width-show.Width(frame+rest), minAction), false)
	return show.Fit(frame+what+rest, width)
}

func (s *status) usage() string { return show.Usage(s.spent.Total) }

// unfinished returns an incomplete line's last rows.
func unfinished(text string, width int) []string {
	const maximum = 4
	if text == "" {
		return nil
	}
	rows := show.Rows(text, max(width, maximum))
	return rows[max(len(rows)-maximum, 0):]
}

// runningOutput returns the running command's last output lines.
func runningOutput(s *view.State, width int) (list []string) {
	const maximum, indent = 5, "    "
	for i := s.Len() - 1; i >= 0 && i >= s.Len()-20; i-- {
		t := s.Item(i).Tool
		if t == nil || t.State != view.ToolRunning || t.Output.Tail == "" {
			continue
		}
		_, tail := t.Output.Lines()
		for _, line := range tail[max(len(tail)-maximum, 0):] {
			if line = strings.TrimRight(show.Visible(line), " \t"); line != "" {
				list = append(list, show.Fit(indent+strings.ReplaceAll(line, "\t", "    "), width))
			}
		}
		return list
	}
	return nil
}

// agentsAtWork returns how many subagents work.
func agentsAtWork(s *view.State) (n int) {
	for _, a := range s.Agents() {
		if a.Status == event.SubagentRunning {
			n++
		}
	}
	return n
}

// doing describes the main agent's activity, and counts the other working agents.
func doing(a view.Activity, others int, now time.Time) string {
	what := "working"
	switch a.Doing {
	case view.DoingRequest:
		what = "waiting for the model"
	case view.DoingRetry:
		if left := a.Until.Sub(now); left > 0 {
			what = show.Retry(*a.Retry, left.Truncate(time.Second)+time.Second)
		}
	case view.DoingThink:
		what = "thinking"
		if a.Tokens > 0 {
			what = fmt.Sprintf("thinking, about %s tokens", show.Tokens(a.Tokens))
		}
	case view.DoingAnswer:
		what = "answering"
	case view.DoingArguments:
		what = fmt.Sprintf("writing %s, %s", a.Title, bytesText(a.Bytes))
	case view.DoingTool:
		if what = a.Title; a.Count > 1 {
			what += fmt.Sprintf(" and %d more", a.Count-1)
		}
	case view.DoingApproval:
		what = "waiting for " + show.Plural(a.Count, "approval")
	case view.DoingQuestion:
		what = "waiting for an answer"
	case view.DoingCompaction:
		what = "compacting the conversation"
	}
	if others > 0 {
		what += " · " + show.Plural(others, "agent") + " working"
	}
	return what
}

// bytesText formats a size.
func bytesText(n int64) string {
	if n < 1000 {
		return show.Plural(int(n), "byte")
	}
	return fmt.Sprintf("%.1f kB", float64(n)/1000)
}
