package panel

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/tui/edit"
	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/pager"
	"github.com/reins-agent/reins/internal/tui/render"
	"github.com/reins-agent/reins/internal/tui/screen"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/view"
)

// tasks shows the plan and the tasks that the agents share. The user can edit the plan and send it.
type tasks struct {
	Pages
	plan  []view.Step
	tasks []event.Task
	waits string // ID of the open question about a plan, or ""
	text  string // this plan

	edited *edit.Editor // while the user edits the plan
	before string       // its text at first
}

// NewTasks returns the panel for the plan and the tasks.
func NewTasks(o Options) Panel {
	p := &tasks{Pages: Pages{reader: reader{base: newBase("Plan and tasks", o)}}}
	p.refresh()
	return p
}

// refresh reads the state.
func (p *tasks) refresh() {
	s := p.o.State()
	id, plan := presented(s)
	if p.window != nil && id == p.waits && slices.Equal(s.Plan(), p.plan) && slices.EqualFunc(s.Tasks(), p.tasks, sameTask) {
		return
	}
	p.plan, p.tasks, p.waits, p.text = s.Plan(), s.Tasks(), id, plan
	p.set(p.sections())
}

func sameTask(a, b event.Task) bool {
	return a.ID == b.ID && a.Subject == b.Subject && a.Status == b.Status && a.Owner == b.Owner && slices.Equal(a.BlockedBy, b.BlockedBy)
}

// presented returns the plan that waits for the user's decision, and its question's ID.
func presented(s *view.State) (id, plan string) {
	for _, q := range ask.Waiting(s) {
		if q.Kind != ask.Plan || q.Agent != "" {
			continue
		}
		for _, r := range q.Rows {
			if r.Kind == ask.RowText {
				return q.ID, r.Text
			}
		}
	}
	return "", ""
}

func (p *tasks) sections() []pager.Section {
	var out []pager.Section
	if p.waits != "" {
		s := pager.Markdown("Plan to decide about", p.text)
		s.Blocks = append([]render.Block{{Part: render.Title(s.Title)}}, s.Blocks...)
		out = append(out, s)
	}
	if len(p.plan) > 0 {
		t := &table{lead: text.Accent}
		for _, s := range p.plan {
			t.rows = append(t.rows, []string{box(s.Status), s.Text})
		}
		out = append(out, section(fmt.Sprintf("Plan, %d of %d done", p.done(), len(p.plan)), t))
	}
	if len(p.tasks) > 0 {
		t := &table{head: []string{"ID", "STATUS", "OWNER", "TASK"}, lead: text.Accent}
		for _, task := range p.tasks {
			subject := task.Subject
			if len(task.BlockedBy) > 0 {
				subject += " (after " + strings.Join(task.BlockedBy, ", ") + ")"
			}
			status := strings.ReplaceAll(string(task.Status), "_", " ")
			t.rows = append(t.rows, []string{task.ID, box(string(task.Status)) + " " + status, task.Owner, subject})
		}
		out = append(out, section(show.Plural(len(p.tasks), "task"), t))
	}
	if len(out) == 0 {
		out = []pager.Section{pager.Text("", "No plan and no tasks.")}
	}
	return out
}

func (p *tasks) done() (n int) {
	for _, s := range p.plan {
		if box(s.Status) == "☑" {
			n++
		}
	}
	return n
}

// box returns the box for a status.
func box(status string) string {
	switch status {
	case "completed", "complete", "done":
		return "☑"
	case "in_progress", "inProgress", "active":
		return "▶"
	case "cancelled", "canceled", "failed":
		return "☒"
	}
	return "☐"
}

// Changed implements [Panel].
func (p *tasks) Changed([]view.Key) { p.refresh() }

// Draw implements [Panel].
func (p *tasks) Draw(width, height int) screen.Frame {
	if p.edited == nil {
		p.refresh()
		hints := []hint{{keys.BrowseLeave, "close"}, {keys.PanelEdit, "edit the plan"}, {keys.BrowseSearch, "search"}}
		return p.frame(width, height, "", hints, p.body)
	}
	hints := []hint{{keys.PanelSend, "send"}, {keys.ListCancel, "cancel"}, {keys.ExternalEditor, "editor"}}
	return p.frame(width, height, "editing the plan", hints, func(width, rows int) ([]text.Line, int, int) {
		v := p.edited.View(width, rows)
		return v.Lines, v.X, v.Y
	})
}

