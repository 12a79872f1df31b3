package cli

import (
	"cmp"
	"fmt"
	"os"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/host/show"
)

// status is the last line of the terminal while the agent works: what it does, for how long and at what
// cost. The view's lock guards it.
type status struct {
	view  *textView // nil before begin
	file  *os.File
	start time.Time
	frame int
	drawn bool             // the line is visible
	since time.Time        // when it became visible
	off   bool             // a question uses the terminal
	what  string           // the running tool
	think int64            // estimated tokens of the current thinking
	next  event.ModelRetry // the pending retry of a model call
	until time.Time        // when it happens
	spent event.Spending

	stop, stopped chan struct{}
}

var frames = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

// tick is how often the line is drawn.
const tick = 120 * time.Millisecond

// begin starts drawing the line, unless it was started before or there is no terminal.
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
	text := s.line(time.Since(s.start), screenWidth(s.file)-1)
	fmt.Fprint(s.file, "\r\x1b[K"+show.Paint(show.Grey, text))
	if !s.drawn {
		s.drawn, s.since = true, time.Now()
	}
}

// leave clears the line after the user typed a newline on it. It is now above the cursor, and may have
// been redrawn below.
func (s *status) leave() {
	if s.drawn && time.Since(s.since) > tick {
		fmt.Fprint(s.file, "\r\x1b[K\x1b[1A\x1b[K")
		s.drawn = false
	}
}

// line returns the text, fitted to a width. The current action is cut first, but stays readable.
func (s *status) line(took time.Duration, width int) string {
	const minAction = 12
	frame := string(frames[s.frame%len(frames)]) + " "
	rest := fmt.Sprintf(" · %s · %s", took.Round(time.Second), s.usage())
	what := show.Cut(s.doingNow(time.Now()), max(width-show.Width(frame+rest), minAction), false)
	return show.Fit(frame+what+rest, width)
}

// hide clears the line for other output.
func (s *status) hide() {
	if s.drawn {
		fmt.Fprint(s.file, "\r\x1b[K")
		s.drawn = false
	}
}

// doingNow describes the current action: waiting for a retry, running a tool, thinking, or working.
func (s *status) doingNow(now time.Time) string {
	if left := s.until.Sub(now); left > 0 {
		return show.Retry(s.next, left.Truncate(time.Second)+time.Second)
	}
	if s.what == "" && s.think > 0 {
		return fmt.Sprintf("thinking, about %s tokens", show.Tokens(s.think))
	}
	return cmp.Or(s.what, "working")
}

// retry starts a countdown to the next attempt of a model call.
func (s *status) retry(d event.ModelRetry) { s.next, s.until = d, time.Now().Add(d.Delay) }

// note counts the spending of an event, follows the thinking of the main agent, and ends the countdown when the model
// responds.
func (s *status) note(r event.Record) {
	s.spent.Add(r)
	switch d := r.Data.(type) {
	case event.ReasoningDelta:
		s.until = time.Time{}
		if r.Agent == "" && d.Tokens > 0 {
			s.think = d.Tokens
		}
	case event.TextDelta, event.TextEnd, event.ModelCallEnd:
		s.until = time.Time{}
		s.thought(r.Agent)
	case event.ArgumentsDelta, event.ModelRetry:
		s.thought(r.Agent)
	}
}

// thought ends the thinking of the main agent.
func (s *status) thought(agent string) {
	if agent == "" {
		s.think = 0
	}
}

func (s *status) usage() string { return show.Usage(s.spent.Total) }
