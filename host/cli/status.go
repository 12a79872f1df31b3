package cli

import (
	"cmp"
	"fmt"
	"os"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/host/show"
)

// status is the last line of a terminal while the agent works: that it does, on what, how long
// and at what price. The view's lock guards it.
type status struct {
	view  *textView // nil if there is no such line
	file  *os.File
	start time.Time
	frame int
	drawn bool             // the line is on the terminal
	since time.Time        // when it was drawn first
	off   bool             // something else has the terminal
	what  string           // the tool that runs
	next  event.ModelRetry // the model call that is made again, if one is
	until time.Time        // when that is
	spent event.Spending

	stop, stopped chan struct{}
}

var frames = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

// tick is how often the line is drawn.
const tick = 120 * time.Millisecond

// begin shows the line from now on, if it is not shown yet.
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

// end takes the line away for good. The view must not be locked.
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
	width, _ := terminalWidth(s.file)
	if width == 0 {
		width = 80
	}
	text := s.line(time.Since(s.start), width-1)
	fmt.Fprint(s.file, "\r\x1b[K"+show.Paint(grey, text))
	if !s.drawn {
		s.drawn, s.since = true, time.Now()
	}
}

// leave clears the line after a newline was typed on it: it is now above the cursor, and may have been
// drawn again below.
func (s *status) leave() {
	if s.drawn && time.Since(s.since) > tick {
		fmt.Fprint(s.file, "\r\x1b[K\x1b[1A\x1b[K")
		s.drawn = false
	}
}

// line is the text in so many columns. What is done makes room for how long it takes and what it
// costs, as far as something of it is left to read.
func (s *status) line(took time.Duration, width int) string {
	const least = 12
	frame := string(frames[s.frame%len(frames)]) + " "
	rest := fmt.Sprintf(" · %s · %s", took.Round(time.Second), s.usage())
	what := show.Cut(s.doingNow(time.Now()), max(width-show.Width(frame+rest), least), false)
	return show.Fit(frame+what+rest, width)
}

// hide makes room for other output.
func (s *status) hide() {
	if s.drawn {
		fmt.Fprint(s.file, "\r\x1b[K")
		s.drawn = false
	}
}

// doingNow says what the agent does: it waits to call the model again, runs a tool, or just works.
func (s *status) doingNow(now time.Time) string {
	if left := s.until.Sub(now); left > 0 {
		return show.Retry(s.next, left.Truncate(time.Second)+time.Second)
	}
	return cmp.Or(s.what, "working")
}

// retry counts down to the next attempt to call the model.
func (s *status) retry(d event.ModelRetry) { s.next, s.until = d, time.Now().Add(d.Delay) }

// note ends the countdown when the model is heard.
func (s *status) note(r event.Record) {
	switch r.Data.(type) {
	case event.TextDelta, event.TextEnd, event.ModelCallEnd, event.ReasoningDelta:
		s.until = time.Time{}
	}
}

func (s *status) doing(what string) { s.what = what }

func (s *status) count(r event.Record) { s.spent.Add(r) }

// usage returns what was used so far.
func (s *status) usage() string { return show.Usage(s.spent.Total) }