// Key implements [Panel].
func (p *tasks) Key(k keys.Key) Outcome {
	if p.confirm != nil {
		out, _ := p.question(k)
		return out
	}
	a, _ := p.o.Keys.Find(k, keys.Panel)
	if p.edited != nil {
		p.notice = ""
		return p.editKey(k, a)
	}
	if a == keys.PanelEdit && p.search == nil {
		p.edit()
		return handled
	}
	return p.reader.Key(k)
}

// edit lets the user edit the plan.
func (p *tasks) edit() {
	p.before = p.text
	if p.waits == "" {
		p.before = ""
		for _, s := range p.plan {
			done := " "
			if box(s.Status) == "☑" {
				done = "x"
			}
			p.before += "- [" + done + "] " + s.Text + "\n"
		}
	}
	p.edited = p.field()
	p.edited.SetText(strings.TrimSpace(p.before))
	p.before = p.edited.Message().Text
}

func (p *tasks) editKey(k keys.Key, a keys.Action) Outcome {
	if a == keys.PanelSend {
		p.sendPlan(strings.TrimSpace(p.edited.Message().Text))
		return handled
	}
	out := p.edited.Handle(k)
	if c, _ := p.o.Keys.Find(k, keys.List); c == keys.ListCancel && !out.Handled {
		if p.edited.Message().Text == p.before {
			p.edited = nil
			return handled
		}
		p.ask("Discard your changes to the plan?", "Discard them", "Keep editing", nil, func() { p.edited = nil })
		return handled
	}
	switch out.Action {
	case keys.Submit: // a plan has many lines
		p.edited.Do(keys.Newline)
	case keys.ExternalEditor:
		return Outcome{Handled: true, External: p.edited}
	default:
		return Outcome{Handled: out.Handled}
	}
	return handled
}

// Paste implements [Panel].
func (p *tasks) Paste(s string) Outcome {
	if p.edited != nil && p.confirm == nil {
		p.edited.Paste(s)
		return handled
	}
	return p.reader.Paste(s)
}

// sendPlan sends an edited plan: as an answer if a plan waits for the user's decision, or else as a message.
func (p *tasks) sendPlan(plan string) {
	id := p.waits
	if open, _ := presented(p.o.State()); open != id {
		id = ""
	}
	switch {
	case plan == "":
		p.fail(fmt.Errorf("the plan is empty"))
	case id == "":
		p.act(func(ctx context.Context) error { return p.tell(ctx, plan) }, p.sent)
	default:
		choices := []ask.Choice{
			{Key: "y", Text: "Carry it out", Allow: true},
			{Key: "p", Text: "Keep planning with it", Allow: true},
			{Key: "n", Text: "Keep editing"},
		}
		p.choose("What shall the agent do with your plan?", choices, nil, func(choice string) {
			if choice == "y" || choice == "p" {
				p.act(func(ctx context.Context) error { return p.decide(ctx, id, plan, choice == "y") }, p.sent)
			}
		})
	}
}

func (p *tasks) sent() Outcome {
	p.edited = nil
	return Outcome{Handled: true, Close: true}
}

// follow stands before an edited plan in the message to the agent.
const follow = "I edited the plan. Follow this plan instead:\n\n"

// decide answers the question that presents a plan.
func (p *tasks) decide(ctx context.Context, id, plan string, approve bool) error {
	if !approve {
		return p.o.Handle.Answer(ctx, id, ask.Answer{Text: follow + plan})
	}
	// The message comes first, so that the model reads it together with the approval.
	if err := p.o.Handle.Steer(ctx, session.Input{Text: follow + plan, Plain: true}); err != nil {
		return err
	}
	return p.o.Handle.Answer(ctx, id, ask.Answer{Choice: "y"})
}

// tell sends a plan as a message: to the work in progress, or as new work.
func (p *tasks) tell(ctx context.Context, plan string) error {
	in := session.Input{Text: follow + plan, Plain: true}
	info, err := p.o.Handle.Info(ctx)
	if err != nil {
		return err
	}
	if info.State == event.StateProcessing {
		return p.o.Handle.Steer(ctx, in)
	}
	return p.o.Handle.Submit(ctx, in)
}
