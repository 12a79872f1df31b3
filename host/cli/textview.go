package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/reins-agent/reins/event"
)

// textView prints what the agent says on one writer, and what it does on the other, where a
// terminal also has a line that tells how the work stands.
type textView struct {
	out, side io.Writer
	live      bool // out is a terminal: text is shown as it arrives
	colour    bool // side is one: it is coloured, and has a status line

	mu       sync.Mutex
	midLine  bool              // out is in the middle of a line
	said     string            // of the message that arrives
	titles   map[string]string // of the tool calls that run
	status   status
	finished bool
	err      error // of writing to out
}

func newTextView(h Host) *textView {
	v := &textView{
		out: h.Stdout, side: h.Stderr, live: h.colours(h.Stdout), colour: h.colours(h.Stderr),
		titles: make(map[string]string),
	}
	if f, ok := h.Stderr.(*os.File); ok && v.colour {
		v.status.begin(v, f)
	}
	return v
}

func (v *textView) show(r event.Record) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.finished {
		return nil
	}
	v.status.count(r)
	indent := ""
	if r.Agent != "" {
		indent = strings.Repeat("  ", strings.Count(r.Agent, "/")+1)
	}
	key := r.Agent + " "
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
		v.titles[key+d.ID] = toolTitle(d.Name, d.Arguments)
		v.status.doing(v.titles[key+d.ID])
	case event.ToolCallEnd:
		v.tool(indent, v.titles[key+d.ID], d)
		delete(v.titles, key+d.ID)
		v.status.doing("")
	default:
		v.note(indent, r.Data)
	}
	return v.err
}

// note shows what is one line of text.
func (v *textView) note(indent string, data event.Data) {
	switch d := data.(type) {
	case event.SubagentStart:
		v.line(indent, "agent "+d.ID+": "+summary(d.Task))
	case event.SubagentEnd:
		v.line(indent, "agent "+d.ID+" "+d.Status)
	case event.ModelRetry:
		if v.said = ""; d.Discard && v.midLine {
			v.say(" [broken off]")
		}
		v.line(indent, fmt.Sprintf("%s; trying again in %s", summary(d.Error.Message), duration(d.Delay)))
	case event.Warning:
		v.line(indent, summary(d.Message))
	case event.LoopDetection:
		v.line(indent, summary(d.Message))
	}
}

// say shows text of the agent.
func (v *textView) say(text string) {
	if text == "" {
		return
	}
	v.said += text
	v.status.hide()
	if _, err := io.WriteString(v.out, visible(text)); err != nil && v.err == nil {
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
func (v *textView) tool(indent, title string, d event.ToolCallEnd) {
	v.endLine()
	mark, colour, note := "✓", green, ""
	if d.Error != nil {
		mark, colour, note = "✗", red, " "+summary(d.Error.Message)
	}
	if title == "" {
		title = summary(d.Name)
	}
	fmt.Fprintf(v.side, "%s%s %s %s%s\n", indent, v.paint(colour, mark), title, v.paint(grey, duration(d.Duration)), note)
	if diff, ok := d.Fields[diffField].(string); ok {
		const most = 60
		fmt.Fprint(v.side, showDiff(diff, indent+"  ", most, v.colour))
	}
}

func (v *textView) ask(question string) func() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.endLine()
	v.status.off = true
	fmt.Fprint(v.side, question)
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.status.off = false
	}
}

func (v *textView) finish(r result) error {
	v.status.end()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.finished = true
	v.endLine()
	if r.Question != "" && r.Outcome != "done" {
		fmt.Fprintf(v.side, "reins: the agent asks: %s\n", inLine(r.Question))
	}
	for _, what := range r.Refused {
		fmt.Fprintf(v.side, "reins: not approved: %s\n", inLine(what))
	}
	if r.err != nil {
		fmt.Fprintf(v.side, "reins: %s\n", inLine(r.err.Error()))
	} else if r.Limit != "" {
		fmt.Fprintf(v.side, "reins: stopped at the limit %s\n", r.Limit)
	}
	if r.Turns > 0 {
		took := time.Duration(r.DurationMS) * time.Millisecond
		fmt.Fprintln(v.side, v.paint(grey, fmt.Sprintf("%s · %d turns · %s · %s", r.Outcome, r.Turns, v.status.usage(), duration(took))))
	}
	return v.err
}

func (v *textView) paint(colour, text string) string {
	if !v.colour {
		return text
	}
	return paint(colour, text)
}
