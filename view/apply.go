package view

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/host/show"
	"github.com/reins-agent/reins/internal/hidden"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// diffField is the field of a result with the diff of the changed files, [coding.DiffField].
//
// [coding.DiffField]: https://pkg.go.dev/github.com/reins-agent/reins/coding#DiffField
const diffField = "diff"

// Apply applies the next record of the session, of any of its agents, and returns the keys of the items that it
// changed, until the next call. A key that [State.Find] does not find is that of an item that disappeared. The other
// parts of the state are small: read them again after each record.
//
// Apply takes constant time, except for a rewind, which marks the items that it undoes.
func (s *State) Apply(r event.Record) (changed []Key) {
	s.changed = s.changed[:0]
	if r.Data == nil {
		return nil
	}
	s.last = max(s.last, r.Seq)
	a := s.agent(r.Agent)
	switch d := r.Data.(type) {
	case event.TextStart, event.TextDelta, event.ReasoningStart, event.ReasoningDelta, event.ReasoningEnd, event.ArgumentsDelta:
		s.stream(a, d)
	case event.ModelCallStart, event.TextEnd, event.ModelCallEnd, event.ModelRetry:
		s.model(a, r)
	case event.ToolCallStart, event.ToolCallDelta, event.ToolCallEnd, event.ApprovalRequested, event.ApprovalResolved:
		s.tool(a, r)
	case event.UserInput, event.Continue, event.ProcessingEnd, event.SteeringQueued, event.SteeringInjected, event.SteeringWithdrawn:
		s.work(a, r)
	case event.SubagentStart, event.SubagentEnd, event.Task:
		s.share(r)
	default:
		s.other(a, r)
	}
	return s.changed
}

// other applies records that change the session as a whole.
func (s *State) other(a *agent, r event.Record) {
	switch d := r.Data.(type) {
	case event.SessionStart:
		a.Model = d.Model
		return
	case event.Settings:
		a.Model = d.Model
	case event.ModelFallback:
		a.Model = d.To
	case event.SessionResume:
		s.resume(a, d)
	case event.SessionEnd:
		if r.Agent == "" {
			s.closed = true
		}
		for i, m := range d.Undelivered {
			s.note(r, "undelivered."+strconv.Itoa(i), "not delivered to the agent: "+show.OneLine(show.MessageText(m)))
		}
		return
	case event.Rewind:
		s.rewind(d)
	case event.Error:
		if r.Agent == "" {
			s.stop.Error = show.Summary(d.Message)
		}
	}
	s.note(r, "notice", show.Notice(r.Data))
}

// resume applies that another process continues the session: nothing is running.
func (s *State) resume(root *agent, d event.SessionResume) {
	root.Model = d.Model
	s.closed = false
	for _, path := range s.paths {
		a := s.agents[path]
		s.drop(a)
		a.Working, a.Retry = false, nil
		for _, c := range s.open(a) {
			if t := s.items[c.Item].Tool; t.State == ToolRunning {
				s.change(c.Item).State = ToolInterrupted
			}
		}
	}
}

// rewind marks the items that were undone with an input, or unmarks them.
func (s *State) rewind(d event.Rewind) {
	from, ok := s.index[keyOf("", d.Input, "input")]
	if !ok || !d.Chat || d.Abandons || d.Input == 0 {
		return
	}
	before, after := event.Seq(0), d.Input
	if d.Redo {
		before, after = after, before
	}
	for i := from; i < len(s.items); i++ {
		if s.items[i].Undone == before {
			s.items[i].Undone = after
			s.touch(s.items[i].Key)
		}
	}
}

