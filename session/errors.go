package session

import (
	"errors"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/event"
)

// ErrUnchanged means that a session changed no files.
var ErrUnchanged = errors.New("the session changed no files")

// ErrUnsupported means that the store of a [Manager] lacks an ability.
var ErrUnsupported = errors.New("the session store does not support this")

// AmbiguousError means that a prefix matches several sessions.
type AmbiguousError struct {
	Name string   `json:"name"`
	IDs  []string `json:"ids"`
}

func (e *AmbiguousError) Error() string {
	const maximum = 8
	ids, more := e.IDs, ""
	if n := len(ids) - maximum; n > 0 {
		ids, more = ids[:maximum], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("session ID %q is ambiguous: it matches %s%s", e.Name, strings.Join(ids, ", "), more)
}

// NotFoundError means that there is no matching session. It is an [event.ErrNotFound].
type NotFoundError struct {
	Name  string   `json:"name,omitempty"`  // the ID or prefix, or Latest
	Dir   string   `json:"dir,omitempty"`   // the directory whose session was looked for, instead of Name
	Near  []string `json:"near,omitempty"`  // up to three similar IDs
	Empty bool     `json:"empty,omitempty"` // there are no sessions at all
}

func (e *NotFoundError) Error() string {
	switch {
	case e.Dir != "":
		return "no session for directory " + e.Dir
	case e.Name == Latest && e.Empty:
		return "no saved sessions"
	case e.Empty:
		return fmt.Sprintf("session %q not found: no saved sessions", e.Name)
	case len(e.Near) > 0:
		return fmt.Sprintf("session %q not found; did you mean %s?", e.Name, strings.Join(e.Near, " or "))
	}
	return fmt.Sprintf("session %q not found", e.Name)
}

// Is reports whether target is [event.ErrNotFound].
func (e *NotFoundError) Is(target error) bool { return target == event.ErrNotFound }

// RefError means that a reference to a record is invalid, or that a session has no such record.
type RefError struct {
	Ref     string    `json:"ref"`
	Session string    `json:"session,omitempty"` // the session, if it was found
	Seq     event.Seq `json:"seq,omitempty"`     // the record that it does not have
	Last    event.Seq `json:"last,omitempty"`    // its last record
}

func (e *RefError) Error() string {
	if e.Session == "" {
		return fmt.Sprintf("invalid reference %q: use ID or ID@SEQ", e.Ref)
	}
	return fmt.Sprintf("session %s has no record %d; the last is %d", e.Session, e.Seq, e.Last)
}

// StateError means that a saved state is invalid, or that a session has no such state.
type StateError struct {
	State   string    `json:"state"`
	Session string    `json:"session,omitempty"` // empty if the state is not valid in any session
	Input   event.Seq `json:"input,omitempty"`   // the record that State names
	Prompt  bool      `json:"prompt,omitempty"`  // the record is a prompt, but it changed no files
}

func (e *StateError) Error() string {
	switch {
	case e.Session == "":
		return fmt.Sprintf("invalid state %q: use a checkpoint or a prompt number", e.State)
	case e.Prompt:
		return fmt.Sprintf("prompt @%d changed no files, so it has no checkpoint", e.Input)
	}
	return fmt.Sprintf("record @%d of session %s is not a prompt", e.Input, e.Session)
}

// DirError means that a directory cannot be used.
type DirError struct {
	Session string `json:"session,omitempty"`
	Dir     string `json:"dir"` // "" if the session has none
	Err     error  `json:"-"`
}

func (e *DirError) Error() string {
	if e.Dir == "" {
		return "the session has no directory, so there are no files to restore"
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *DirError) Unwrap() error { return e.Err }

// TagError means that a tag is invalid.
type TagError struct {
	Tag string `json:"tag"`
}

func (e *TagError) Error() string {
	return fmt.Sprintf("invalid tag %q: use one word without commas", e.Tag)
}
