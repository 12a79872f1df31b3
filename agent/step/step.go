// Package step decides what an agent does next. A [State] is a fold over the records of one agent:
// [State.Apply] takes in what happened, and [State.Next] says what to do about it: append a record, call the
// model, run tools, await an answer, or stop. There is no I/O, no clock and no randomness here, so that the
// same records always give the same action. A [Tree] holds the states of all agents of a session and what
// they have used together.
//
// Whoever performs the actions is a driver. It keeps the records, and repeats three steps: ask Next, do
// what it says, append what came of it and Apply that. Facts from outside, such as a price, an error or
// an interruption, enter as records. A driver that crashes anywhere rebuilds the state from its records
// and asks Next again. Package agent is one driver, in process; driver_test.go has another, which rebuilds
// the state before every step.
//
// Next must not be called while an action is being performed: a model call or a tool call that has
// begun and has not ended counts as interrupted then.
package step

import (
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// Action is what to do next: Append, CallModel, RunTools, Await or Stop.
type Action interface{ action() }

type (
	// Append records a fact that follows from those before it.
	Append struct{ Data event.Data }

	// CallModel calls the model, or sums up the conversation with it if Purpose is Summary. The call is
	// recorded from ModelCallStart to ModelCallEnd.
	CallModel struct {
		Purpose  event.Purpose
		Messages []llm.Message
		Choice   llm.ToolChoice
		Output   *llm.OutputFormat
	}

	// RunTools runs the first of these calls, or as many of the first as may run side by side. Each is
	// recorded from ToolCallStart to ToolCallEnd, unless it asks the user or waits for an approval.
	RunTools struct{ Calls []Call }

	// Await waits for the answer to a question, or for approvals. A driver that cannot get them now
	// appends End and stops.
	Await struct {
		Question  string
		Approvals []Call
		End       event.ProcessingEnd
	}

	// Stop ends the work on an input, or says that there is none.
	Stop struct {
		Status   event.Status
		Limit    event.Limit
		Question string // what the model wants to know; it may be done and ask all the same
		Text     string // the last answer
		Object   string // the result as JSON, if it was asked for
		Rounds   int
		Error    *event.Error // why it failed
	}
)

func (Append) action()    {}
func (CallModel) action() {}
func (RunTools) action()  {}
func (Await) action()     {}
func (Stop) action()      {}

// Next says what to do.
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
	case s.halt != nil:
		return s.finish()
	case len(s.steering) > 0:
		q := s.steering[0]
		return Append{event.SteeringInjected{Message: q.Message, Source: event.SourceHost, Queued: q.Seq}}
	case s.failure != nil:
		return s.recover()
	}
	if d := s.limit(); d != nil {
		return Append{d}
	}
	return s.call()
}

// call prepares a model call: the conversation must fit into the window, and it must be the model's turn.
func (s *State) call() Action {
	if a := s.compactIfFull(); a != nil {
		return a
	}
	if d := s.contextWarning(); d != nil {
		return Append{d}
	}
	if s.othersTurn() {
		return Append{note("Continue.", event.SourcePause)}
	}
	return CallModel{Messages: s.messages}
}

// othersTurn reports whether the conversation ends with an unfinished turn of another model than the
// one to be called: only the model that paused takes its own unfinished turn back.
func (s *State) othersTurn() bool {
	last := s.messages[len(s.messages)-1]
	return last.Role == llm.RoleAssistant && s.Effective().Model != s.answerer
}

// rest is what an agent does that has no work.
func (s *State) rest() Action {
	if c := s.asking(); c != nil {
		return Await{Question: c.question, End: s.end(event.StatusAwaitingInput)}
	}
	return s.last
}

// finish ends the work on an input that has come to a halt.
func (s *State) finish() Action {
	if s.halt.Status == event.StatusDone {
		if len(s.steering) > 0 {
			q := s.steering[0]
			return Append{event.SteeringInjected{Message: q.Message, Source: event.SourceHost, Queued: q.Seq}}
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

// end is the record that ends the work on an input.
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

// note is a message that the agent puts into its conversation by itself.
func note(text string, source event.Source) event.SteeringInjected {
	return event.SteeringInjected{Message: llm.UserText(text), Source: source}
}
