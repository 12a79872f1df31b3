package agent

import (
	"context"
	"fmt"
	"math"
	"reflect"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/reins-agent/reins/compact"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// state is all of an agent that its records must tell.
type state struct {
	Messages           []llm.Message
	Calls              []llm.ToolCall
	Answers            []llm.ToolResult
	Question, Text     string
	Rounds, Turns      int
	Continues          int
	IDs                map[string]bool
	Recent             []uint64
	Trips              int
	Meter              compact.Meter
	Provider, Model    string
	Effort             string
	Budget             int
	Timeouts           string
	Steering, FollowUp []llm.Message
	Inputs, Undone     string
	Plan               string
	Files              []string
	ModelCalls         int
	Used               llm.Usage
	Dollars            float64
	Answerer, StandsIn string
	Sent               string
	State              State
}

func stateOf(m machine, set settings, past *past, sent sent) state {
	s := state{
		Messages: m.messages, Calls: m.calls, Question: m.question, Text: m.text, Rounds: m.rounds, Turns: m.turns, Continues: m.continues,
		IDs: m.ids, Recent: m.loop.recent, Trips: m.loop.trips, Meter: m.meter,
		Provider: set.provider, Model: set.model, Effort: set.effort, Timeouts: fmt.Sprint(set.timeouts), Plan: m.facts.plan, Files: m.facts.files,
	}
	if set.budget != nil {
		s.Budget = *set.budget
	}
	for _, in := range past.inputs {
		s.Inputs += fmt.Sprintln(in.seq, in.checkpoint, in.chatBack, in.filesBack, sketch(in.before.messages), in.before.facts)
	}
	for _, u := range past.undone {
		s.Undone += fmt.Sprintln(u.input, u.chat, u.files, u.before, u.paths, sketch(u.with.messages), u.with.facts)
	}
	budget := 0
	if sent.budget != nil {
		budget = *sent.budget
	}
	s.Sent = fmt.Sprintln(sent.any, sent.provider, sent.model, sent.effort, budget, sent.tools, sent.object, sketch(sent.messages))
	return s
}

// checkReplay compares the session with what a process would have that resumes it now.
func (l *lives) checkReplay(records []event.Record) {
	if l.log.(*savedLog).held != nil {
		return // nothing has happened that its records could tell
	}
	c := l.config
	h, err := readHistory(context.Background(), c)
	if err != nil {
		l.Fatal(err)
	}
	for _, s := range append(l.all(), l.Session) {
		p := h.agent(s.path)
		live := stateOf(s.m, s.settings, s.past, s.sent)
		live.Answers = s.m.answers
		live.Steering, live.FollowUp, live.ModelCalls, live.Used, live.Dollars = s.steering, s.followUp, s.calls, s.used, s.cost.Dollars
		live.Answerer, live.State = s.answerer, s.state
		if s.fallback > 0 {
			live.StandsIn = s.config.Fallback[s.fallback-1].Name
		}
		told := stateOf(p.m, p.set, p.past, p.sent)
		told.Answers = p.results
		told.Steering, told.FollowUp, told.ModelCalls, told.Used, told.Dollars = p.steering, p.followUp, p.calls, p.used, p.cost.Dollars
		told.Answerer, told.StandsIn, told.State = p.answerer, p.standsIn.To, Idle
		if p.state == AwaitingInput {
			told.State = AwaitingInput
		}
		if len(s.m.calls) > 0 && s.m.question != "" {
			told.Question, told.State = s.m.question, AwaitingInput // which the call tells
		}
		if s.state == Closed {
			told.State, told.Steering, told.FollowUp = Closed, nil, nil // until it is resumed
		}
		live.Used.Raw, told.Used.Raw = nil, nil
		if diff := cmp.Diff(live, told, cmp.Exporter(func(reflect.Type) bool { return true }), cmpopts.EquateEmpty()); diff != "" {
			l.faults = append(l.faults, fmt.Sprintf("agent %q is (-) and its records tell (+): %s", s.path, diff))
		}
	}
	live, told := l.Total(), h.total()
	if live.Agents != told.Agents || live.Turns != told.Turns || live.Usage.Input != told.Usage.Input || math.Abs(live.Cost.Dollars-told.Cost.Dollars) > 1e-9 {
		l.faults = append(l.faults, fmt.Sprintf("the total is %+v and the records tell %+v", live, told))
	}
	var sum llm.Usage
	for _, r := range records {
		if d, ok := r.Data.(event.ModelCallEnd); ok {
			sum = sum.Add(d.Usage)
		}
	}
	if sum.Input != live.Usage.Input || sum.Output != live.Usage.Output {
		l.faults = append(l.faults, fmt.Sprintf("the total is %+v and the calls add up to %+v", live.Usage, sum))
	}
	for _, r := range records {
		if d, ok := r.Data.(event.Compaction); ok && d.After >= d.Before {
			l.faults = append(l.faults, fmt.Sprintf("record %d: %d tokens became %d", r.Seq, d.Before, d.After))
		}
	}
}
