package cli

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/view"
)

// textView prints the agent's text to out, and its actions to side. If side is a terminal, its last
// line is a status line.
type textView struct {
	itemText  // its colour means that side is coloured and has a status line
	out, side io.Writer
	object    io.Writer // for the structured result; nil if there is none
	level     verbosity
	live      bool // out is a terminal: text is shown as it arrives
	styled    bool // it is the same terminal as side: lines of text are styled, and the last one is in the status
	watched   bool // side is a terminal
	inputs    bool // the user's inputs are shown, because they come from elsewhere

	mu       sync.Mutex
	midLine  bool   // the last line on out is not complete
	partial  string // the incomplete line of text, if styled
	markdown show.Markdown
	said     string   // printed text of the current item
	saying   view.Key // the item
	stream   show.Stream
	state    view.State
	seen     map[string]bool // diffs shown by a question
	muted    bool            // the model writes the structured result, which is shown in the end
	dropped  bool            // it was shown that the server left out thinking
	asking   bool            // a question waits for its answer
	held     []event.Record  // events since the question
	status   status
	finished bool
	err      error // the first error of writing to out
}

func newTextView(h Host) *textView {
	v := &textView{
		itemText: itemText{h.colours(h.Stderr), screenWidth(h.Stderr)},
		out:      h.Stdout,
		side:     h.Stderr,
		live:     isTerminal(h.Stdout),
		styled:   h.colours(h.Stdout) && h.colours(h.Stderr),
		watched:  isTerminal(h.Stderr),
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
	if v.colour && !v.level.quiet {
		v.status.begin(v)
	}
	v.status.spent.Add(r)
	changed := v.state.Apply(r)
	a, _ := v.state.Agent(r.Agent)
	prefix := agentPrefix(a)
	switch d := r.Data.(type) {
	case event.SteeringInjected:
		if r.Agent == "" {
			v.muted = v.object != nil && d.Source == event.SourceObject
		}
	case event.TextDelta, event.ReasoningDelta, event.ArgumentsDelta:
		if v.live && r.Agent == "" && !v.muted {
			v.hear(changed)
		}
	case event.TextEnd:
		if r.Agent == "" && !v.muted {
			v.hear(changed)
			v.endText()
		}
	case event.ReasoningEnd:
		v.thoughts(prefix, changed)
	case event.ToolCallEnd:
		v.tool(prefix, changed)
	default:
		if !v.repeated(changed) {
			v.note(prefix, r.Data)
		}
	}
	return v.err
}

// hear prints new text from the main agent's model.
func (v *textView) hear(changed []view.Key) {
	for _, key := range changed {
		i, ok := v.state.Find(key)
		if !ok {
			continue
		}
		item := v.state.Item(i)
		if item.Kind != view.KindText && !item.Said {
			continue
		}
		if key != v.saying && v.said != "" {
			v.endLine()
			v.said = ""
		}
		v.saying = key
		rest, ok := strings.CutPrefix(item.Text, v.said)
		switch {
		case ok:
			v.say(rest)
		case !item.Live() && len(v.said) < len(item.Text): // part of the stream was missed
			v.endLine()
			v.say(item.Text)
		}
	}
}

// repeated reports whether a record only repeats notices that were shown since the last input.
func (v *textView) repeated(changed []view.Key) bool {
	for _, key := range changed {
		i, ok := v.state.Find(key)
		if !ok {
			return false
		}
		if item := v.state.Item(i); item.Count < 2 || item.Notice == event.KindModelRetry {
			return false
		}
	}
	return len(changed) > 0
}

func (v *textView) replay(r event.Record) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.state.Apply(r)
	if d, ok := r.Data.(event.ModelCallEnd); ok {
		v.dropped = v.dropped || show.Dropped(d) != ""
	}
}

func (v *textView) workingIn(dir string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.level.quiet {
		v.line("", "working in "+show.OneLine(dir))
	}
}

// note shows an event that fits on one line.
func (v *textView) note(prefix string, data event.Data) {
	if _, warning := data.(event.Warning); v.level.quiet && !warning {
		return
	}
	switch d := data.(type) {
	case event.ModelRetry:
		if d.Discard && (v.midLine || v.partial != "") {
			v.say(" [interrupted]")
		}
		v.said = ""
		if announces(d.Error.Class == string(llm.ErrLoading), d.Attempt) {
			v.line(prefix, show.Retry(d, d.Delay))
		}
	case event.ModelCallEnd:
		if v.level.verbose {
			v.line(prefix, callText(d))
		}
		if text := show.Dropped(d); text != "" && !v.dropped {
			v.dropped = true
			v.line(prefix, text)
		}
		if text := show.Refusal(d); text != "" && prefix != "" { // the result has the main agent's refusal
			v.line(prefix, text)
		}
	case event.UserInput:
		if v.inputs && prefix == "" {
			v.line(prefix, "user: "+show.OneLine(show.MessageText(d.Message)))
		}
	case event.SteeringQueued:
		v.line(prefix, "queued for the agent: "+show.OneLine(show.MessageText(d.Message)))
	case event.SessionEnd:
		for _, m := range d.Undelivered {
			v.line(prefix, "not delivered to the agent: "+show.OneLine(show.MessageText(m)))
		}
	case event.LoopDetection:
		v.line(prefix, show.OneLine(d.Message))
	case event.SessionResume:
		if d.Interrupted || d.Lost > 0 {
			v.line(prefix, show.Notice(d))
		}
	case event.Hook:
		if text := show.Notice(d); text != "" {
			v.line(prefix, text)
		}
	case event.Compaction, event.Quarantine, event.ModelFallback, event.Rewind, event.SubagentStart, event.SubagentEnd, event.Task, event.Team, event.Mail,
		event.BackgroundEnd, event.Warning:
		v.line(prefix, show.Notice(d))
	}
}

