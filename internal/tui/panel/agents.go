package panel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/tui/dialog"
	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/screen"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/internal/tui/transcript"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/view"
)

// agents shows the session's agents as a tree.
type agents struct {
	base
	agents []view.Agent // each after its parent
	list   *dialog.List
	wide   bool
}

// NewAgents returns the agents panel.
func NewAgents(o Options) Panel {
	p := &agents{base: newBase("Agents", o), wide: true}
	p.list = dialog.NewList(nil, p.dialog())
	return p
}

// tree returns agents so that each follows its parent.
func tree(list []view.Agent) []view.Agent {
	var out []view.Agent
	var below func(parent string)
	below = func(parent string) {
		for _, a := range list {
			if a.Path != "" && parentOf(a.Path) == parent {
				out = append(out, a)
				below(a.Path)
			}
		}
	}
	for _, a := range list {
		if a.Path == "" {
			out = append(out, a)
		}
	}
	below("")
	return out
}

func parentOf(path string) string { return path[:max(strings.LastIndexByte(path, '/'), 0)] }

// rows fills the list. The durations change with time.
func (p *agents) rows() {
	selected := ""
	if i := p.list.Selected(); i >= 0 {
		selected = p.agents[i].Path
	}
	s := p.o.State()
	p.agents = tree(s.Agents())
	tasks := map[string]string{}
	for _, t := range s.Tasks() {
		if t.Owner != "" && t.Status == event.TaskInProgress {
			tasks[t.Owner] = t.ID + " " + t.Subject
		}
	}
	rows := make([]dialog.Row, len(p.agents))
	for i, a := range p.agents {
		indent := ""
		if a.Path != "" {
			indent = strings.Repeat("  ", strings.Count(a.Path, "/")+1)
		}
		rows[i].Label = indent + mark(a) + " " + nameOf(a)
		if task := cmp.Or(tasks[a.Name], show.Summary(a.Task)); task != "" {
			rows[i].Label += ": " + task
		}
		rows[i].Detail = strings.Join(p.details(a), " · ")
		rows[i].Find = a.Path + "\n" + a.Task + "\n" + a.Model
	}
	p.list.SetRows(rows)
	p.list.Select(slices.IndexFunc(p.agents, func(a view.Agent) bool { return a.Path == selected }))
}

func nameOf(a view.Agent) string { return cmp.Or(a.Label(), "main") }

// mark returns the character for an agent's activity.
func mark(a view.Agent) string {
	switch {
	case a.Activity.Doing == view.DoingApproval, a.Activity.Doing == view.DoingQuestion, a.Status == event.SubagentWaiting:
		return "?"
	case working(a):
		return "●"
	case a.Status == event.SubagentCompleted:
		return "✓"
	case a.Status == event.SubagentFailed:
		return "✗"
	}
	return "○"
}

// working reports whether an agent works now.
func working(a view.Agent) bool {
	return a.Activity.Doing != view.DoingNothing && a.Activity.Doing != ""
}

// details returns an agent's activity, its duration and its usage.
func (p *agents) details(a view.Agent) []string {
	out := []string{cmp.Or(string(a.Status), "idle")}
	if working(a) {
		out[0] = string(a.Activity.Doing)
	}
	if d, ok := elapsed(a, p.o.Now()); ok {
		out = append(out, d.String())
	}
	if p.wide && a.Totals.Calls > 0 {
		out = append(out, show.Tokens(a.Totals.Usage.Input+a.Totals.Usage.Output)+" tokens")
	}
	if p.wide && a.Totals.Dollars > 0 {
		out = append(out, a.Totals.Cost().String())
	}
	if p.wide && working(a) && a.Activity.Title != "" {
		out = append(out, a.Activity.Title)
	}
	return out
}

// elapsed returns how long an agent worked or has been working on its task.
func elapsed(a view.Agent, now time.Time) (time.Duration, bool) {
	end := a.Ended
	if working(a) || end.IsZero() {
		end = now
	}
	if a.Started.IsZero() || !working(a) && a.Ended.IsZero() {
		return 0, false
	}
	return max(end.Sub(a.Started), 0).Round(time.Second), true
}

// Running implements [Panel].
func (p *agents) Running() bool {
	for _, a := range p.o.State().Agents() {
		if working(a) {
			return true
		}
	}
	return false
}

// Draw implements [Panel].
func (p *agents) Draw(width, height int) screen.Frame {
	p.wide = width >= roomy
	p.rows()
	active := 0
	for _, a := range p.agents {
		if working(a) {
			active++
		}
	}
	hints := []hint{
		{keys.ListAccept, "open"},
		{keys.ListCancel, "close"},
		{keys.PanelMessage, "message"},
		{keys.PanelRemove, "stop"},
	}
	status := fmt.Sprintf("%s, %d working", show.Plural(len(p.agents), "agent"), active)
	return p.frame(width, height, status, hints, func(width, rows int) ([]text.Line, int, int) { return p.list.View(width, rows) })
}