// work applies what the user and the loop say.
func (s *State) work(a *agent, r event.Record) {
	switch d := r.Data.(type) {
	case event.UserInput:
		s.begin(a, r)
		s.unqueue(r.Agent, d.Queued, d.Message, d.FollowUp)
		s.questions = slices.DeleteFunc(s.questions, func(q Question) bool { return q.Agent == r.Agent && q.Call == d.Answers })
		item := Item{Kind: KindInput, Text: valid(show.MessageText(d.Message)), Origin: d.Origin, Answers: d.Answers}
		s.say(r, "input", item)
	case event.Continue:
		s.begin(a, r)
	case event.SteeringQueued:
		text := valid(show.MessageText(d.Message))
		s.queue = append(s.queue, Queued{Seq: r.Seq, Agent: r.Agent, Text: text, Origin: d.Origin, FollowUp: d.FollowUp})
	case event.SteeringWithdrawn:
		s.unqueue(r.Agent, d.Queued, llm.Message{}, false)
	case event.SteeringInjected:
		if d.Source != event.SourceHost {
			s.note(r, "notice", show.Notice(d))
			return
		}
		origin := s.unqueue(r.Agent, d.Queued, d.Message, true)
		s.say(r, "input", Item{Kind: KindInput, Text: valid(show.MessageText(d.Message)), Origin: origin, Steered: true})
	case event.ProcessingEnd:
		s.drop(a)
		if a.Working, a.Retry = d.State == event.StateProcessing, nil; r.Agent != "" {
			return
		}
		s.stop = Stop{Outcome: d.Outcome, Limit: d.Limit, Question: d.Question, Rounds: d.Rounds, Error: s.stop.Error, Time: r.Time}
		if d.Outcome != event.StatusDone && d.Outcome != event.StatusAwaitingInput {
			s.note(r, "notice", "ended: "+show.OneLine(string(d.Outcome)))
		}
	}
}

// begin begins work.
func (s *State) begin(a *agent, r event.Record) {
	a.Working, a.Since = true, r.Time
	if a.Path == "" {
		s.stop, s.notices = Stop{}, nil
	}
}

// say adds an item with the text of a durable record.
func (s *State) say(r event.Record, part string, item Item) int {
	item.Key, item.Agent, item.Seq, item.Time = keyOf(r.Agent, r.Seq, part), r.Agent, r.Seq, r.Time
	return s.add(item)
}

// unqueue removes a message from the queue, by its number or else by its text, and returns its origin.
func (s *State) unqueue(agent string, seq event.Seq, m llm.Message, like bool) *event.Origin {
	if seq == 0 && !like {
		return nil
	}
	text := valid(show.MessageText(m))
	i := slices.IndexFunc(s.queue, func(q Queued) bool { return q.Agent == agent && (q.Seq == seq || seq == 0 && q.Text == text) })
	if i < 0 {
		return nil
	}
	origin := s.queue[i].Origin
	s.queue = slices.Delete(s.queue, i, i+1)
	return origin
}

// share applies what the agents of the tree share.
func (s *State) share(r event.Record) {
	switch d := r.Data.(type) {
	case event.SubagentStart:
		if d.ID == "" {
			return
		}
		a := s.agent(d.ID)
		a.Name, a.Type, a.Task, a.Model = d.Name, d.Type, show.Summary(d.Task), d.Model
		a.Status, a.Reason, a.Started, a.Ended = event.SubagentRunning, "", r.Time, zero
	case event.SubagentEnd:
		if d.ID == "" {
			return
		}
		a := s.agent(d.ID)
		a.Status, a.Reason, a.Ended, a.Working = d.Status, show.Summary(d.Reason), r.Time, false
	case event.Task:
		i := slices.IndexFunc(s.tasks, func(t event.Task) bool { return t.ID == d.ID })
		if i < 0 {
			s.tasks = append(s.tasks, d)
		} else {
			s.tasks[i] = d
		}
	}
	s.note(r, "notice", show.Notice(r.Data))
}

// stream applies a transient record of an answer.
func (s *State) stream(a *agent, data event.Data) {
	w := a.Answer
	if w == nil {
		return
	}
	switch d := data.(type) {
	case event.TextStart:
		w.begins(d.Call, DoingAnswer)
	case event.TextDelta:
		if w.begins(d.Call, DoingAnswer) {
			w.Text.write(d.Text)
			s.touch(keyOf(a.Path, w.Base, "text"))
		}
	case event.ReasoningStart:
		if w.begins(d.Call, DoingThink) {
			w.Block = w.Reasoning.Len() > 0
		}
	case event.ReasoningDelta:
		if !w.begins(d.Call, DoingThink) {
			break
		}
		if w.Block && d.Text != "" {
			w.Reasoning.write("\n\n")
			w.Block = false
		}
		w.Reasoning.write(d.Text)
		w.Tokens = max(w.Tokens, d.Tokens)
		s.touch(keyOf(a.Path, w.Base, "reasoning"))
	case event.ArgumentsDelta:
		if w.begins(d.Call, DoingArguments) {
			s.arguments(a, d)
		}
	}
	a.Retry = nil
}

