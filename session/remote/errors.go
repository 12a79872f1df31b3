package remote

import (
	"errors"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/session"
)

// Errors of the handles that [Connect] and [Attach] return, in addition to the errors of every Handle.
var (
	// ErrUnreachable means that the process that has the session open does not answer.
	ErrUnreachable = errors.New("the process that has the session open cannot be reached")
	// ErrUnconfirmed means that this process ended before it confirmed a change. Look whether the change was made.
	ErrUnconfirmed = errors.New("the process that had the session open ended before it confirmed the change")
)

// names are the errors that keep their identity.
var names = map[string]error{
	"busy":                session.ErrBusy,
	"closed":              session.ErrClosed,
	"answered":            session.ErrAnswered,
	"nothing_to_continue": session.ErrNothingToContinue,
	"unchanged":           session.ErrUnchanged,
	"unsupported":         session.ErrUnsupported,
	"nothing_to_undo":     agent.ErrNothingToUndo,
	"nothing_to_redo":     agent.ErrNothingToRedo,
	"nothing_to_compact":  agent.ErrNothingToCompact,
	"elsewhere":           agent.ErrElsewhere,
	"files_stay":          agent.ErrFilesStay,
	"unconfirmed":         ErrUnconfirmed,
}

// failure is an error as data.
type failure struct {
	Text  string        `json:"text"`
	Name  string        `json:"name,omitempty"`
	Class llm.ErrorKind `json:"class,omitempty"`

	Conflict    *session.ConflictError       `json:"conflict,omitempty"`
	Unknown     *session.UnknownCommandError `json:"unknown_command,omitempty"`
	Unavailable *session.UnavailableError    `json:"unavailable,omitempty"`
	Partial     *session.PartialError        `json:"partial,omitempty"`
}

func newFailure(err error) *failure {
	if err == nil {
		return nil
	}
	f := &failure{Text: err.Error()}
	for name, known := range names {
		if errors.Is(err, known) {
			f.Name = name
		}
	}
	if e, ok := errors.AsType[*llm.Error](err); ok {
		f.Class = e.Kind
	}
	f.Conflict, _ = errors.AsType[*session.ConflictError](err)
	f.Unknown, _ = errors.AsType[*session.UnknownCommandError](err)
	f.Unavailable, _ = errors.AsType[*session.UnavailableError](err)
	f.Partial, _ = errors.AsType[*session.PartialError](err)
	return f
}

func (f *failure) Error() string { return f.Text }

// Unwrap returns the errors that this error was in the other process.
func (f *failure) Unwrap() (list []error) {
	if known := names[f.Name]; known != nil {
		list = append(list, known)
	}
	if f.Class != "" {
		list = append(list, &llm.Error{Kind: f.Class, Message: f.Text})
	}
	if f.Conflict != nil {
		list = append(list, f.Conflict)
	}
	if f.Unknown != nil {
		list = append(list, f.Unknown)
	}
	if f.Unavailable != nil {
		list = append(list, f.Unavailable)
	}
	if f.Partial != nil {
		list = append(list, f.Partial)
	}
	return list
}
