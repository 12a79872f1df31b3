package checkpoint

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNotFound is wrapped by errors about a checkpoint that the store does not have.
var ErrNotFound = errors.New("no such checkpoint")

// TooLargeError says that a workspace is above the limits of a Config. Nothing was recorded.
type TooLargeError struct {
	Dir     string
	Setting string // the field of Config that sets the limit: "MaxBytes" or "MaxFiles"
	Limit   int64
	// Size is what the workspace has: bytes for MaxBytes. For MaxFiles counting stopped here.
	Size int64
}

func (e *TooLargeError) Error() string {
	if e.Setting == "MaxFiles" {
		return fmt.Sprintf("%s holds more than %d files, so no checkpoint was taken; ignore what need not be undone or raise MaxFiles", e.Dir, e.Limit)
	}
	return fmt.Sprintf("%s holds %d bytes, which is above the limit of %d, so no checkpoint was taken; ignore what need not be undone or raise MaxBytes", e.Dir, e.Size, e.Limit)
}

// DamagedError says that a file of the store is not what was written.
type DamagedError struct {
	File   string // in the store
	Reason string
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("the checkpoint store is damaged: %s: %s", e.File, e.Reason)
}

// PathError says what went wrong with one file of the workspace.
type PathError struct {
	Path string // relative to the workspace, with slashes
	Err  error
}

func (e PathError) Error() string { return e.Path + ": " + e.Err.Error() }

func (e PathError) Unwrap() error { return e.Err }

// IncompleteError says that Restore did not bring everything back. What it does not list was
// restored.
type IncompleteError struct {
	ID     ID
	Before ID // the checkpoint of the state before
	Failed []PathError
}

func (e *IncompleteError) Error() string {
	const shown = 3
	var list []string
	for _, f := range e.Failed[:min(shown, len(e.Failed))] {
		list = append(list, f.Error())
	}
	if more := len(e.Failed) - shown; more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	were := "files of checkpoint %s were"
	if len(e.Failed) == 1 {
		were = "file of checkpoint %s was"
	}
	return fmt.Sprintf("%d "+were+" not restored (%s); the state before is checkpoint %s", len(e.Failed), e.ID, strings.Join(list, "; "), e.Before)
}

// Unwrap gives the causes.
func (e *IncompleteError) Unwrap() []error {
	errs := make([]error, len(e.Failed))
	for i, f := range e.Failed {
		errs[i] = f
	}
	return errs
}