// begins applies that the model writes something in a call, and reports whether it is the call of this answer.
func (w *answer) begins(call int, what Doing) bool {
	if call != w.Call || what == DoingArguments && len(w.Calls) == maxWritten {
		return false
	}
	w.Last = what
	return true
}

func (s *State) arguments(a *agent, d event.ArgumentsDelta) {
	w := a.Answer
	i := slices.IndexFunc(w.Calls, func(c written) bool { return c.ID == d.ID })
	if n := len(w.Calls) - 1; i < 0 || d.ID == "" && w.Calls[n].Name != d.Name {
		i = len(w.Calls)
		w.Calls = append(w.Calls, written{ID: d.ID, Name: d.Name})
	}
	w.Calls[i].Bytes += int64(len(d.Text))
	s.touch(callKey(a.Path, w.Base, w.Calls[i].ID, i))
}

// drop drops what was streamed of an answer.
func (s *State) drop(a *agent) {
	if a.Answer == nil {
		return
	}
	for i := range a.Answer.items() {
		s.touch(a.item(i).Key)
	}
	a.Answer = nil
	s.writing = slices.DeleteFunc(s.writing, func(path string) bool { return path == a.Path })
}

// model applies a record of a model call.
func (s *State) model(a *agent, r event.Record) {
	switch d := r.Data.(type) {
	case event.ModelCallStart:
		s.drop(a)
		var speaker show.Speaker
		speaker.Note(d)
		a.Aloud, a.Retry, a.Since = speaker.ThinksAloud(), nil, r.Time
		a.Answer = &answer{Base: r.Seq, Call: d.Call, Time: r.Time, Purpose: d.Purpose}
		s.writing = append(s.writing, a.Path)
	case event.ModelRetry:
		s.retry(a, r, d)
	case event.TextEnd:
		base := r.Seq
		if a.Answer != nil {
			base = a.Answer.Base
		}
		s.drop(a)
		a.Retry = nil
		s.answered(a, r, base, d.Message)
	case event.ModelCallEnd:
		s.called(a, r, d)
	}
}

// answered adds the items of a complete answer.
func (s *State) answered(a *agent, r event.Record, base event.Seq, m llm.Message) {
	for _, c := range s.open(a) { // their ends are lost
		s.change(c.Item).State = ToolInterrupted
	}
	a.Open = nil
	text, calls := valid(m.Text()), m.ToolCalls()
	item := Item{Agent: a.Path, Seq: r.Seq, Time: r.Time}
	if thought := valid(m.Thinking()); thought != "" {
		item.Key, item.Kind, item.Text = keyOf(a.Path, base, "reasoning"), KindReasoning, thought
		item.Said = a.Aloud && text == "" && len(calls) > 0
		s.add(item)
		item.Said = false
	}
	if text != "" {
		item.Key, item.Kind, item.Text = keyOf(a.Path, base, "text"), KindText, text
		s.add(item)
	}
	item.Kind, item.Text = KindTool, ""
	for i, c := range calls {
		item.Key = callKey(a.Path, base, c.ID, i)
		item.Tool = &Tool{ID: valid(c.ID), Name: c.Name, Title: show.Title(c.Name, json.RawMessage(c.Arguments)), State: ToolQueued}
		a.opened(c.ID, s.add(item), c.Arguments)
	}
}

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

