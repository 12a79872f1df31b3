// Package session is what programs build on that let users work with sessions.
package session

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/view"
)

// Handle is everything that a user interface can do with one session: a terminal, a web page, an editor, a command.
// [Local] implements it for a session in this process, and package session/remote for a session in another process.
//
// All arguments and results are data. Methods may be called concurrently. A method that starts work returns when the work
// is recorded, not when it is done: [Handle.Events] shows how it goes on, and [Handle.Wait] waits for its end. A method
// fails with [ErrBusy] if the session is working and the change needs it idle, and with [ErrClosed] once it is closed.
type Handle interface {
	// ID returns the session ID.
	ID() string
	// Info describes the session as it is now.
	Info(ctx context.Context) (Info, error)
	// Snapshot returns what a screen shows now. It continues with the events after its last record.
	Snapshot(ctx context.Context) (*view.State, error)
	// Events yields the records after a number, first the saved ones, then each as it happens. Transient records, which
	// have no number, come only as they happen. It ends when the session is closed, or with an error.
	Events(ctx context.Context, after event.Seq) iter.Seq2[event.Record, error]

	// Submit gives the session input and starts work on it. An input that begins with "/" may be a session command.
	Submit(ctx context.Context, in Input) error
	// Steer adds a message to the work in progress: the model reads it with its next call.
	Steer(ctx context.Context, in Input) error
	// FollowUp queues a message for the time when the work is done. An idle session keeps it until the next input.
	FollowUp(ctx context.Context, in Input) error
	// Continue continues work that was interrupted, that failed, or that waited for answers.
	Continue(ctx context.Context) error
	// Interrupt stops the work, including the work of subagents. It does nothing if the session is idle.
	Interrupt(ctx context.Context) error
	// Wait waits until the session is idle, and returns how its last work in this process ended.
	Wait(ctx context.Context) (Outcome, error)

	// Queue lists the waiting messages in the order in which they will be read.
	Queue(ctx context.Context) ([]view.Queued, error)
	// Requeue withdraws the waiting messages with the given numbers and queues them anew in this order, as one change. An
	// edit with a text replaces the text.
	Requeue(ctx context.Context, edits []Edit) error
	// Withdraw removes a waiting message.
	Withdraw(ctx context.Context, seq event.Seq) error

	// Questions lists what waits for a person's decision, oldest first.
	Questions(ctx context.Context) ([]ask.Question, error)
	// Answer answers a question. The first answer counts; for the others it fails with [ErrAnswered]. The work that
	// waited for it continues.
	Answer(ctx context.Context, id string, a ask.Answer) error

	// Reconfigure changes model, effort or permission mode, at the next safe point, or the title.
	Reconfigure(ctx context.Context, s Settings) error
	// Compact summarizes the conversation to free room in the model's context window. The session must be idle.
	Compact(ctx context.Context) (event.Compaction, error)
	// Undo undoes the last input that was not undone yet, and Redo reverts the last undo, as [Manager.Undo] and
	// [Manager.Redo] do. The options name no session and no paths; with [Ask], conflicts are questions. The session must be
	// idle, except for a dry run.
	Undo(ctx context.Context, o UndoOptions) (Undone, error)
	Redo(ctx context.Context, o UndoOptions) (Undone, error)

	// Agents lists the session's agents, the main agent first.
	Agents(ctx context.Context) ([]Agent, error)
	// SteerAgent adds a message to a subagent's work, by its path or name, and StopAgent stops it.
	SteerAgent(ctx context.Context, name string, in Input) error
	StopAgent(ctx context.Context, name string) error

	// ReadBackground reads a background command's output from an offset, at most 64 KiB. A negative offset counts from the
	// end; the part then begins with the next line, if there is one. [view.State.Background] lists the commands.
	// StopBackground stops one and everything that it started, and tells the agent with its next model call.
	ReadBackground(ctx context.Context, id string, offset int64) (BackgroundOutput, error)
	StopBackground(ctx context.Context, id string) error

	// Commands lists the session's commands: its own, such as /model, and prompts, such as skills.
	Commands(ctx context.Context) ([]Command, error)
	// Run runs a line that begins with "/" as a command. It does not submit anything: if the result has an input, the
	// caller submits it. Submit runs commands too, but returns nothing of what they show. The error is an
	// *[UnknownCommandError] if there is no such command, and an *[UnavailableError] if it cannot be used now.
	Run(ctx context.Context, line string) (Result, error)
	// Complete completes a file path in the working directory, or the last word on a command line. With a *[PartialError],
	// the result lacks some files.
	Complete(ctx context.Context, c Completion) ([]string, error)

	// Close releases the handle. It ends a session in this process, and detaches from a session in another.
	Close() error
}

