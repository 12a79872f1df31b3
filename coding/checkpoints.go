package coding

import (
	"context"
	"errors"
	"fmt"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/checkpoint"
)

// Checkpoints lets a session keep states of a directory, for its Undo.
type Checkpoints struct {
	*checkpoint.Store

	// Later is asked what becomes of files that others changed after the session had left them,
	// before anything is set back. checkpoint.Refuse, and a nil Later, leave everything as it is, and
	// Undo fails with the error.
	Later func(ctx context.Context, e *checkpoint.LaterError) (checkpoint.Later, error)

	// Restored, if set, is told what was set back.
	Restored func([]checkpoint.Change)
}

var _ agent.Checkpoints = Checkpoints{}

// Take keeps the state that the directory is in.
func (c Checkpoints) Take(ctx context.Context, label string) (id string, files int, err error) {
	taken, stats, err := c.Store.Take(ctx, label)
	return string(taken), stats.Files, err
}

// Restore sets the directory, or only some paths of it, back to a state.
func (c Checkpoints) Restore(ctx context.Context, r agent.Restore) (changed []string, err error) {
	o := checkpoint.RestoreOptions{
		Paths: r.Paths, Later: checkpoint.Refuse,
		Begin: func(before checkpoint.ID) error { return r.Begin(string(before)) },
	}
	for _, id := range r.Left {
		o.Left = append(o.Left, checkpoint.ID(id))
	}
	res, err := c.Store.Restore(ctx, checkpoint.ID(r.ID), o)
	var later *checkpoint.LaterError
	for c.Later != nil && errors.As(err, &later) {
		if err := c.decide(ctx, later, &o); err != nil {
			return nil, err
		}
		// What changed since it was asked about is asked about in turn.
		res, err = c.Store.Restore(ctx, checkpoint.ID(r.ID), o)
	}
	if c.Restored != nil {
		c.Restored(res.Changes)
	}
	for _, change := range res.Changes {
		if !change.Dir() {
			changed = append(changed, change.Path)
		}
	}
	return changed, err
}

// decide asks about files that others changed.
func (c Checkpoints) decide(ctx context.Context, later *checkpoint.LaterError, o *checkpoint.RestoreOptions) error {
	how, err := c.Later(ctx, later)
	switch {
	case err != nil:
		return err
	case how == checkpoint.Refuse:
		return later
	case how == checkpoint.Keep && later.Unknown:
		return fmt.Errorf("what others changed cannot be kept: %w", later)
	case how == checkpoint.Keep:
		o.Later = checkpoint.Keep
	}
	for _, change := range later.Changes {
		o.Allowed = append(o.Allowed, change.Path)
	}
	return nil
}
