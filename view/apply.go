package view

import (
	"slices"
	"strconv"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/llm"
)

// Apply applies the session's next record, from any of its agents, and returns the keys of the changed items, until the
// next call. If [State.Find] does not find a key, its item disappeared. The other parts of the state are small: read
// them again after each record.
//
// Apply takes constant time, except for a rewind, which marks the items that it undoes.
func (s *State) Apply(r event.Record) (changed []Key) {
	s.changed = s.changed[:0]
	if r.Data == nil || s.seen(r) {
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
	case event.BackgroundEnd:
		s.over(r, d)
	case event.QuestionAsked:
		s.inquiries = append(s.inquiries, Inquiry{Asked: r.Time, QuestionAsked: d})
	case event.QuestionAnswered:
		s.inquiries = slices.DeleteFunc(s.inquiries, func(q Inquiry) bool { return q.ID == d.ID })
	default:
		s.other(a, r)
	}
	return s.changed
}

// seen reports whether a transient record was applied before. After a snapshot or a lost connection, events begin
// after the last durable record.
func (s *State) seen(r event.Record) bool {
	switch {
	case !r.Kind().Transient():
		s.heard = zero
		return false
	case !r.Time.IsZero() && !r.Time.After(s.heard):
		return true
	}
	s.heard = r.Time
	return false
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
		a.Model = d.Model
		s.Reopen()
	case event.SessionEnd:
		if r.Agent == "" {
			s.closed = true
			s.loseBackground()
		}
		for i, m := range d.Undelivered {
			s.note(r, "undelivered."+strconv.Itoa(i), "not delivered to the agent: "+show.OneLine(show.MessageText(m)))
		}
		return
	case event.Compaction:
		a.Context = 0
	case event.Rewind:
		a.Context = 0
		s.rewind(d)
	case event.Error:
		if r.Agent == "" {
			s.stop.Error = show.Summary(d.Message)
		}
	}
	s.note(r, "notice", show.Notice(r.Data))
}

// Reopen applies that another process continues the session, before that is recorded: nothing is running.
func (s *State) Reopen() {
	s.closed, s.inquiries = false, nil
	s.loseBackground()
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

// work applies input and the start and end of work.
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
		s.queue = append(s.queue, Queued{
			Seq:      r.Seq,
			Agent:    r.Agent,
			Text:     text,
			Origin:   d.Origin,
			FollowUp: d.FollowUp,
		})
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
		s.stop = Stop{
			Outcome:  d.Outcome,
			Limit:    d.Limit,
			Question: d.Question,
			Rounds:   d.Rounds,
			Error:    s.stop.Error,
			Time:     r.Time,
		}
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

// say adds an item with a durable record's text.
func (s *State) say(r event.Record, part string, item Item) int {
	item.Key = keyOf(r.Agent, r.Seq, part)
	item.Agent = r.Agent
	item.Seq = r.Seq
	item.Time = r.Time
	item.Images = images(r)
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

// share applies records that all agents in the tree share.
func (s *State) share(r event.Record) {
	switch d := r.Data.(type) {
	case event.SubagentStart:
		if d.ID == "" {
			return
		}
		a := s.agent(d.ID)
		a.Name = d.Name
		a.Type = d.Type
		a.Task = show.Summary(d.Task)
		a.Model = d.Model
		a.Status = event.SubagentRunning
		a.Reason = ""
		a.Started = r.Time
		a.Ended = zero
	case event.SubagentEnd:
		if d.ID == "" {
			return
		}
		a := s.agent(d.ID)
		a.Status = d.Status
		a.Reason = show.Summary(d.Reason)
		a.Ended = r.Time
		a.Working = false
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
