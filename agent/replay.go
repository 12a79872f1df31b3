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
	m        machine
	set      settings
	start    event.SessionStart
	steering []llm.Message
	followUp []llm.Message
	past     *past
	facts    facts
	spawned  []event.SubagentStart
	ended    map[string]event.SubagentEnd

	calls  int // of the model
	used   llm.Usage
	cost   Cost
	last   event.ModelCallStart
	state  State
	open   bool // an input is being worked on
	since  time.Time
	worked time.Duration

	answer  *event.TextEnd // of a call whose end is still to come
	results []llm.ToolResult
	round   map[string]callState // of the calls at hand
}

// callState is how far a call had come that has no result.
type callState struct {
	started bool
	waits   *event.ApprovalRequested // for an approval
}

func newReplay(m machine) *replay {
	return &replay{m: m, past: &past{}, state: Idle, cost: Cost{Known: true}, ended: make(map[string]event.SubagentEnd)}
}

// take takes in the next record of the agent.
func (p *replay) take(r event.Record) {
	if p.answer != nil {
		if _, ok := r.Data.(event.ModelCallEnd); !ok {
			p.end()
		}
	}
	switch d := r.Data.(type) {
	case event.SessionStart:
		p.start = d
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
		p.calls, p.last = d.Call, d
		p.begin(r.Time)
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
		p.worked += max(r.Time.Sub(p.since), 0) // the clock may have been set back
		if p.m.halt == nil {
			p.m.end(Status(d.Outcome))
		}
	case event.SubagentStart:
		p.spawned = append(p.spawned, d)
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
			p.m.rewrite(messages)
		}
	case event.Quarantine:
		p.m.quarantine(d)
	case event.Checkpoint:
		p.past.checkpoint(d.ID)
	case event.Rewind:
		p.past.rewind(d, &p.m)
		if d.Chat {
			p.open, p.state = false, Idle
			p.m.end(StatusDone)
		}
	}
}

// end takes an answer in whose call did not come to its end in the log.
func (p *replay) end() {
	if p.answer == nil {
		return
	}
	reason := llm.FinishStop
	if len(p.answer.Message.ToolCalls()) > 0 {
		reason = llm.FinishToolCalls
	}
	p.answered(reason, llm.Usage{})
}

func (p *replay) begin(at time.Time) {
	if !p.open {
		p.open, p.state, p.since = true, Processing, at
	}
}

func (p *replay) resume(d event.SessionResume) {
	p.set.provider, p.set.model, p.set.effort = d.Provider, d.Model, d.Effort
	if d.System != "" {
		p.m.setSystem(d.System)
	}
}

func (p *replay) input(seq event.Seq, d event.UserInput) {
	if d.FollowUp && !remove(&p.steering, d.Message) {
		remove(&p.followUp, d.Message)
	}
	if d.Answers != "" {
		p.m.resume()
		return
	}
	p.past.input(seq, p.m.messages)
	p.m.input(d.Message)
}

func (p *replay) inject(d event.SteeringInjected) {
	p.m.say(d.Message)
	if d.Source != sourceHost {
		return
	}
	remove(&p.steering, d.Message)
	p.m.goOn()
}

func (p *replay) called(d event.ModelCallEnd) {
	p.used = p.used.Add(d.Usage)
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
	p.answer, p.results, p.round = nil, nil, nil
	p.m.answered(msg, reason, u)
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
		p.round[d.ID] = callState{true, &d}
	case event.ApprovalResolved:
		p.round[d.ID] = callState{started: true}
	}
}

// ran takes a result; they come in the order of the calls.
func (p *replay) ran(d event.ToolCallEnd) {
	if len(p.results) == len(p.m.calls) {
		return
	}
	call := p.m.calls[len(p.results)]
	p.results = append(p.results, resultOf(call, d))
	p.facts.note(call, d)
	if len(p.results) == len(p.m.calls) {
		p.m.ran(p.results)
		p.results, p.round = nil, nil
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
