package session

import (
	"context"
	"slices"

	"github.com/reins-agent/reins/checkpoint"
)

// ConflictError means that files to restore were changed by others too, or may have been. Nothing was changed.
type ConflictError struct {
	Session   string     `json:"session"`
	Conflicts []Conflict `json:"conflicts"`

	// Unknown means that it is not known what the agent changed, because its run was interrupted. Conflicts is then
	// everything that would change, and Keep is not possible.
	Unknown bool `json:"unknown,omitempty"`

	err *checkpoint.LaterError
}

func (e *ConflictError) Error() string { return e.later().Error() }

// Unwrap returns the [*checkpoint.LaterError].
func (e *ConflictError) Unwrap() error { return e.later() }

// later returns the cause, also of an error that was decoded from JSON.
func (e *ConflictError) later() *checkpoint.LaterError {
	if e.err != nil {
		return e.err
	}
	l := &checkpoint.LaterError{Unknown: e.Unknown}
	for _, c := range e.Conflicts {
		l.Changes = append(l.Changes, checkpoint.Change{Path: c.Path, Kind: c.Kind})
		if c.Unsure {
			l.Unsure = append(l.Unsure, c.Path)
		}
	}
	return l
}

// Conflict is a file that would be restored although others changed it too, or may have.
type Conflict struct {
	FileDiff      // what restoring it would change; without Diff after 1 MiB of differences
	Unsure   bool `json:"unsure,omitempty"` // perhaps only others changed it
}

// decide decides about files that others changed too, as the options say.
func (u *undoing) decide(ctx context.Context, e *checkpoint.LaterError) (checkpoint.Later, error) {
	listed := map[string]bool{}
	for _, path := range u.options.Overwrite {
		listed[path] = true
	}
	switch {
	case u.options.Others == Overwrite:
		return checkpoint.Overwrite, nil
	case u.options.Others == Keep && !e.Unknown:
		return checkpoint.Keep, nil
	case !slices.ContainsFunc(e.Changes, func(c checkpoint.Change) bool { return !listed[c.Path] }):
		return checkpoint.Overwrite, nil
	}
	conflicts, err := u.conflicts(ctx, e)
	if err != nil {
		return checkpoint.Refuse, err
	}
	return checkpoint.Refuse, &ConflictError{Session: u.session.ID, Conflicts: conflicts, Unknown: e.Unknown, err: e}
}

// conflicts returns the files to decide about, with their differences up to a limit.
func (u *undoing) conflicts(ctx context.Context, e *checkpoint.LaterError) ([]Conflict, error) {
	const maximum = 1 << 20
	var list []Conflict
	size := 0
	for _, c := range e.Changes {
		d := FileDiff{Change: Change{c.Path, c.Kind}}
		if size < maximum {
			var err error
			if d, err = d.compared(ctx, u.checkpoints, c, false); err != nil {
				return nil, err
			}
			size += len(d.Diff)
		}
		list = append(list, Conflict{FileDiff: d, Unsure: slices.Contains(e.Unsure, c.Path)})
	}
	return list, nil
}
