package panel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/tui/dialog"
	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/pager"
	"github.com/reins-agent/reins/internal/tui/screen"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/view"
)

// background lists the calls that run and the background commands, the last ones first.
type background struct {
	base
	jobs []job
	list *dialog.List
}

// job is a background command, or a call that runs.
type job struct {
	view.Background
	call *view.Tool
}

// NewBackground returns the panel for background commands and running calls.
func NewBackground(o Options) Panel {
	p := &background{base: newBase("Background commands", o)}
	p.list = dialog.NewList(nil, p.dialog())
	return p
}

// jobsOf returns the calls that run, and then the background commands: first what runs, and the last ones first.
func jobsOf(s *view.State) (list []job) {
	for i, open := s.Len()-1, s.Open(); i >= 0 && len(list) < open; i-- {
		if item := s.Item(i); item.Tool != nil && item.Tool.State == view.ToolRunning {
			list = append(list, job{view.Background{Key: item.Key, Agent: item.Agent}, item.Tool})
		}
	}
	commands := s.Background()
	for _, running := range []bool{true, false} {
		for i := len(commands) - 1; i >= 0; i-- {
			if b := commands[i]; (b.State == view.BackgroundRunning) == running {
				list = append(list, job{Background: b})
			}
		}
	}
	return list
}

// title returns the command line, or the call with its main arguments.
func (j job) title() string {
	if j.call != nil {
		return j.call.Title
	}
	return show.Summary(j.Command)
}

// mark returns the character for a job's state.
func (j job) mark() string {
	switch {
	case j.call != nil || j.State == view.BackgroundRunning:
		return "●"
	case j.End != nil && j.End.ExitCode == 0:
		return "✓"
	case j.End != nil && j.End.Stopped == "":
		return "✗"
	}
	return "○"
}

// detail returns a job's state, duration, agent and ID.
func (j job) detail(now time.Time) string {
	state, took, id := j.Describe(), j.Took(now), "id "+j.ID
	if j.call != nil {
		state, took, id = string(j.call.State), j.call.Took(now), "call"
	}
	parts := []string{state}
	if took = took.Round(time.Second); took > 0 {
		parts = append(parts, took.String())
	}
	if j.Agent != "" {
		parts = append(parts, "agent "+j.Agent)
	}
	return strings.Join(append(parts, id), " · ")
}

// refresh fills the list. The durations change with time.
func (p *background) refresh() {
	var selected view.Key
	if i := p.list.Selected(); i >= 0 {
		selected = p.jobs[i].Key
	}
	p.jobs = jobsOf(p.o.State())
	rows, at := make([]dialog.Row, len(p.jobs)), -1
	for i, j := range p.jobs {
		rows[i] = dialog.Row{Label: j.mark() + " " + j.title(), Detail: j.detail(p.o.Now()), Find: j.ID + "\n" + j.Command}
		if j.Key == selected {
			at = i
		}
	}
	p.list.SetRows(rows)
	p.list.Select(at)
}

// Draw implements [Panel].
func (p *background) Draw(width, height int) screen.Frame {
	p.refresh()
	status := show.Plural(len(p.jobs), "command")
	if n := p.running(); n > 0 {
		status += fmt.Sprintf(", %d running", n)
	}
	hints := []hint{{keys.ListAccept, "output"}, {keys.PanelRemove, "stop"}, {keys.ListCancel, "close"}}
	return p.frame(width, height, status, hints, p.list.View)
}

// running counts what runs.
func (p *background) running() (n int) {
	for _, j := range jobsOf(p.o.State()) {
		if j.call != nil || j.State == view.BackgroundRunning {
			n++
		}
	}
	return n
}

// Running implements [Panel].
func (p *background) Running() bool { return p.running() > 0 }

// Key implements [Panel].
func (p *background) Key(k keys.Key) Outcome {
	if out, asked := p.question(k); asked {
		return out
	}
	p.refresh()
	if at := p.list.Selected(); at >= 0 {
		if a, _ := p.o.Keys.Find(k, keys.Panel); a == keys.PanelRemove {
			p.stopJob(p.jobs[at])
			return handled
		}
	}
	c := p.list.Handle(k)
	switch {
	case c.Canceled:
		return Outcome{Handled: true, Close: true}
	case c.Row >= 0:
		return Outcome{Handled: true, Open: newOutput(p.jobs[c.Row], p.o)}
	}
	return Outcome{Handled: c.Handled}
}

// Paste implements [Panel].
func (p *background) Paste(s string) Outcome {
	if p.confirm == nil {
		p.list.Paste(s)
	}
	return handled
}

// stopJob stops a background command if the user agrees.
func (b *base) stopJob(j job) {
	switch {
	case j.call != nil:
		b.fail(errors.New("a call of the agent stops with its work: close this view and press " + b.o.Keys.Key(keys.Interrupt)))
		return
	case j.State != view.BackgroundRunning:
		b.fail(errors.New("command " + j.ID + " does not run"))
		return
	}
	b.ask("Stop background command "+j.ID+"?", "Stop it", "Let it run", []string{j.title()}, func() {
		b.act(func(ctx context.Context) error { return b.o.Handle.StopBackground(ctx, j.ID) }, func() Outcome {
			b.say("Stopped command " + j.ID + "; the agent hears of it with its next step")
			return handled
		})
	})
}

