package cli

import (
	"context"
	"errors"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// result is what every run ends with. Its keys are documented and do not change.
type result struct {
	Type       string             `json:"type"` // "result"
	Outcome    agent.Status       `json:"outcome"`
	Text       string             `json:"text"`
	Question   string             `json:"question,omitempty"`
	Limit      event.Limit        `json:"limit,omitempty"`
	Refused    []string           `json:"refused,omitempty"` // what nobody was there to approve
	Error      *errorJSON         `json:"error"`
	Usage      llm.Usage          `json:"usage"`
	Cost       *float64           `json:"cost"` // in US dollars; null if a price is not known
	Models     []event.ModelSpent `json:"models,omitempty"`
	Turns      int                `json:"turns"`
	Rounds     int                `json:"rounds"`
	DurationMS int64              `json:"duration_ms"`
	SessionID  string             `json:"session_id"`
	ExitCode   int                `json:"exit_code"`

	err       error // what Error tells of
	saved     bool  // the session can be gone on with
	elsewhere bool  // its directory is not the present one
	reached   reached
}

// statusNeedsApproval is the outcome of a run that came to its end, but without something that
// nobody was there to approve.
const statusNeedsApproval agent.Status = "needs_approval"

// limitDeadline is the limit of a run that --deadline stopped.
const limitDeadline event.Limit = "deadline"

// end says how a run ended: the outcome's status and the exit code.
func (r *result) end(ctx context.Context, status agent.Status, err error) {
	r.Outcome = status
	cause := context.Cause(ctx)
	switch {
	case err != nil && errors.Is(cause, errDeadline):
		r.Outcome, r.Limit, r.ExitCode = agent.StatusLimit, limitDeadline, exitDeadline
		err = errDeadline
	case err != nil && errors.Is(cause, errInterrupted):
		r.Outcome, r.ExitCode = agent.StatusInterrupted, exitInterrupted
		err = errInterrupted
	case err != nil:
		if cause != nil {
			err = cause
		}
		r.Outcome, r.ExitCode = agent.StatusFailed, exitCode(context.Background(), err)
	default:
		r.ExitCode = statusCode(status)
	}
	if err != nil {
		r.err, r.Error = err, runError(err)
	}
	if status == agent.StatusDone && len(r.Refused) > 0 {
		r.Outcome, r.ExitCode = statusNeedsApproval, exitNeedsInput
	}
}

// statusCode is the exit code of a run that ended without an error.
func statusCode(s agent.Status) int {
	switch s {
	case agent.StatusDone:
		return exitOK
	case agent.StatusAwaitingInput, agent.StatusAwaitingApproval:
		return exitNeedsInput
	case agent.StatusLimit, agent.StatusLoop, agent.StatusCutOff, agent.StatusPaused:
		return exitLimit
	}
	return exitFailed
}

// runError is an error as a result tells it.
func runError(err error) *errorJSON {
	e := newErrorJSON(err)
	var usage usageError
	switch {
	case e.Kind != llm.ErrUnknown:
	case errors.Is(err, errDeadline), errors.Is(err, errInterrupted):
		e.Kind = llm.ErrCancelled
	case errors.As(err, &usage):
		e.Kind = llm.ErrConfiguration
	}
	return e
}