// called applies the end of a model call.
func (s *State) called(a *agent, r event.Record, d event.ModelCallEnd) {
	base := r.Seq
	if a.Answer != nil {
		base = a.Answer.Base
	}
	s.drop(a)
	a.Retry, a.Since = nil, r.Time
	a.Totals.add(d)
	rounds := s.totals.Rounds
	if s.totals.add(d); a.Path != "" {
		s.totals.Rounds = rounds
	}
	if d.Partial != "" && d.Error != nil {
		s.add(Item{
			Key:     keyOf(a.Path, base, "text"),
			Kind:    KindText,
			Agent:   a.Path,
			Seq:     r.Seq,
			Time:    r.Time,
			Text:    valid(d.Partial),
			Partial: true,
		})
	}
	if d.Error != nil {
		s.note(r, "error", "model call failed: "+show.Summary(d.Error.Message))
	}
	if text := show.Dropped(d); text != "" && !s.dropped {
		s.dropped = true
		s.note(r, "dropped", text)
	}
	s.note(r, "refusal", show.Refusal(d))
}

// retry applies that a model call is tried again. All retries of a call are one notice.
func (s *State) retry(a *agent, r event.Record, d event.ModelRetry) {
	a.Retry, a.Until = &d, r.Time.Add(d.Delay)
	base := r.Seq
	if w := a.Answer; w != nil {
		base = w.Base
		if d.Discard {
			s.drop(a)
			a.Answer = &answer{Base: w.Base, Call: w.Call, Time: w.Time, Purpose: w.Purpose}
			s.writing = append(s.writing, a.Path)
		}
	}
	key := keyOf(a.Path, base, "retry")
	text := show.Retry(d, d.Delay)
	if i, ok := s.index[key]; ok {
		s.items[i].Text = text
		s.items[i].Count++
		s.touch(key)
		return
	}
	s.add(Item{Key: key, Kind: KindNotice, Agent: a.Path, Seq: r.Seq, Time: r.Time, Text: text, Notice: r.Kind(), Count: 1})
}

// change returns the tool call of an item, to be changed.
func (s *State) change(item int) *Tool {
	s.touch(s.items[item].Key)
	return s.items[item].Tool
}

// tool applies a record of a tool call.
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
		if c == nil { // the record of its start is lost
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
	s.approvals = append(s.approvals, Approval{Key: key, Agent: r.Agent, Title: title, Asked: r.Time, ApprovalRequested: d})
}

// settle removes the request for the approval of a call.
func (s *State) settle(agent, id string) {
	s.approvals = slices.DeleteFunc(s.approvals, func(p Approval) bool { return p.Agent == agent && p.ID == id })
}

// lostStart adds a call of which nothing was recorded before.
func (s *State) lostStart(a *agent, r event.Record, id string, t Tool) *call {
	t.ID = valid(id)
	item := Item{Key: callKey(a.Path, r.Seq, id, 0), Kind: KindTool, Agent: a.Path, Seq: r.Seq, Time: r.Time, Tool: &t}
	return a.opened(id, s.add(item), "")
}

func (s *State) started(a *agent, r event.Record, d event.ToolCallStart) {
	c := a.Open[valid(d.ID)]
	title := show.Title(d.Name, d.Arguments)
	if c == nil {
		c = s.lostStart(a, r, d.ID, Tool{})
	}
	s.starts++
	c.Started, c.Args, c.Out, c.Lines = s.starts, string(d.Arguments), nil, 0
	t := s.change(c.Item)
	t.Name, t.Title, t.State, t.Started, t.Waited, t.Asked = d.Name, title, ToolRunning, r.Time, 0, zero
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

// ended applies the result of a call.
func (s *State) ended(a *agent, r event.Record, d event.ToolCallEnd) {
	s.settle(r.Agent, d.ID)
	s.unask(r.Agent, d.ID)
	a.Since = r.Time
	c := a.Open[valid(d.ID)]
	if c == nil {
		c = s.lostStart(a, r, d.ID, Tool{Name: d.Name, Title: show.Summary(d.Name)})
	}
	delete(a.Open, valid(d.ID))
	t := s.change(c.Item)
	t.Ran, t.Waited, t.Asked, t.Bytes = d.Duration, 0, zero, 0
	t.Command, t.Message, t.Mode = len(d.Artifacts.CommandsRun) > 0, d.Artifacts.Message, d.Mode
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

// result returns the final state of a call.
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