// Key implements [Panel].
func (p *agents) Key(k keys.Key) Outcome {
	if out, asked := p.question(k); asked {
		return out
	}
	p.rows()
	if i := p.list.Selected(); i >= 0 {
		if a, _ := p.o.Keys.Find(k, keys.Panel); p.agentKey(a, p.agents[i]) {
			return handled
		}
	}
	c := p.list.Handle(k)
	switch {
	case c.Canceled:
		return Outcome{Handled: true, Close: true}
	case c.Row >= 0:
		return Outcome{Handled: true, Open: NewAgent(p.agents[c.Row].Path, p.o)}
	}
	return Outcome{Handled: c.Handled}
}

// Paste implements [Panel].
func (p *agents) Paste(s string) Outcome {
	if out := p.base.Paste(s); out.Handled || p.confirm != nil {
		return out
	}
	p.list.Paste(s)
	return handled
}

// agentKey handles a key for an agent, and reports whether it has a meaning.
func (b *base) agentKey(key keys.Action, a view.Agent) bool {
	switch key {
	case keys.PanelMessage:
		b.message(a)
	case keys.PanelRemove:
		b.stopAgent(a)
	default:
		return false
	}
	return true
}

// message lets the user write to an agent.
func (b *base) message(a view.Agent) {
	b.write("Message to agent "+nameOf(a), "", func(s string) {
		in := session.Input{Text: s, Plain: true}
		b.act(func(ctx context.Context) error {
			if a.Path == "" {
				return b.o.Handle.Steer(ctx, in)
			}
			return b.o.Handle.SteerAgent(ctx, a.Path, in)
		}, func() Outcome {
			b.say("Sent to agent " + nameOf(a))
			return handled
		})
	})
}

// stopAgent stops an agent if the user agrees.
func (b *base) stopAgent(a view.Agent) {
	if a, _ = b.o.State().Agent(a.Path); !working(a) {
		b.fail(errors.New("agent " + nameOf(a) + " is not working"))
		return
	}
	b.ask("Stop agent "+nameOf(a)+"?", "Stop it", "Let it work", []string{show.Summary(a.Task)}, func() {
		b.act(func(ctx context.Context) error {
			if a.Path == "" {
				return b.o.Handle.Interrupt(ctx)
			}
			return b.o.Handle.StopAgent(ctx, a.Path)
		}, func() Outcome {
			b.say("Stopped agent " + nameOf(a))
			return handled
		})
	})
}

// oneAgent shows an agent's conversation.
type oneAgent struct {
	reader
	path  string
	state *view.State
	view  *transcript.View
}

// NewAgent returns a panel with an agent's conversation.
func NewAgent(path string, o Options) Panel {
	p := &oneAgent{reader: reader{base: newBase("Agent", o)}, path: path}
	p.state = p.o.State()
	p.view = transcript.New(p.state)
	p.view.SetRule(o.Rule)
	p.view.Show(path, false)
	p.view.Bottom()
	p.window = conversation{p.view, p.o.Now}
	a, _ := p.o.State().Agent(path)
	p.title = "Agent " + nameOf(a)
	return p
}

// conversation is a transcript as a window.
type conversation struct {
	*transcript.View
	now func() time.Time
}

func (c conversation) Jump(n int)           { c.View.Jump(n) }
func (c conversation) Search(s string) bool { return c.View.Search(s) > 0 || s == "" }
func (c conversation) Lines() []text.Line   { return c.View.Lines(c.now()) }

// Draw implements [Panel].
func (p *oneAgent) Draw(width, height int) screen.Frame {
	p.Changed(nil)
	a, _ := p.o.State().Agent(p.path)
	status := cmp.Or(string(a.Status), "idle")
	if working(a) {
		status = strings.TrimSpace(string(a.Activity.Doing) + " " + a.Activity.Title)
	}
	hints := []hint{
		{keys.BrowseLeave, "close"},
		{keys.PanelMessage, "message"},
		{keys.PanelRemove, "stop"},
		{keys.BrowseSearch, "search"},
		{keys.BrowseBottom, "end"},
	}
	return p.frame(width, height, status, hints, p.body)
}

// Key implements [Panel].
func (p *oneAgent) Key(k keys.Key) Outcome {
	if p.confirm == nil && p.writing == nil && p.search == nil {
		a, _ := p.o.State().Agent(p.path)
		key, _ := p.o.Keys.Find(k, keys.Panel, keys.Transcript, keys.Global)
		switch {
		case p.agentKey(key, a):
			return handled
		case key == keys.Details:
			p.view.ExpandAll(!p.view.Expanded())
			return handled
		}
	}
	return p.reader.Key(k)
}

// Changed implements [Panel].
func (p *oneAgent) Changed(changed []view.Key) {
	if s := p.o.State(); s != p.state { // the session was loaded again
		p.state = s
		p.view.Reset(s)
		return
	}
	if changed != nil {
		p.view.Sync(changed)
	}
}

// Running implements [Panel].
func (p *oneAgent) Running() bool { return p.view.Running() }