// say prints text from the agent.
func (v *textView) say(text string) {
	if text == "" {
		return
	}
	v.said += text
	if v.styled {
		v.partial += v.stream.Visible(text)
		if i := strings.LastIndexByte(v.partial, '\n'); i >= 0 {
			v.status.hide()
			v.write(v.markdown.Text(v.partial[:i]) + "\n")
			v.partial = v.partial[i+1:]
		}
		return
	}
	v.status.hide()
	v.write(v.stream.Visible(text))
	v.midLine = !strings.HasSuffix(text, "\n")
}

// write writes to out.
func (v *textView) write(text string) {
	if _, err := io.WriteString(v.out, text); err != nil && v.err == nil {
		v.err = fmt.Errorf("cannot write the output: %w", err)
	}
}

// endText ends an answer's text.
func (v *textView) endText() {
	v.said, v.saying = "", ""
	v.endLine()
	v.markdown = show.Markdown{}
}

// endLine ends an unfinished line of out.
func (v *textView) endLine() {
	v.status.hide()
	if v.partial != "" {
		v.write(v.markdown.Line(v.partial) + "\n")
		v.partial = ""
	}
	if v.midLine {
		fmt.Fprintln(v.out)
		v.midLine = false
	}
}

func (v *textView) line(prefix, text string) {
	v.endLine()
	fmt.Fprintf(v.side, "%s%s\n", prefix, v.paint(show.Grey, "· "+text))
}

// tool shows the calls among changed items that have ended: one line for each, followed by its diff or, at a failure,
// the end of its output.
func (v *textView) tool(prefix string, changed []view.Key) {
	for _, key := range changed {
		i, ok := v.state.Find(key)
		if !ok {
			continue
		}
		if t := v.state.Item(i).Tool; t != nil && t.State.Over() {
			v.ended(prefix, *t)
		}
	}
}

func (v *textView) ended(prefix string, t view.Tool) {
	const indent = "  "
	if v.level.quiet {
		return
	}
	v.endLine()
	fmt.Fprintf(v.side, "%s%s\n", prefix, v.toolLine(t))
	for _, text := range toolNotices(t) {
		v.line(prefix, text)
	}
	switch {
	case v.level.verbose:
		fmt.Fprint(v.side, v.output("    ", t.Output, math.MaxInt, math.MaxInt))
	case t.State == view.ToolFailed, t.State == view.ToolInterrupted:
		fmt.Fprint(v.side, v.output("    ", t.Output, 5, 30))
	}
	switch {
	case t.Diff == "":
	case v.seen[t.Diff]:
		delete(v.seen, t.Diff)
	default:
		maxLines := 60
		if v.level.verbose {
			maxLines = math.MaxInt
		}
		fmt.Fprint(v.side, show.Diff(t.Diff, indent, maxLines, v.colour))
	}
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
	v.seen[strings.TrimRight(diff, "\n")+"\n"] = true
}

// leave ends the current output, and shows no more.
func (v *textView) leave() {
	v.mu.Lock()
	v.release()
	v.finished = true
	v.mu.Unlock()
	v.status.end()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.endLine()
}

func (v *textView) finish(r result) error {
	v.leave()
	v.mu.Lock()
	defer v.mu.Unlock()
	if r.Outcome == agent.StatusAwaitingInput {
		fmt.Fprintf(v.side, "reins: the agent asks: %s\n", strings.Join(show.Rows(r.Question, 0), "\n"))
	}
	for _, p := range r.Pending {
		fmt.Fprintf(v.side, "reins: waits for approval: %s (%s)\n", show.OneLine(p.Title), show.OneLine(p.ID))
	}
	if len(r.Pending) > 0 {
		fmt.Fprintf(v.side, "reins: %s\n", r.howToAnswer())
	}
	for _, what := range r.Refused {
		fmt.Fprintf(v.side, "reins: not approved: %s\n", show.OneLine(what))
	}
	if len(r.Refused) > 0 {
		fmt.Fprintf(v.side, "reins: %s\n", r.howToAllow())
	}
	if r.dear != "" {
		fmt.Fprintf(v.side, "reins: %s\n", r.dear)
	}
	if reason := r.stopReason(); reason != "" {
		fmt.Fprintf(v.side, "reins: %s\n", reason)
	}
	if r.Turns > 0 && !v.level.quiet {
		took := time.Duration(r.DurationMS) * time.Millisecond
		fmt.Fprintln(
			v.side,
			v.paint(
				show.Grey,
				fmt.Sprintf("%s · %s · %s · %s", r.Outcome, show.Plural(r.Turns, "turn"), v.status.usage(), show.Duration(took)),
			),
		)
	}
	if r.Worktree != nil {
		fmt.Fprintf(v.side, "reins: %s\n", r.Worktree)
	}
	switch {
	case !r.saved || r.ExitCode == exitUsage || v.level.quiet:
	case v.watched:
		fmt.Fprintln(v.side, v.paint(show.Grey, r.nextSteps()))
	default:
		fmt.Fprintln(v.side, "session "+r.SessionID)
	}
	return cmp.Or(v.err, printObject(v.object, r))
}
