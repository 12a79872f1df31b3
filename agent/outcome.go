package agent

import (
	"context"
	"errors"
	"time"

	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/object"
)

// Status is how the work on an input ended.
type Status = event.Status

// Statuses. The session accepts more input after all of them, unless it was closed or the error is fatal: no access, a
// conversation that is too long, or a session that cannot be saved.
const (
	StatusDone             = event.StatusDone             // the model has nothing more to do
	StatusAwaitingInput    = event.StatusAwaitingInput    // it asked the user; the next input is the answer
	StatusAwaitingApproval = event.StatusAwaitingApproval // tool calls wait for approval; see Pending, Resolve and Continue
	StatusLimit            = event.StatusLimit            // a limit was reached
	StatusCutOff           = event.StatusCutOff           // the answer exceeds the output limit
	StatusPaused           = event.StatusPaused           // the provider paused the turn too often
	StatusRefused          = event.StatusRefused          // the model or a filter refused
	StatusLoop             = event.StatusLoop             // the model repeats itself
	StatusInterrupted      = event.StatusInterrupted      // the host stopped it
	StatusFailed           = event.StatusFailed           // an error ended it
)

// Outcome is the result of an input. Its figures do not include subagents; Session.Total does.
type Outcome struct {
	Status   Status
	Text     string // the model's last answer
	Limit    event.Limit
	Question string // the model's question to the user, also with StatusDone
	Object   string // result as JSON, if requested
	Rounds   int    // tool rounds
	Turns    int    // model answers
	Usage    llm.Usage
	Cost     llm.Cost
	Duration time.Duration
	// Refused lists the refused tool calls, including subagents' calls. The model is told, but may still report
	// success: check Refused if the work must have changed something.
	Refused []Refusal
}

// Refusal is a tool call that was not run because the policy, a hook or the approver refused it, or because it needed
// approval and no approver was configured.
type Refusal = step.Refusal

// Total sums the usage of a session and all its subagents.
type Total = step.Total

// State is a session's state.
type State = event.State

// States.
const (
	Idle             = event.StateIdle
	Processing       = event.StateProcessing
	AwaitingInput    = event.StateAwaitingInput
	AwaitingApproval = event.StateAwaitingApproval
	Closed           = event.StateClosed
)

// Errors returned by sessions.
var (
	ErrClosed            = errors.New("the session is closed")
	ErrBusy              = errors.New("the session is busy: use FollowUp or Steer to add to its work")
	ErrNoInput           = errors.New("the input is empty")
	ErrNothingToContinue = errors.New("nothing to continue: submit input instead")
)

// outcome returns how the work ended.
func (s *Session) outcome(end step.Stop) (Outcome, error) {
	s.tree.mu.Lock()
	used := s.state.SinceInput()
	text := s.state.Text()
	refused := s.state.Refused()
	s.tree.mu.Unlock()
	out := Outcome{
		Status:   end.Status,
		Limit:    end.Limit,
		Question: end.Question,
		Text:     text,
		Object:   end.Object,
		Rounds:   end.Rounds,

		Turns:   used.Turns,
		Usage:   used.Usage,
		Cost:    used.Cost,
		Refused: refused,
	}
	switch end.Status {
	case StatusInterrupted:
		return out, s.failure
	case StatusFailed:
		return out, s.reason(end.Error)
	}
	return out, nil
}

// reason returns the error for a record: the original error, if the session still has it.
func (s *Session) reason(e *event.Error) error {
	switch {
	case e == nil:
		return s.failure
	case s.failure != nil && asEvent(s.failure).Message == e.Message:
		return s.failure
	}
	return &llm.Error{Kind: llm.ErrorKind(e.Class), Message: e.Message, Body: []byte(e.Body)}
}

// SubmitFormat is Submit with a structured result, as JSON in Outcome.Object. It works as [SubmitObject] does, with a schema
// instead of a type: an object that does not match is returned to the model twice, with what is wrong.
func (s *Session) SubmitFormat(ctx context.Context, format llm.OutputFormat, input ...llm.Part) (Outcome, error) {
	return s.submit(ctx, input, event.UserInput{Output: &format})
}

// SubmitObject is Submit with a structured result. When the work is done, the model is called once more, without tools,
// for its result as JSON that matches T's schema. Tags "json" and "jsonschema" describe the fields. The schema does not
// affect earlier answers. T may be any type that JSON has, such as []string.
//
// The value is valid only if the error is nil. If the work ends with a status other than StatusDone, or the model does
// not return a valid object, the error is an *llm.Error of kind llm.ErrNoObject, with the answer in its Body.
func SubmitObject[T any](ctx context.Context, s *Session, input ...llm.Part) (value T, out Outcome, err error) {
	form, err := object.FormOf[T]()
	if err != nil {
		return value, Outcome{}, err
	}
	format := form.Output()
	out, err = s.submit(ctx, input, event.UserInput{Output: &format})
	switch {
	case err != nil:
	case out.Object == "":
		err = llm.Errorf(llm.ErrNoObject, "", "no result: the work ended with status %s", out.Status)
	default:
		err = form.Decode(out.Object, &value)
	}
	if err != nil {
		var zero T
		return zero, out, err
	}
	return value, out, nil
}
