package checkpoint

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNotFound is wrapped by errors about a checkpoint that the store does not have.
var ErrNotFound = errors.New("no such checkpoint")

// ErrTooLarge is wrapped by errors about a workspace above its [Config] limits.
var ErrTooLarge = errors.New("workspace too large for a checkpoint")

// DamagedError reports a store file that is not as it was written.
type DamagedError struct {
	File   string // relative to the store
	Reason string
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("checkpoint store damaged: %s: %s", e.File, e.Reason)
}

func isDamage(err error) bool {
	damaged := (*DamagedError)(nil)
	return errors.As(err, &damaged)
}

// PathError reports a problem with one workspace file.
type PathError struct {
	Path string // relative to the workspace, with slashes
	Err  error
}

func (e PathError) Error() string { return e.Path + ": " + e.Err.Error() }

func (e PathError) Unwrap() error { return e.Err }

// IncompleteError reports paths that Restore could not restore. Everything else was restored.
type IncompleteError struct {
	ID     ID
	Before ID // checkpoint of the previous state
	Failed []PathError
}

func (e *IncompleteError) Error() string {
	var list []string
	for _, f := range e.Failed {
		list = append(list, f.Error())
	}
	return fmt.Sprintf(
		"restore of checkpoint %s is incomplete (%s); the state before is checkpoint %s",
		e.ID, abridge(list, "; "), e.Before,
	)
}

// Unwrap returns the causes.
func (e *IncompleteError) Unwrap() []error {
	var errs []error
	for _, f := range e.Failed {
		errs = append(errs, f)
	}
	return errs
}

// LaterError reports that restoring would undo changes that others made. Nothing was restored.
type LaterError struct {
	Changes []Change // what restoring would do to the files that others changed
	// Unsure lists files that perhaps only others changed. It is set only by traced restores.
	Unsure []string
	// Unknown is set if none of the states in which the caller left the workspace can be read. Changes then lists
	// everything that restoring would do.
	Unknown bool
}

func (e *LaterError) Error() string {
	var names []string
	for _, c := range e.Changes {
		names = append(names, c.Path)
	}
	if len(e.Unsure) > 0 {
		return "nothing restored: others changed these files, or may have: " + abridge(names, ", ")
	}
	if e.Unknown {
		return "nothing restored: these files may have been changed by others: " + abridge(names, ", ")
	}
	return "nothing restored: these files were changed by others too: " + abridge(names, ", ")
}

// abridge joins the first three elements and counts the others.
func abridge(list []string, sep string) string {
	const shown = 3
	if more := len(list) - shown; more > 0 {
		list = append(list[:shown:shown], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, sep)
}