// Limits for the output in memory, in bytes: how much of an earlier output is read, and how much is shown.
const (
	outputTail = 256 << 10
	outputMax  = 1 << 20
)

// readEvery is the least time between two reads of an output that grows.
const readEvery = 500 * time.Millisecond

// output shows the output of a job as it arrives.
type output struct {
	reader
	job   job
	pager *pager.Pager
	text  string
	next  int64     // where the output continues; negative before the first read
	asked bool      // a read is in progress
	last  time.Time // when the last read began
	whole bool      // everything was read, and the command has ended
}

func newOutput(j job, o Options) Panel {
	p := &output{reader: reader{base: newBase("Background command "+j.ID, o)}, job: j, next: -outputTail}
	p.pager = pager.New()
	p.pager.SetRule(o.Rule)
	p.window = p.pager
	if j.call != nil {
		p.title = "Running call"
	}
	if j.call != nil || j.State == view.BackgroundLost {
		p.whole = true
		p.fixed()
	}
	return p
}

// fixed shows what the state has of a call's output, or why there is no output.
func (p *output) fixed() {
	out := "The output is lost, because the process that ran the command has ended."
	if p.job.call != nil {
		s := p.o.State()
		if i, ok := s.Find(p.job.Key); ok && s.Item(i).Tool != nil {
			p.job.call = s.Item(i).Tool
		}
		o := p.job.call.Output
		out = strings.TrimPrefix(o.Head+"\n"+o.Tail, "\n")
	}
	if out != p.text {
		p.text = out
		p.pager.Set(pager.Text("", out))
	}
}

// fetch reads the next part of the output, unless it has just done so.
func (p *output) fetch() {
	now := p.o.Now()
	if p.asked || p.whole || now.Sub(p.last) < readEvery {
		return
	}
	p.asked, p.last = true, now
	ctx, id, next := p.ctx, p.job.ID, p.next
	go func() {
		out, err := p.o.Handle.ReadBackground(ctx, id, next)
		p.o.Post(func() Outcome {
			if ctx.Err() != nil {
				return Outcome{}
			}
			p.asked = false
			if err != nil {
				p.whole = true
				p.fail(err)
				return handled
			}
			p.add(out)
			return handled
		})
	}()
}

// add shows a part of the output, and reads the next if there is one.
func (p *output) add(out session.BackgroundOutput) {
	p.next = out.Next
	more := out.Next < out.Size && out.Text != ""
	p.whole = !out.Running && !more
	if p.text += out.Text; len(p.text) > outputMax {
		p.text = p.text[len(p.text)-outputMax/2:]
		p.text = p.text[strings.IndexByte(p.text, '\n')+1:]
	}
	if out.Text != "" {
		p.pager.Set(pager.Text("", p.text))
	}
	if more {
		p.last = time.Time{}
		p.fetch()
	}
}

// Draw implements [Panel].
func (p *output) Draw(width, height int) screen.Frame {
	if p.fetch(); p.job.call != nil {
		p.fixed()
	}
	for _, j := range p.o.State().Background() {
		if j.Key == p.job.Key {
			p.job.Background = j
		}
	}
	hints := []hint{
		{keys.BrowseLeave, "close"},
		{keys.PanelRemove, "stop"},
		{keys.BrowseSearch, "search"},
		{keys.BrowseTop, "start"},
		{keys.BrowseBottom, "end"},
	}
	return p.frame(width, height, p.job.detail(p.o.Now()), hints, p.body)
}

// body shows the command and its output.
func (p *output) body(width, rows int) (lines []text.Line, x, y int) {
	dim := text.Style{Role: text.Dim}
	head := []text.Line{{{Text: p.o.Rule.CutText(text.Clean(p.job.title()), width), Style: dim}}, nil}
	if rows < 6 {
		head = nil
	}
	if p.text == "" && p.search == nil {
		return append(head, text.Line{{Text: "no output yet", Style: dim}}), -1, 0
	}
	lines, x, y = p.reader.body(width, rows-len(head))
	return append(head, lines...), x, y + len(head)
}

// Key implements [Panel].
func (p *output) Key(k keys.Key) Outcome {
	if p.confirm == nil && p.search == nil {
		if a, _ := p.o.Keys.Find(k, keys.Panel); a == keys.PanelRemove {
			p.notice = ""
			p.stopJob(p.job)
			return handled
		}
	}
	return p.reader.Key(k)
}

// Running implements [Panel]. While it is true, the program draws the panel each second, which reads what is new.
func (p *output) Running() bool {
	return !p.whole || p.job.call != nil && !p.job.call.State.Over()
}
