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
	"github.com/reins-agent/reins/internal/hidden"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// textView prints what the agent says to out, and what it does to side. If side is a terminal, its last
// line is a status line.
type textView struct {
	out, side io.Writer
	live      bool // out is a terminal: text is shown as it arrives
	watched   bool // side is a terminal
	colour    bool // side is coloured and has a status line

	mu       sync.Mutex
	midLine  bool   // out is in the middle of a line
	said     string // the current message so far
	words    words
	stream   show.Stream
	calls    show.Calls
	seen     map[string]bool // diffs shown by a question
	dropped  bool            // it was shown that the server left out thinking
	asking   bool            // a question waits for its answer
	held     []event.Record  // events since the question
	status   status
	finished bool
	err      error // the first error of writing to out
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
	case v.asking: // the event would overwrite the question
		v.held = append(v.held, r)
		return nil
	}
	return v.display(r)
}

// display shows an event.
func (v *textView) display(r event.Record) error {
	if v.colour {
		v.status.begin(v)
	}
	v.status.note(r)
	v.calls.Note(r)
	indent := agentIndent(r.Agent)
	if r.Agent == "" {
		v.hear(r.Data)
	}
	switch d := r.Data.(type) {
	case event.TextEnd:
		if r.Agent == "" {
			v.endText(v.words.Words(d.Message))
		}
	case event.ToolCallStart:
		v.status.what = show.Title(d.Name, d.Arguments)
	case event.ToolCallEnd:
		title, took := v.calls.End(r.Agent, d)
		v.tool(indent, title, took, d)
		v.status.what = ""
	default:
		v.note(indent, r.Data)
	}
	return v.err
}

// hear prints what the model says with an event, as far as it is streamed.
func (v *textView) hear(data event.Data) {
	text, fresh := v.words.note(data)
	if !v.live {
		return
	}
	if fresh && v.said != "" {
		v.endLine()
		v.said = ""
	}
	v.say(text)
}

// agentIndent returns the indentation for the events of an agent, by its depth in the tree.
func agentIndent(agent string) string {
	if agent == "" {
		return ""
	}
	return strings.Repeat("  ", strings.Count(agent, "/")+1)
}

func (v *textView) replay(r event.Record) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.calls.Note(r)
	switch d := r.Data.(type) {
	case event.ToolCallEnd:
		v.calls.End(r.Agent, d)
	case event.ModelCallEnd:
		v.dropped = v.dropped || show.Dropped(d) != ""
	}
}

func (v *textView) workingIn(dir string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.line("", "working in "+show.OneLine(dir))
}

// note shows an event that fits on one line.
func (v *textView) note(indent string, data event.Data) {
	switch d := data.(type) {
	case event.ModelRetry:
		if d.Discard && v.midLine {
			v.say(" [interrupted]")
		}
		v.said = ""
		if announces(d.Error.Class == string(llm.ErrLoading), d.Attempt) {
			v.line(indent, show.Retry(d, d.Delay))
		}
		v.status.retry(d)
	case event.ModelCallEnd:
		if text := show.Dropped(d); text != "" && !v.dropped {
			v.dropped = true
			v.line(indent, text)
		}
		if text := show.Refusal(d); text != "" && indent != "" { // the result says it of the main agent
			v.line(indent, text)
		}
	case event.SteeringQueued:
		v.line(indent, "queued for the agent: "+show.OneLine(show.MessageText(d.Message)))
	case event.SessionEnd:
		for _, m := range d.Undelivered {
			v.line(indent, "not delivered to the agent: "+show.OneLine(show.MessageText(m)))
		}
	case event.LoopDetection:
		v.line(indent, show.OneLine(d.Message))
	case event.SessionResume:
		if d.Interrupted || d.Lost > 0 {
			v.line(indent, show.Notice(d))
		}
	case event.Hook:
		if text := show.Notice(d); text != "" {
			v.line(indent, text)
		}
	case event.Compaction, event.Quarantine, event.ModelFallback, event.Rewind, event.SubagentStart, event.SubagentEnd, event.Task, event.Team, event.Mail, event.Warning:
		v.line(indent, show.Notice(d))
	}
}

// say prints text of the agent.
func (v *textView) say(text string) {
	if text == "" {
		return
	}
	v.said += text
	v.status.hide()
	if _, err := io.WriteString(v.out, v.stream.Visible(text)); err != nil && v.err == nil {
		v.err = fmt.Errorf("cannot write the output: %w", err)
	}
	v.midLine = !strings.HasSuffix(text, "\n")
}

