package agent

import (
	"reflect"
	"slices"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// Messages is the conversation of one agent as the records of a session tell it; "" is the root.
// It is what the model was sent, or will be sent next, but for what hooks change in requests. A
// tool call that has no result yet is in it without one.
func Messages(records []event.Record, agent string) []llm.Message {
	p := newReplay(machine{})
	for _, r := range records {
		if r.Agent == agent {
			p.take(r)
		}
	}
	p.end()
	return p.m.messages
}

// Messages is the conversation so far.
func (s *Session) Messages() []llm.Message { return Messages(s.log.Records(0), s.path) }

// replay is an agent as its records tell it. It feeds a machine with what the session fed its own.
type replay struct {
	course
	set      settings
	system   string
	steering []llm.Message
	followUp []llm.Message
	standsIn event.ModelFallback   // for the input at hand
	spawned  []event.SubagentStart // the first task of each
	ended    map[string]event.SubagentEnd

	state  State
	open   bool      // an input is being worked on
	since  time.Time // it is; zero if it is not
	worked time.Duration

	answer  *event.TextEnd // of a call whose end is still to come
	results []llm.ToolResult
	round   map[string]callState // of the calls at hand
	// What is still to be recorded of a step that was begun.
	nudge  event.SteeringInjected
	reply  *llm.Message // to a question
	object bool         // the next call is for structured output
}

// callState is how far a call had come that has no result.
type callState struct {
	started bool
	waits   *event.ApprovalRequested // for an approval
	denied  bool
}

func newReplay(m machine) *replay {
	return &replay{course: newCourse(m), state: Idle, ended: make(map[string]event.SubagentEnd)}
}

// take takes in the next record of the agent.
func (p *replay) take(r event.Record) {
	p.mend(r.Data)
	switch d := r.Data.(type) {
	case event.SessionStart:
		p.system = d.System
		p.set.provider, p.set.model, p.set.effort = d.Provider, d.Model, d.Effort
		if d.System != "" {
			p.m.say(llm.SystemText(d.System))
		}
	case event.SessionResume:
		p.resume(d)
	case event.Settings:
		p.set = settings{d.Provider, d.Model, d.Effort, d.ThinkingBudget, d.Timeouts}
	case event.UserInput:
		p.input(r.Seq, d)
		p.begin(r.Time)
	case event.SteeringQueued:
		if d.FollowUp {
			p.followUp = append(p.followUp, d.Message)
		} else {
			p.steering = append(p.steering, d.Message)
		}
	case event.SteeringInjected:
		p.inject(d)
	case event.ModelCallStart:
		p.calling(r.Time, d)
	case event.ModelFallback:
		p.standsIn = d
	case event.TextEnd:
		p.answer = &d
	case event.ModelCallEnd:
		p.called(d)
	case event.ToolCallStart, event.ApprovalRequested, event.ApprovalResolved:
		p.ongoing(d)
	case event.ToolCallEnd:
		p.ran(d)
	case event.ProcessingEnd:
		p.state, p.open = State(d.State), false
		if p.state == Closed && d.Question != "" {
			p.state = AwaitingInput
		}
		p.rest(r.Time)
	case event.SubagentStart:
		if !slices.ContainsFunc(p.spawned, func(s event.SubagentStart) bool { return s.ID == d.ID }) {
			p.spawned = append(p.spawned, d)
		}
	case event.SubagentEnd:
		p.ended[d.ID] = d
	default:
		p.change(r)
	}
}

// change takes in what changes the conversation after the fact.
func (p *replay) change(r event.Record) {
	switch d := r.Data.(type) {
	case event.Compaction:
		if messages, err := d.Apply(p.m.messages); err == nil {
			p.m.rewrite(messages, wasCompacted)
		}
	case event.Quarantine:
		p.m.quarantine(d)
	case event.Checkpoint:
		p.past.checkpoint(d)
	case event.RewindStart:
		p.past.start(&d.Rewind)
	case event.Rewind:
		p.past.rewind(d, &p.m)
		if d.Chat {
			p.open, p.state = false, Idle
			p.m.end(StatusDone)
		}
	}
}

// begin and rest bracket the work on an input.
func (p *replay) begin(at time.Time) {
	p.open, p.state = true, Processing
	if p.since.IsZero() {
		p.since = at
	}
}

func (p *replay) rest(at time.Time) {
	if !p.since.IsZero() {
		p.worked += max(at.Sub(p.since), 0) // the clock may have been set back
		p.since = time.Time{}
	}
}

func (p *replay) resume(d event.SessionResume) {
	if d.Provider != p.set.provider || d.Model != p.set.model {
		p.standsIn = event.ModelFallback{}
	}
	p.set.provider, p.set.model, p.set.effort = d.Provider, d.Model, d.Effort
	if d.System != "" {
		p.system = d.System
		p.m.setSystem(d.System)
	}
}

// calling takes in that a request is on its way. One for a summary is no part of the conversation.
func (p *replay) calling(at time.Time, d event.ModelCallStart) {
	p.calls = d.Call
	if d.Purpose != string(forConversation) {
		return
	}
	p.begin(at)
	p.sent = sent{
		any: true, provider: d.Provider, model: d.Model, effort: d.Effort, budget: p.set.budget, tools: d.Tools,
		object: p.object, messages: p.m.messages,
	}
	p.m.rewritten, p.nudge = "", event.SteeringInjected{}
}

func (p *replay) input(seq event.Seq, d event.UserInput) {
	if d.FollowUp && !remove(&p.steering, d.Message) {
		remove(&p.followUp, d.Message)
	}
	p.nudge, p.object, p.standsIn = event.SteeringInjected{}, false, event.ModelFallback{}
	if d.Answers != "" {
		p.m.resume()
		p.reply = &d.Message
		return
	}
	p.past.input(seq, p.m.place())
	p.m.input(d.Message)
}

func (p *replay) inject(d event.SteeringInjected) {
	p.m.say(d.Message)
	p.nudge = event.SteeringInjected{}
	p.object = d.Source == sourceObject
	if d.Source != sourceHost {
		return
	}
	remove(&p.steering, d.Message)
	p.m.goOn()
}

func (p *replay) called(d event.ModelCallEnd) {
	p.used = p.used.Add(d.Usage)
	if p.since.IsZero() { // a compaction by hand
		p.worked += d.Duration
	}
	switch {
	case d.Error != nil:
	case d.Cost != nil:
		p.cost = p.cost.add(*d.Cost, true)
	default:
		p.cost = p.cost.add(0, false)
	}
	if p.answer != nil {
		p.answered(llm.FinishReason(d.Finish), d.Usage)
	}
}

func (p *replay) answered(reason llm.FinishReason, u llm.Usage) {
	msg := p.answer.Message
	p.answer, p.results, p.round, p.object = nil, nil, nil, false
	p.answerer = p.sent.model
	text := p.m.text
	p.nudge = nudge(p.m.answered(msg, reason, u), string(reason))
	if p.sent.object {
		p.m.gaveObject(text)
		p.nudge = event.SteeringInjected{}
	}
}

// nudge is a message that the session puts in by itself.
func nudge(text, source string) event.SteeringInjected {
	return event.SteeringInjected{Message: llm.UserText(text), Source: source}
}

// ongoing notes how far a call has come.
func (p *replay) ongoing(d event.Data) {
	if p.round == nil {
		p.round = make(map[string]callState)
	}
	switch d := d.(type) {
	case event.ToolCallStart:
		p.round[d.ID] = callState{started: true}
	case event.ApprovalRequested:
		p.round[d.ID] = callState{started: true, waits: &d}
	case event.ApprovalResolved:
		p.round[d.ID] = callState{started: true, denied: !d.Allowed}
	}
}

// ran takes a result; they come in the order of the calls.
func (p *replay) ran(d event.ToolCallEnd) {
	at := len(p.results)
	i := slices.IndexFunc(p.m.calls[at:], func(c llm.ToolCall) bool { return c.ID == d.ID })
	if i < 0 {
		return
	}
	p.missing(at + i)
	call := p.m.calls[at+i]
	p.m.facts.note(call, d)
	p.answerCall(resultOf(call, d))
}

func (p *replay) answerCall(r llm.ToolResult) {
	p.results, p.reply = append(p.results, r), nil
	if len(p.results) == len(p.m.calls) {
		p.nudge = nudge(p.m.ran(p.results), sourceLoop)
		p.results, p.round = nil, nil
		if p.state == AwaitingInput { // the question was given up
			p.state = Idle
		}
	}
}

// remove takes the first message that is like this one out of a queue.
func remove(queue *[]llm.Message, msg llm.Message) bool {
	i := slices.IndexFunc(*queue, func(m llm.Message) bool { return reflect.DeepEqual(m, msg) })
	if i < 0 {
		return false
	}
	*queue = slices.Delete(slices.Clone(*queue), i, i+1)
	return true
}
