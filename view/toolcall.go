package view

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/hidden"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// diffField is the result field with the diff for the changed files, [coding.DiffField].
//
// [coding.DiffField]: https://pkg.go.dev/github.com/reins-agent/reins/coding#DiffField
const diffField = "diff"

// opened remembers a tool call that has not ended.
func (a *agent) opened(id string, item int, args string) *call {
	if a.Open == nil {
		a.Open = make(map[string]*call)
	}
	c := &call{Item: item, Args: args}
	a.Open[valid(id)] = c
	return c
}

// open returns the calls that have not ended, in order.
func (s *State) open(a *agent) []*call {
	list := make([]*call, 0, len(a.Open))
	for _, c := range a.Open {
		list = append(list, c)
	}
	slices.SortFunc(list, func(x, y *call) int { return x.Item - y.Item })
	return list
}

// change returns an item's tool call, to be changed.
func (s *State) change(item int) *Tool {
	s.touch(s.items[item].Key)
	return s.items[item].Tool
}

// tool applies a tool call's record.
func (s *State) tool(a *agent, r event.Record) {
	switch d := r.Data.(type) {
	case event.ToolCallStart:
		s.started(a, r, d)
	case event.ToolCallDelta:
		if c := a.Open[valid(d.ID)]; c != nil {
			c.write(d.Text)
			s.change(c.Item)
		}
	case event.ApprovalRequested:
		c := a.Open[valid(d.ID)]
		if c == nil { // its start record is missing
			c = s.lostStart(a, r, d.ID, Tool{Name: d.Name, Title: show.Title(d.Name, d.Arguments)})
		}
		t := s.change(c.Item)
		t.State, t.Asked = ToolWaiting, r.Time
		s.ask(r, s.items[c.Item].Key, t.Title, d)
	case event.ApprovalResolved:
		s.settle(r.Agent, d.ID)
		if c := a.Open[valid(d.ID)]; c != nil {
			t := s.change(c.Item)
			t.Waited += between(t.Asked, r.Time)
			t.Asked = zero
			switch {
			case !d.Allowed:
				t.State = ToolRefused
			case d.Deferred:
				t.State = ToolQueued
			default:
				t.State = ToolRunning
			}
		}
	case event.ToolCallEnd:
		s.ended(a, r, d)
	}
}

// ask remembers a request for an approval.
func (s *State) ask(r event.Record, key Key, title string, d event.ApprovalRequested) {
	s.settle(r.Agent, d.ID)
	if len(d.Arguments) > 0 && !json.Valid(d.Arguments) {
		d.Arguments, _ = json.Marshal(string(d.Arguments))
	}
	s.approvals = append(s.approvals, Approval{
		Key:               key,
		Agent:             r.Agent,
		Title:             title,
		Asked:             r.Time,
		ApprovalRequested: d,
	})
}

// settle removes a call's approval request.
func (s *State) settle(agent, id string) {
	s.approvals = slices.DeleteFunc(s.approvals, func(p Approval) bool { return p.Agent == agent && p.ID == id })
}

// lostStart adds a call of which nothing was recorded before.
func (s *State) lostStart(a *agent, r event.Record, id string, t Tool) *call {
	t.ID = valid(id)
	item := Item{
		Key:   callKey(a.Path, r.Seq, id, 0),
		Kind:  KindTool,
		Agent: a.Path,
		Seq:   r.Seq,
		Time:  r.Time,
		Tool:  &t,
	}
	return a.opened(id, s.add(item), "")
}

func (s *State) started(a *agent, r event.Record, d event.ToolCallStart) {
	c := a.Open[valid(d.ID)]
	title := show.Title(d.Name, d.Arguments)
	if c == nil {
		c = s.lostStart(a, r, d.ID, Tool{})
	}
	s.starts++
	c.Started = s.starts
	c.Args = string(d.Arguments)
	c.Out = nil
	c.Lines = 0
	t := s.change(c.Item)
	t.Name = d.Name
	t.Title = title
	t.State = ToolRunning
	t.Started = r.Time
	t.Waited = 0
	t.Asked = zero
	if d.Question != "" || len(d.Questions) > 0 {
		t.State = ToolAsking
		if t.Asks = d.Questions; len(t.Asks) == 0 {
			t.Asks = []event.Question{{Question: d.Question}}
		}
		s.unask(r.Agent, d.ID)
		s.questions = append(s.questions, Question{Key: s.items[c.Item].Key, Agent: r.Agent, Call: d.ID, Questions: t.Asks})
	}
}

func (s *State) unask(agent, id string) {
	s.questions = slices.DeleteFunc(s.questions, func(q Question) bool { return q.Agent == agent && q.Call == id })
}

// ended applies a call's result.
func (s *State) ended(a *agent, r event.Record, d event.ToolCallEnd) {
	s.settle(r.Agent, d.ID)
	s.unask(r.Agent, d.ID)
	a.Since = r.Time
	c := a.Open[valid(d.ID)]
	if c == nil {
		c = s.lostStart(a, r, d.ID, Tool{Name: d.Name, Title: show.Summary(d.Name)})
	}
	delete(a.Open, valid(d.ID))
	s.items[c.Item].Images = images(r)
	t := s.change(c.Item)
	t.Ran = d.Duration
	t.Waited = 0
	t.Asked = zero
	t.Bytes = 0
	t.Command = len(d.Artifacts.CommandsRun) > 0
	t.Message = d.Artifacts.Message
	t.Mode = d.Mode
	t.State = result(d)
	text := d.Model
	switch {
	case d.Error != nil:
		t.Code, t.Error = d.Error.Code, strings.Clone(cut(valid(d.Error.Message)))
		t.Outcome = show.Summary(d.Error.Message)
		if i := strings.LastIndex(text, d.Error.Message); i >= 0 {
			text = text[:i] + text[i+len(d.Error.Message):]
		}
	case t.Command:
		t.Outcome = show.Summary(lastLine(text))
	}
	t.Output = fold(text)
	s.launch(r, d, s.items[c.Item].Key)
	if found := hidden.Find(d.Model); found != nil {
		t.Hidden = found.String()
	}
	if diff, ok := d.Fields[diffField].(string); ok && diff != "" {
		t.Diff = foldDiff(diff)
	}
	if d.Plan && d.Error == nil {
		if t.Plan = steps(c.Args); a.Path == "" {
			s.plan = t.Plan
		}
	}
}

// result returns a call's final state.
func result(d event.ToolCallEnd) ToolState {
	switch {
	case d.Error == nil:
		return ToolDone
	case d.Error.Code == tool.Cancelled:
		return ToolInterrupted
	case d.Decision.Verdict != policy.Allow && d.Error.Code == tool.PermissionDenied:
		return ToolRefused
	}
	return ToolFailed
}
