// Package step decides what an agent does next. A [State] is a fold over one agent's records: [State.Apply] applies a
// record, and [State.Next] returns the next action: append a record, call the model, run tools, await an answer, or
// stop. There is no I/O, no clock and no randomness, so the same records always give the same action. A [Tree] holds
// the states of all agents in a session and their usage.
//
// A driver performs the actions. It keeps the records and repeats three steps: call Next, perform the action, append
// and Apply records of what happened. External facts, such as a price, an error or an interruption, enter as records.
// After a crash, a driver rebuilds the state from its records and calls Next again. Package agent is one driver;
// driver_test.go has another, which rebuilds the state before every step.
//
// Next must not be called while an action is being performed: a model call or tool call that has started and not ended
// counts as interrupted.
package step

import (
	"slices"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// Action is what to do next: Append, CallModel, RunTools, RunHooks, Await or Stop.
type Action interface{ action() }

type (
	// Append records a fact that follows from earlier records.
	Append struct{ Data event.Data }

	// CallModel calls the model for an answer or, with event.PurposeSummary or event.PurposeCompaction, for a summary.
	// The call is recorded from ModelCallStart to ModelCallEnd.
	CallModel struct {
		Purpose  event.Purpose
		Messages []llm.Message
		Compact  string // instructions for PurposeCompaction
		Choice   llm.ToolChoice
		Output   *llm.OutputFormat
	}

	// RunTools runs the first call, or the leading calls that may run in parallel. Each is recorded from ToolCallStart
	// to ToolCallEnd, unless it asks the user or waits for approval.
	RunTools struct{ Calls []Call }

	// RunHooks runs the hooks that decide whether the work may end. Each is recorded as a Hook.
	RunHooks struct {
		Active bool   // they kept the agent working before
		Answer string // the model's last answer
	}

	// Await waits for the answer to a question, or for approvals. A driver that cannot get them now appends End and
	// stops.
	Await struct {
		Question  string
		Approvals []Call
		End       event.ProcessingEnd
	}

	// Stop ends the work on an input, or reports that there is none.
	Stop struct {
		Status   event.Status
		Limit    event.Limit
		Question string // the model's question to the user, also with StatusDone
		Text     string // the last answer
		Object   string // result as JSON, if requested
		Rounds   int
		Error    *event.Error // why it failed
	}
)

func (Append) action()    {}
func (CallModel) action() {}
func (RunTools) action()  {}
func (RunHooks) action()  {}
func (Await) action()     {}
func (Stop) action()      {}

// Next returns the next action.
func (s *State) Next() Action {
	switch {
	case s.answer != nil:
		return Append{s.lostEnd()}
	case !s.open && s.more:
		return Append{s.following()}
	case !s.open:
		return s.rest()
	}
	if a := s.round(); a != nil {
		return a
	}
	switch {
	case len(s.notes) > 0:
		return Append{s.notes[0]}
	case len(s.steering) > 0 && s.listens():
		q := s.steering[0]
		return Append{event.SteeringInjected{Message: q.Message, Source: event.SourceHost, Queued: q.Seq}}
	case len(s.mail()) > 0 && s.listens():
		return Append{s.deliver()}
	case s.halt != nil:
		return s.finish()
	case s.failure != nil:
		return s.recover()
	}
	if d := s.limit(); d != nil {
		return Append{d}
	}
	return s.call()
}

// listens reports whether messages may enter the conversation now.
func (s *State) listens() bool { return s.halt == nil || s.halt.Status == event.StatusDone }

// call returns a model call, or the action that must precede it.
func (s *State) call() Action {
	if a := s.compactIfFull(); a != nil {
		return a
	}
	if d := s.contextWarning(); d != nil {
		return Append{d}
	}
	if d := s.costWarning(); d != nil {
		return Append{d}
	}
	if s.othersTurn() {
		return Append{note("Continue.", event.SourcePause)}
	}
	return CallModel{Messages: s.messages}
}

// othersTurn reports whether the conversation ends with an unfinished turn that the model cannot continue. Only the
// model that paused can continue its turn, and some models only if the provider ran a tool in it.
func (s *State) othersTurn() bool {
	last, set := s.messages[len(s.messages)-1], s.Effective()
	hosted := slices.ContainsFunc(last.Parts, func(p llm.Part) bool { _, ok := p.(llm.Opaque); return ok })
	return last.Role == llm.RoleAssistant && (set.Model != s.answerer || set.NoPrefill && !hosted)
}

// rest returns an idle agent's action.
func (s *State) rest() Action {
	if c := s.asking(); c != nil {
		return Await{Question: c.question, End: s.end(event.StatusAwaitingInput)}
	}
	return s.last
}

// finish ends the work on an input.
func (s *State) finish() Action {
	if s.halt.Status == event.StatusDone {
		if s.setup.Rules.StopHooks && !s.consulted {
			return s.consult()
		}
		if a := s.form(); a != nil {
			return a
		}
		if d := s.contextWarning(); d != nil {
			return Append{d}
		}
	}
	return Append{s.end(s.halt.Status)}
}

// end returns the record that ends the work on an input.
func (s *State) end(status event.Status) event.ProcessingEnd {
	d := event.ProcessingEnd{Outcome: status, State: event.StateIdle, Rounds: s.rounds, Question: s.question}
	switch {
	case status == event.StatusAwaitingInput:
		d.State = event.StateAwaitingInput
		if c := s.asking(); c != nil {
			d.Question = c.question
		}
	case status == event.StatusAwaitingApproval:
		d.State = event.StateAwaitingApproval
	case status == event.StatusDone && len(s.steering)+len(s.followUp) > 0:
		d.State = event.StateProcessing
	case status == event.StatusDone && s.question != "":
		d.State = event.StateAwaitingInput
	case status == event.StatusFailed && s.halt != nil && s.halt.Error != nil && s.halt.Error.Fatal():
		d.State = event.StateClosed
	}
	if s.halt != nil {
		d.Limit = s.halt.Limit
	}
	return d
}

// note returns a message that the agent adds to its conversation itself.
func note(text string, source event.Source) event.SteeringInjected {
	return event.SteeringInjected{Message: llm.UserText(text), Source: source}
}
