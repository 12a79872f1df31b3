package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/host/show"
)

// textView prints what the agent says on one writer, and what it does on the other, where a
// terminal also has a line that tells how the work stands.
type textView struct {
	out, side io.Writer
	live      bool // out is a terminal: text is shown as it arrives
	watched   bool // side is one
	colour    bool // and is coloured, and has a status line

	mu       sync.Mutex
	midLine  bool   // out is in the middle of a line
	said     string // of the message that arrives
	calls    show.Calls
	seen     map[string]bool // diffs that a question has shown
	asking   bool            // a question waits for its answer
	held     []event.Record  // what happened meanwhile
	status   status
	finished bool
	err      error // of writing to out
}

func newTextView(h Host) *textView {
	v := &textView{
		out: h.Stdout, side: h.Stderr, live: isTerminal(h.Stdout), watched: isTerminal(h.Stderr), colour: h.colours(h.Stderr),
		calls: make(show.Calls),
	}
	v.status.file, _ = h.Stderr.(*os.File)
	return v
}

func (v *textView) show(r event.Record) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.finished:
		return nil
	case v.asking: // it would overwrite the question
		v.held = append(v.held, r)
		return nil
	}
	return v.display(r)
}

// display shows an event at once.
func (v *textView) display(r event.Record) error {
	if v.colour {
		v.status.begin(v)
	}
	v.status.count(r)
	v.status.note(r)
	v.calls.Note(r)
	indent := ""
	if r.Agent != "" {
		indent = strings.Repeat("  ", strings.Count(r.Agent, "/")+1)
	}
	switch d := r.Data.(type) {
	case event.TextDelta:
		if v.live && r.Agent == "" {
			v.say(d.Text)
		}
	case event.TextEnd:
		if r.Agent == "" {
			v.endText(d.Message.Text())
		}
	case event.ToolCallStart:
		v.status.doing(show.Title(d.Name, d.Arguments))
	case event.ToolCallEnd:
		title, took := v.calls.End(r.Agent, d)
		v.tool(indent, title, took, d)
		v.status.doing("")
	default:
		v.note(indent, r.Data)
	}
	return v.err
}

func (v *textView) recall(r event.Record) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.calls.Note(r)
	if d, ok := r.Data.(event.ToolCallEnd); ok {
		v.calls.End(r.Agent, d)
	}
}

func (v *textView) worksIn(dir string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.line("", "working in "+show.OneLine(dir))
}

// note shows what is one line of text.
func (v *textView) note(indent string, data event.Data) {
	switch d := data.(type) {
	case event.SubagentStart:
		v.line(indent, "agent "+d.ID+": "+show.Summary(d.Task))
	case event.SubagentEnd:
		v.line(indent, "agent "+d.ID+" "+string(d.Status))
	case event.ModelRetry:
		if d.Discard && v.midLine {
			v.say(" [broken off]")
		}
		v.said = ""
		v.line(indent, show.Retry(d, d.Delay))
		v.status.retry(d)
	case event.SteeringQueued:
		v.line(indent, "for the agent: "+show.OneLine(show.MessageText(d.Message)))
	case event.SessionEnd:
		for _, m := range d.Undelivered {
			v.line(indent, "not read by the agent: "+show.OneLine(show.MessageText(m)))
		}
	case event.Warning:
		v.line(indent, show.OneLine(d.Message))
	case event.LoopDetection:
		v.line(indent, show.OneLine(d.Message))
	case event.SessionResume:
		if d.Interrupted || d.Lost > 0 {
			v.line(indent, show.Notice(d))
		}
	case event.Compaction, event.Quarantine, event.ModelFallback, event.Rewind:
		v.line(indent, show.Notice(d))
	}
}

// say shows text of the agent.
func (v *textView) say(text string) {
	if text == "" {
		return
	}
	v.said += text
	v.status.hide()
	if _, err := io.WriteString(v.out, show.Visible(text)); err != nil && v.err == nil {
		v.err = fmt.Errorf("the output cannot be written: %w", err)
	}
	v.midLine = !strings.HasSuffix(text, "\n")
}

// endText shows what is left of a message: all of it where nothing arrived piece by piece.
func (v *textView) endText(text string) {
	if rest, ok := strings.CutPrefix(text, v.said); ok {
		v.say(rest)
	}
	v.said = ""
	v.endLine()
}

// endLine ends the line that out is in the middle of.
func (v *textView) endLine() {
	v.status.hide()
	if v.midLine {
		fmt.Fprintln(v.out)
		v.midLine = false
	}
}

func (v *textView) line(indent, text string) {
	v.endLine()
	fmt.Fprintf(v.side, "%s%s\n", indent, v.paint(grey, "· "+text))
}

// tool shows a tool call as one line, and the diff of what it changed.
func (v *textView) tool(indent, title string, took time.Duration, d event.ToolCallEnd) {
	v.endLine()
	mark, colour, note := "✓", green, ""
	switch {
	case d.Error != nil:
		mark, colour, note = "✗", red, " "+show.Summary(d.Error.Message)
	case len(d.Artifacts.CommandsRun) > 0:
		note = " " + v.paint(grey, show.Summary(lastLine(d.Model)))
	}
	fmt.Fprintf(v.side, "%s%s %s %s%s\n", indent, v.paint(colour, mark), title, v.paint(grey, show.Duration(took)), note)
	if diff, ok := d.Fields[coding.DiffField].(string); ok {
		if v.seen[diff] {
			delete(v.seen, diff)
			return
		}
		const most = 60
		fmt.Fprint(v.side, show.Diff(diff, indent+"  ", most, v.colour))
	}
}

// lastLine is the last line of an output, where commands tend to say how it went.
func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

func (v *textView) ask(question string) func(bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.endLine()
	v.status.off, v.asking = true, true
	fmt.Fprint(v.side, question)
	return func(answered bool) {
		v.mu.Lock()
		defer v.mu.Unlock()
		if !answered {
			fmt.Fprintln(v.side)
		}
		v.release()
	}
}

// release shows what happened while a question waited.
func (v *textView) release() {
	v.status.off, v.asking = false, false
	for _, r := range v.held {
		_ = v.display(r) // v.err keeps it
	}
	v.held = nil
}

func (v *textView) typed() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.status.leave()
}

func (v *textView) saw(diff string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.seen == nil {
		v.seen = make(map[string]bool)
	}
	v.seen[diff] = true
}

func (v *textView) finish(r result) error {
	v.mu.Lock()
	v.release()
	v.finished = true
	v.mu.Unlock()
	v.status.end()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.endLine()
	if r.Outcome == agent.StatusAwaitingInput {
		fmt.Fprintf(v.side, "reins: the agent asks: %s\n", show.OneLine(r.Question))
	}
	for _, what := range r.Refused {
		fmt.Fprintf(v.side, "reins: not approved: %s\n", show.OneLine(what))
	}
	if reason := stopReason(r); reason != "" {
		fmt.Fprintf(v.side, "reins: %s\n", reason)
	}
	if r.Turns > 0 {
		took := time.Duration(r.DurationMS) * time.Millisecond
		fmt.Fprintln(v.side, v.paint(grey, fmt.Sprintf("%s · %s · %s · %s", r.Outcome, show.Plural(r.Turns, "turn"), v.status.usage(), show.Duration(took))))
	}
	if v.watched && r.saved && r.ExitCode != exitUsage {
		fmt.Fprintln(v.side, v.paint(grey, howToGoOn(r)))
	}
	return v.err
}

func (v *textView) paint(colour, text string) string {
	if !v.colour {
		return text
	}
	return show.Paint(colour, text)
}
