package step

import (
	"slices"
	"strings"
	"time"

	"github.com/reins-agent/reins/compact"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// State is the state of one agent. Only Apply changes it.
type State struct {
	path   string
	name   string // "" if it has none
	tree   *Tree
	setup  event.Setup
	system string
	told   string // system prompt that the conversation contains

	messages  []llm.Message // a system message first
	ids       map[string]bool
	meter     compact.Meter
	facts     compact.Facts
	rewritten string // why the conversation was changed since the last request, or ""

	open      bool // work on an input has started and not ended
	working   bool // its time counts
	more      bool // another input follows
	phase     event.State
	halt      *Stop // decided, not recorded yet
	last      Stop  // how the last work ended
	calls     []call
	reply     *llm.Message // the user's answer to a question, not yet a result
	text      string       // the last answer, joined from its pieces
	question  string       // question at its end
	rounds    int          // tool rounds for this input
	turns     int          // model answers
	continues int          // continuations of a truncated or paused answer
	loop      loopDetector
	notes     []event.Data // to be recorded next
	stops     int          // how often hooks kept the agent working on this input
	consulted bool         // hooks have decided whether the work may end

	called   int                   // model calls, including failed ones
	calling  *event.ModelCallStart // the current call
	answer   *event.TextEnd        // its call's end is not recorded yet
	answerer string                // model that gave the last answer
	failure  *event.Error          // last call's failure, to recover from
	tried    attempts
	standIn  *event.ModelFallback
	summary  summary
	object   object
	warned   bool // warned that the window is nearly full
	priced   bool // warned that tokens cost more
	sent     sent
	read     read
	refused  event.ModelSetup // model that refused a conversation as too long, with its window

	steering, followUp []Queued
	past               event.Past[place]
	spawned            []event.SubagentStart // first task of each subagent
	ended              map[string]event.SubagentEnd

	used Used // since the last input
}

// Queued is a queued message.
type Queued struct {
	Seq      event.Seq // SteeringQueued record number
	Message  llm.Message
	Origin   *event.Origin // nil if the user wrote the message
	FollowUp bool
}

// Used is an agent's usage.
type Used struct {
	Turns int
	Usage llm.Usage
	Cost  llm.Cost
}

func newState(path string, t *Tree) *State {
	s := &State{path: path, tree: t, phase: event.StateIdle, ended: make(map[string]event.SubagentEnd)}
	s.used.Cost.Known = true
	s.last.Status = event.StatusDone
	return s
}

// Setup returns the agent's setup.
func (s *State) Setup() event.Setup { return s.setup }

// System returns the system prompt.
func (s *State) System() string { return s.system }

// Phase returns an idle agent's state. Interrupted work does not count.
func (s *State) Phase() event.State {
	switch {
	case s.asking() != nil:
		return event.StateAwaitingInput
	case len(s.Pending()) > 0:
		return event.StateAwaitingApproval
	case s.phase == event.StateProcessing || s.phase == event.StateAwaitingApproval:
		return event.StateIdle
	}
	return s.phase
}

// Open reports whether work on an input has started and not ended.
func (s *State) Open() bool { return s.open }

// Messages returns the conversation. New messages are appended in place; a change makes a copy.
func (s *State) Messages() []llm.Message { return slices.Clip(s.messages) }

// Text returns the model's last answer.
func (s *State) Text() string { return s.text }

// Turns returns the number of model answers.
func (s *State) Turns() int { return s.turns }

// Called returns the number of model calls, including failed ones.
func (s *State) Called() int { return s.called }

// Queue lists the queued messages: steering first, then follow-ups.
func (s *State) Queue() []Queued { return slices.Concat(s.steering, s.followUp) }

// Steered reports whether a message waits to join the conversation.
func (s *State) Steered() bool { return len(s.steering) > 0 }

// Spawned lists the subagents, each with its first task.
func (s *State) Spawned() []event.SubagentStart { return s.spawned }

// Ended returns how a subagent's last task ended.
func (s *State) Ended(id string) (event.SubagentEnd, bool) {
	d, ok := s.ended[id]
	return d, ok
}

// SinceInput returns the usage since the last input.
func (s *State) SinceInput() Used { return s.used }

// Question returns the model's question to the user, or "" if it does not wait for an answer.
func (s *State) Question() string {
	if c := s.asking(); c != nil {
		return c.question
	}
	if s.phase != event.StateAwaitingInput {
		return ""
	}
	return s.question
}

// Questions returns the question in parts, or nil if the model does not wait for an answer.
func (s *State) Questions() []event.Question {
	if c := s.asking(); c != nil && c.asks != nil {
		return c.asks
	}
	if q := s.Question(); q != "" {
		return []event.Question{{Question: q}}
	}
	return nil
}

// Accept returns the record for input: the input itself, with the call that it answers if the model has asked the user,
// or a queued message if calls wait for approval. Only the input's Message, Origin and Output are used.
func (s *State) Accept(in event.UserInput) event.Data {
	in = event.UserInput{
		Message: in.Message,
		Origin:  in.Origin,
		Output:  in.Output,
	}
	switch c := s.asking(); {
	case c != nil:
		in.Answers = c.ID
	case len(s.calls) > 0:
		return event.SteeringQueued{Message: in.Message, Origin: in.Origin}
	}
	return in
}

// Resumption reports whether there is anything to continue: work that was interrupted or failed, calls that wait for
// approval, queued messages, or messages from other agents. It returns the record that continues it, or nil if none is
// needed. A question must be answered first.
func (s *State) Resumption() (d event.Data, ok bool) {
	switch {
	case s.asking() != nil:
		return nil, false
	case s.open:
		return nil, true
	case len(s.calls) > 0, s.last.Status == event.StatusInterrupted, s.last.Status == event.StatusFailed:
		return event.Continue{}, s.conversed()
	case len(s.steering)+len(s.followUp) > 0:
		return s.following(), true
	case len(s.mail()) > 0:
		return event.Continue{}, s.conversed()
	}
	return nil, false
}

// conversed reports whether there is a message from the user.
func (s *State) conversed() bool {
	return slices.ContainsFunc(s.messages, func(m llm.Message) bool { return m.Role == llm.RoleUser })
}

// following returns the next queued message as input.
func (s *State) following() event.UserInput {
	q := s.Queue()[0]
	return event.UserInput{
		Message:  q.Message,
		Origin:   q.Origin,
		FollowUp: true,
		Queued:   q.Seq,
	}
}

// Messages returns one agent's conversation, by path, from a session's records: the messages sent to the model, apart
// from changes by hooks. Tool calls may lack a result.
func Messages(records []event.Record, agent string) []llm.Message {
	t := NewTree()
	for _, r := range records {
		if r.Agent == agent {
			t.Apply(r)
		}
	}
	s := t.Agent(agent)
	s.closeAnswer()
	return s.messages
}

// begin and stop bracket the agent's work and count its time.
func (s *State) begin(at time.Time) {
	if !s.working {
		s.tree.enter(at)
	}
	s.open = true
	s.working = true
	s.phase = event.StateProcessing
	s.more = false
}

func (s *State) stop(at time.Time, phase event.State) {
	if s.working {
		s.tree.exit(at)
	}
	s.open = false
	s.working = false
	s.phase = phase
	s.halt = nil
}

// resume clears the last work's remains.
func (s *State) resume() {
	s.halt = nil
	s.question = ""
	s.text = ""
	s.continues = 0
	s.failure = nil
	s.tried = attempts{}
	s.summary = summary{failures: s.summary.failures}
}

// say adds a message to the conversation.
func (s *State) say(msg llm.Message) {
	s.messages = append(s.messages, msg)
	s.meter.Add(msg)
	for _, c := range msg.ToolCalls() {
		if s.ids == nil {
			s.ids = make(map[string]bool)
		}
		s.ids[c.ID] = true
	}
}

// rewrite replaces the conversation for a reason. Open calls stay open.
func (s *State) rewrite(messages []llm.Message, reason string) {
	s.messages = slices.Clip(messages)
	s.rewritten = reason
	s.read.input = 0
	s.meter.Reset(s.messages)
}

// setSystem replaces the system prompt. If the model accepts system messages in the conversation, the new prompt is
// added at the end, so that sent messages stay unchanged. If the model has changed too, there is nothing to preserve.
func (s *State) setSystem(text string, moved bool) {
	s.system = text
	if text == s.told {
		return
	}
	if added, ok := s.newInstructions(text); ok && !moved {
		s.told = text
		s.say(llm.SystemText(added))
		return
	}
	s.told = text
	messages := slices.DeleteFunc(slices.Clone(s.messages), instructs)
	if text != "" {
		messages = append([]llm.Message{llm.SystemText(text)}, messages...)
	}
	s.rewrite(messages, "the system prompt was changed")
}

// instructs reports whether a message is a system prompt, at the start of the conversation or later.
func instructs(m llm.Message) bool { return m.Role == llm.RoleSystem && m.Text() != "" }

// newInstructions returns the text to add to the conversation so that a new system prompt applies. It reports false if
// the model must get the new prompt in place of the old one.
func (s *State) newInstructions(text string) (added string, ok bool) {
	if !s.Effective().LateSystem || s.told == "" || text == "" || s.turns == 0 || len(s.calls) > 0 {
		return "", false
	}
	return amendment(s.told, text), true
}

// amendment returns instructions that change one system prompt into another: what is new, what no longer applies, or
// the whole prompt if most has changed.
func amendment(old, now string) string {
	was, is := strings.SplitAfter(old, "\n"), strings.SplitAfter(now, "\n")
	for len(was) > 0 && len(is) > 0 && strings.TrimSpace(was[0]) == strings.TrimSpace(is[0]) {
		was, is = was[1:], is[1:]
	}
	for len(was) > 0 && len(is) > 0 && was[len(was)-1] == is[len(is)-1] {
		was, is = was[:len(was)-1], is[:len(is)-1]
	}
	gone, added := strings.TrimSpace(strings.Join(was, "")), strings.TrimSpace(strings.Join(is, ""))
	switch {
	case gone == "" && added == "":
		return "Your instructions are the same as before."
	case gone == "":
		return added
	case added == "":
		return "These instructions no longer apply:\n\n" + gone
	case len(gone)+len(added) < len(now)/2:
		return "These instructions no longer apply:\n\n" + gone + "\n\nInstead:\n\n" + added
	}
	return "Your instructions have changed. These replace all earlier instructions:\n\n" + now
}
