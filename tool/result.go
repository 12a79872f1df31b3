package tool

import (
	"fmt"
	"io"
	"strings"

	"github.com/reins-agent/reins/llm"
)

// Result is what came of a call.
type Result struct {
	// Output is the whole output, however large. The model sees it truncated.
	Output Output
	// Images are for the model to look at, beside the output.
	Images []llm.Image
	// Fields stand beside the output in the payload for programs, such as "exit_code".
	Fields map[string]any
	// Error is set if the call failed. There may be output all the same.
	Error     *Error
	Artifacts Artifacts
	// Notes are sentences for the model after the output and the error. They are not truncated.
	Notes []string
	// Limit bounds what the model sees of this output, where the call asked for other bounds than
	// those of its tool. The host's limits win over it.
	Limit Limit
	// Present writes what the model sees of the output, within the limit that applies. Nil is
	// [Truncate]. The output itself stays whole, for hosts.
	Present func(Output, Limit) (string, error)
}

// Artifacts are what a call left behind.
type Artifacts struct {
	FilesChanged []string `json:"files_changed,omitempty"`
	CommandsRun  []string `json:"commands_run,omitempty"`
}

// Code says what kind of failure an Error is. Codes do not change.
type Code string

// The codes of failed calls.
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
	PatchError       Code = "PatchError"
	ProcessNotFound  Code = "ProcessNotFound"
	TooLarge         Code = "TooLarge"
	UnsupportedMedia Code = "UnsupportedMedia"
)

// Error is a failure that the model can read and recover from.
type Error struct {
	Code    Code           `json:"code"`
	Message string         `json:"message"` // what was wrong, where, and what to do
	Details map[string]any `json:"details,omitempty"`
	// Shown says that the output tells of the failure already; the model is not told again.
	Shown bool `json:"-"`
}

func (e *Error) Error() string { return e.Message }

// present writes what the model sees of the output. A Present that panics is an error.
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

// Failure is a result that failed.
func Failure(code Code, format string, args ...any) Result {
	return Result{Error: &Error{Code: code, Message: fmt.Sprintf(format, args...)}}
}

// Success is a result with a text as its output.
func Success(format string, args ...any) Result {
	return Result{Output: Text(fmt.Sprintf(format, args...))}
}

// Output is text that may be too large to hold in memory.
type Output interface {
	Len() int64
	// Open reads the output from its start.
	Open() io.ReadCloser
}

// Text is an output that is held in memory.
type Text string

// Len is the number of bytes.
func (t Text) Len() int64 { return int64(len(t)) }

// Open reads the text.
func (t Text) Open() io.ReadCloser { return io.NopCloser(strings.NewReader(string(t))) }

// String reads an output whole. It is for outputs that are known to be small, and for tests.
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
