package cli

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/reins-agent/reins/event"
)

// status is the last line of a terminal while the agent works: that it does, on what, how long
// and at what price. The view's lock guards it.
type status struct {
	view  *textView // nil if there is no such line
	file  *os.File
	start time.Time
	frame int
	drawn bool   // the line is on the terminal
	off   bool   // something else has the terminal
	what  string // the tool that runs
	spent tally

	stop, stopped chan struct{}
}

var frames = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

// begin shows the line from now on.
func (s *status) begin(v *textView, f *os.File) {
	s.view, s.file, s.start = v, f, time.Now()
	s.stop, s.stopped = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(s.stopped)
		tick := time.NewTicker(120 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
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
	fmt.Fprint(s.file, "\r\x1b[K"+paint(grey, text))
	s.drawn = true
}

// line is the text in so many columns. What is done makes room for how long it takes and what it
// costs, as far as something of it is left to read.
func (s *status) line(took time.Duration, width int) string {
	const least = 12
	frame := string(frames[s.frame%len(frames)]) + " "
	rest := fmt.Sprintf(" · %s · %s", took.Round(time.Second), s.usage())
	what := cut(cmp.Or(s.what, "working"), max(width-columns(frame+rest), least), false)
	return fit(frame+what+rest, width)
}

// hide makes room for other output.
func (s *status) hide() {
	if s.drawn {
		fmt.Fprint(s.file, "\r\x1b[K")
		s.drawn = false
	}
}

func (s *status) doing(what string) { s.what = what }

func (s *status) count(r event.Record) { s.spent.add(r) }

// usage is what was used so far, in words.
func (s *status) usage() string {
	u, cost := s.spent.Usage, s.spent.price()
	if !s.spent.priced() {
		cost = "cost unknown"
	}
	cached := ""
	if share, ok := cacheShare(u); ok {
		cached = " (" + share + " cached)"
	}
	return fmt.Sprintf("%s tokens in%s, %s out · %s", tokens(u.Input), cached, tokens(u.Output), cost)
}

// fit cuts a text to so many columns.
func fit(text string, columns int) string {
	for i, r := range text {
		if columns -= runeColumns(r); columns < 0 {
			return text[:i]
		}
	}
	return text
}

// tokens is a number of tokens as people read it.
func tokens(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10)
	}
	return strconv.FormatFloat(float64(n)/1000, 'f', 1, 64) + "k"
}