// endText prints the rest of a message, or all of it if nothing was streamed.
func (v *textView) endText(text string) {
	if rest, ok := strings.CutPrefix(text, v.said); ok {
		v.say(rest)
	}
	v.said = ""
	v.endLine()
}

// endLine ends an unfinished line of out.
func (v *textView) endLine() {
	v.status.hide()
	if v.midLine {
		fmt.Fprintln(v.out)
		v.midLine = false
	}
}

func (v *textView) line(indent, text string) {
	v.endLine()
	fmt.Fprintf(v.side, "%s%s\n", indent, v.paint(show.Grey, "· "+text))
}

// tool shows a tool call on one line, followed by its diff.
func (v *textView) tool(indent, title string, took time.Duration, d event.ToolCallEnd) {
	v.endLine()
	if d.Artifacts.Message != nil {
		v.message(indent, *d.Artifacts.Message)
		return
	}
	mark, colour, note := "✓", show.Green, ""
	switch {
	case d.Error != nil:
		mark, colour, note = "✗", show.Red, " "+show.Summary(d.Error.Message)
	case len(d.Artifacts.CommandsRun) > 0:
		note = " " + v.paint(show.Grey, show.Summary(lastLine(d.Model)))
	}
	fmt.Fprintf(v.side, "%s%s %s %s%s\n", indent, v.paint(colour, mark), title, v.paint(show.Grey, show.Duration(took)), note)
	if r := hidden.Find(d.Model); r != nil {
		v.line(indent, fmt.Sprintf("the result has hidden characters: %s", r))
	}
	if d.Mode != "" {
		v.line(indent, "the permission mode is now "+show.OneLine(string(d.Mode)))
	}
	if diff, ok := d.Fields[coding.DiffField].(string); ok {
		if v.seen[diff] {
			delete(v.seen, diff)
			return
		}
		const maxLines = 60
		fmt.Fprint(v.side, show.Diff(diff, indent+"  ", maxLines, v.colour))
	}
}

// message shows a message of the agent.
func (v *textView) message(indent string, m tool.Message) {
	mark, colour := show.MessageMark(m.Level)
	text := m.Content
	if m.Title != "" {
		text = m.Title + ": " + text
	}
	for i, row := range show.Rows(text, 0) {
		if i > 0 {
			mark = " "
		}
		fmt.Fprintf(v.side, "%s%s %s\n", indent, v.paint(colour, mark), row)
	}
	for _, more := range append([]string{m.Thought}, m.Evidence...) {
		if more != "" {
			fmt.Fprintf(v.side, "%s  %s\n", indent, v.paint(show.Grey, "· "+show.OneLine(more)))
		}
	}
}

// lastLine returns the last line of an output, where commands tend to report their result.
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

func (v *textView) prompt(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.asking {
		fmt.Fprint(v.side, text)
	}
}

// release shows the events held back during a question.
func (v *textView) release() {
	v.status.off, v.asking = false, false
	for _, r := range v.held {
		_ = v.display(r) // v.err holds the error
	}
	v.held = nil
}

func (v *textView) typed() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.status.leave()
}

func (v *textView) sawDiff(diff string) {
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
		fmt.Fprintf(v.side, "reins: the agent asks: %s\n", strings.Join(show.Rows(r.Question, 0), "\n"))
	}
	for _, what := range r.Refused {
		fmt.Fprintf(v.side, "reins: not approved: %s\n", show.OneLine(what))
	}
	if len(r.Refused) > 0 {
		fmt.Fprintf(v.side, "reins: %s\n", r.howToAllow())
	}
	if reason := r.stopReason(); reason != "" {
		fmt.Fprintf(v.side, "reins: %s\n", reason)
	}
	if r.Turns > 0 {
		took := time.Duration(r.DurationMS) * time.Millisecond
		fmt.Fprintln(v.side, v.paint(show.Grey, fmt.Sprintf("%s · %s · %s · %s", r.Outcome, show.Plural(r.Turns, "turn"), v.status.usage(), show.Duration(took))))
	}
	switch {
	case !r.saved || r.ExitCode == exitUsage:
	case v.watched:
		fmt.Fprintln(v.side, v.paint(show.Grey, r.nextSteps()))
	default:
		fmt.Fprintln(v.side, "session "+r.SessionID)
	}
	return v.err
}

func (v *textView) paint(colour, text string) string { return paint(v.colour, colour, text) }
