package tool

import (
	"fmt"
	"io"
	"strings"

	"github.com/reins-agent/reins/llm"
)

// Result is a call's result.
type Result struct {
	// Output is the complete output. The model sees it truncated.
	Output Output
	// Images are shown to the model in addition to the output.
	Images []llm.Image
	// Fields are values for programs, such as "exit_code".
	Fields map[string]any
	// Error is set if the call failed. There may still be output.
	Error     *Error
	Artifacts Artifacts
	// Notes are sentences for the model, shown after the output and the error and never truncated.
	Notes []string
	// Limit overrides the tool's limit for this output. The host's limits take precedence.
	Limit Limit
	// Present formats the output for the model, within the limit. It defaults to [Truncate]. A panic becomes an error
	// for the model.
	Present func(Output, Limit) (string, error)
}

// Artifacts lists what a call changed and ran.
type Artifacts struct {
	FilesChanged []string `json:"files_changed,omitempty"`
	FilesCreated []string `json:"files_created,omitempty"` // real paths that did not exist before
	// FilesSeen has hashes for files whose content the model now knows, if the tools keep them.
	FilesSeen   map[string]string `json:"files_seen,omitempty"`
	CommandsRun []string          `json:"commands_run,omitempty"`
	// Background is the ID of the command in CommandsRun if the call left it running.
	Background string `json:"background,omitempty"`
	// Wrote lists what the call changed in the workspace, if the session records that. Untraced is why the list is
	// incomplete.
	Wrote    []Wrote  `json:"wrote,omitempty"`
	Untraced Untraced `json:"untraced,omitempty"`
	Message  *Message `json:"message,omitempty"` // for the user
}

// Wrote is a change to a file, link or directory in the workspace. Before and After identify the old and new state, by
// kind, mode and content; "" means that nothing was there.
type Wrote struct {
	Path   string `json:"path"` // relative to the workspace, with slashes
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Command means that the change was found by comparing the workspace before and after a command. Unsure means that
	// the command does not name the path either, so that others may have made the change meanwhile.
	Command bool `json:"command,omitempty"`
	Unsure  bool `json:"unsure,omitempty"`
}

// Untraced is why a call's changes are not known.
type Untraced string

// Reasons.
const (
	UntracedBackground  Untraced = "background"  // background processes may still change files
	UntracedInterrupted Untraced = "interrupted" // the process was killed during the call
	UntracedFailed      Untraced = "failed"      // the workspace could not be read
	UntracedMany        Untraced = "many"        // too many changes to list
)

// Message is a message from the model to the user. Level is info, success, warning, error or progress.
type Message struct {
	Content  string   `json:"content"`
	Level    string   `json:"level,omitempty"`
	Title    string   `json:"title,omitempty"`
	Thought  string   `json:"thought,omitempty"` // why
	Evidence []string `json:"evidence,omitempty"`
}

// Code classifies an Error. Codes are stable.
type Code string

// Codes for failed calls.
const (
	FileNotFound     Code = "FileNotFound"
	EditConflict     Code = "EditConflict"
	ShellExitError   Code = "ShellExitError"
	ShellTimeout     Code = "ShellTimeout"
	PermissionDenied Code = "PermissionDenied"
	ValidationError  Code = "ValidationError"
	UnknownTool      Code = "UnknownTool"

	AlreadyExists    Code = "AlreadyExists"
	BinaryFile       Code = "BinaryFile"
	Cancelled        Code = "Cancelled"
	InternalError    Code = "InternalError"
	InvalidPattern   Code = "InvalidPattern"
	IOError          Code = "IOError"
	NotAFile         Code = "NotAFile"
	NotADirectory    Code = "NotADirectory"
	NotRead          Code = "NotRead" // the call would change a file that the model has not read
	PatchError       Code = "PatchError"
	ProcessNotFound  Code = "ProcessNotFound"
	TooLarge         Code = "TooLarge"
	UnsupportedMedia Code = "UnsupportedMedia"
	VersionMismatch  Code = "VersionMismatch"
)

// Error is a failure that the model can read and recover from.
type Error struct {
	Code    Code           `json:"code"`
	Message string         `json:"message"` // what was wrong, where, and what to do
	Details map[string]any `json:"details,omitempty"`
	// Shown means that the output already reports the failure, so the message is not repeated.
	Shown bool `json:"-"`
}

func (e *Error) Error() string { return e.Message }

// Errorf returns an Error with a formatted message.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// present returns the output for the model. A panic in Present becomes an error.
func (r Result) present(l Limit) (text string, err error) {
	if r.Present == nil {
		return Truncate(r.Output, l)
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("presenting it panicked: %v", v)
		}
	}()
	return r.Present(r.Output, l)
}

// Failure returns the result for a failed call.
func Failure(code Code, format string, args ...any) Result {
	return Result{Error: Errorf(code, format, args...)}
}

// Success returns a result with the formatted text as its output.
func Success(format string, args ...any) Result {
	return Result{Output: Text(fmt.Sprintf(format, args...))}
}

// Output is text that may be too large to hold in memory.
type Output interface {
	Len() int64
	// Open returns a reader over the whole output.
	Open() io.ReadCloser
}

// Text is an output held in memory.
type Text string

// Len returns the length in bytes.
func (t Text) Len() int64 { return int64(len(t)) }

// Open returns a reader over the text.
func (t Text) Open() io.ReadCloser { return io.NopCloser(strings.NewReader(string(t))) }

// String reads a whole output into memory. Use it only for small outputs and in tests.
func String(o Output) string {
	switch o := o.(type) {
	case nil:
		return ""
	case Text:
		return string(o)
	}
	r := o.Open()
	defer r.Close()
	b, _ := io.ReadAll(r)
	return string(b)
}