// Errors from a [Handle]. They are the same for all implementations.
var (
	ErrBusy              = errors.New("the session is working: wait, or interrupt it")
	ErrClosed            = errors.New("the session is closed")
	ErrAnswered          = errors.New("the question is not open any more: it was answered or withdrawn")
	ErrNothingToContinue = errors.New("nothing to continue: the session is finished")
)

// Info describes a session.
type Info struct {
	ID       string      `json:"id"`
	Dir      string      `json:"dir"`
	Title    string      `json:"title,omitempty"`
	Provider string      `json:"provider"`
	Model    string      `json:"model"`
	Effort   string      `json:"effort,omitempty"`
	Mode     policy.Mode `json:"mode"`
	State    event.State `json:"state"`
	Last     event.Seq   `json:"last"`             // the last record
	Window   int64       `json:"window,omitempty"` // of the model, in tokens; 0 is unknown
	Saved    bool        `json:"saved"`            // in a store, so that it can be resumed
}

// Input is a user message.
type Input struct {
	Text string `json:"text"`
	// Media are images and documents, in addition to the text.
	Media []Media `json:"media,omitempty"`
	// Plain submits a text that begins with "/" as it is.
	Plain bool `json:"plain,omitempty"`
}

// Media is an image or a document.
type Media struct {
	Type string `json:"type"` // such as image/png
	Data []byte `json:"data"`
	Name string `json:"name,omitempty"`
}

// Edit changes a waiting message.
type Edit struct {
	Seq  event.Seq `json:"seq"`            // of the message
	Text string    `json:"text,omitempty"` // "" keeps the text; images stay in any case
	Now  bool      `json:"now,omitempty"`  // the model reads it with its next call, instead of after the work
}

// Outcome is how work ended.
type Outcome struct {
	Status   event.Status  `json:"status,omitempty"` // "" if nothing was done
	Text     string        `json:"text,omitempty"`   // the model's last answer
	Object   string        `json:"object,omitempty"` // structured result as JSON, if one was requested
	Question string        `json:"question,omitempty"`
	Limit    event.Limit   `json:"limit,omitempty"`
	Rounds   int           `json:"rounds,omitempty"`
	Refused  []string      `json:"refused,omitempty"` // tool calls that were not allowed
	Duration time.Duration `json:"duration_ns,omitempty"`
	Error    string        `json:"error,omitempty"`
	Class    llm.ErrorKind `json:"class,omitempty"` // of the error

	err error
}

// Err returns the error that ended the work, or nil.
func (o Outcome) Err() error {
	switch {
	case o.err != nil || o.Error == "":
		return o.err
	case o.Class != "":
		return llm.Errorf(o.Class, "", "%s", o.Error)
	}
	return errors.New(o.Error)
}

// Settings are changes to session settings. Empty fields change nothing.
type Settings struct {
	Provider string      `json:"provider,omitempty"`
	Model    string      `json:"model,omitempty"`
	Effort   *string     `json:"effort,omitempty"` // "" is the provider's default
	Mode     policy.Mode `json:"mode,omitempty"`
	Title    *string     `json:"title,omitempty"` // "" removes it
}

// Agent describes one agent in the session.
type Agent struct {
	Path     string               `json:"path"` // "" is the main agent
	Name     string               `json:"name,omitempty"`
	Type     string               `json:"type,omitempty"`
	Task     string               `json:"task,omitempty"`
	Model    string               `json:"model"`
	Worktree string               `json:"worktree,omitempty"`
	State    event.State          `json:"state"`
	Status   event.SubagentStatus `json:"status,omitempty"`
	Turns    int                  `json:"turns"`
	Usage    llm.Usage            `json:"usage"`
	Pending  int                  `json:"pending,omitempty"` // tool calls that wait for an approval
}

// BackgroundOutput is a part of a background command's output.
type BackgroundOutput struct {
	Text    string `json:"text"`
	Next    int64  `json:"next"` // the offset at which the next part begins
	Size    int64  `json:"size"` // of the output so far
	Running bool   `json:"running,omitempty"`
}
