package coding

import (
	"context"
	"errors"
	"fmt"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/checkpoint"
)

// Checkpoints lets a session snapshot a directory and restore it on Undo.
type Checkpoints struct {
	*checkpoint.Store

	// Later decides, before anything is restored, about files that others changed too, or may have changed. If it is
	// nil or returns checkpoint.Refuse, nothing changes and Undo returns the error.
	Later func(ctx context.Context, e *checkpoint.LaterError) (checkpoint.Later, error)

	// Restored, if set, is called with the restored files.
	Restored func([]checkpoint.Change)
}

var (
	_ agent.Checkpoints = Checkpoints{}
	_ agent.Tracer      = Checkpoints{}
)

// Take takes a checkpoint of the directory.
func (c Checkpoints) Take(ctx context.Context, label string) (id string, files int, err error) {
	taken, stats, err := c.Store.Take(ctx, label)
	return string(taken), stats.Files, err
}

// Restore restores the directory, or some of its paths, to a checkpoint.
func (c Checkpoints) Restore(ctx context.Context, r agent.Restore) (done agent.Restored, err error) {
	o := checkpoint.RestoreOptions{
		Paths:   r.Paths,
		Later:   checkpoint.Refuse,
		Traced:  r.Traced,
		Touched: r.Touched,
		Ask:     r.Ask,
		Begin:   func(before checkpoint.ID, touched []string) error { return r.Begin(string(before), touched) },
	}
	if r.Wrote != nil {
		o.Wrote = make(map[string]checkpoint.Write, len(r.Wrote))
	}
	for path, w := range r.Wrote {
		o.Wrote[path] = checkpoint.Write{
			Path:   path,
			Before: w.Before,
			After:  w.After,
			Shared: w.Shared,
			Unsure: w.Unsure,
		}
	}
	for _, id := range r.Left {
		o.Left = append(o.Left, checkpoint.ID(id))
	}
	res, err := c.Store.Restore(ctx, checkpoint.ID(r.ID), o)
	var later *checkpoint.LaterError
	for c.Later != nil && errors.As(err, &later) {
		if err := c.decide(ctx, later, &o); err != nil {
			return done, err
		}
		// Ask again about files that changed in the meantime.
		res, err = c.Store.Restore(ctx, checkpoint.ID(r.ID), o)
	}
	if c.Restored != nil {
		c.Restored(res.Changes)
	}
	for _, change := range res.Changes {
		if !change.Dir() {
			done.Changed = append(done.Changed, change.Path)
		}
	}
	for _, change := range res.Kept {
		done.Kept = append(done.Kept, change.Path)
	}
	return done, err
}

// decide asks about files that others changed too.
func (c Checkpoints) decide(ctx context.Context, later *checkpoint.LaterError, o *checkpoint.RestoreOptions) error {
	how, err := c.Later(ctx, later)
	switch {
	case err != nil:
		return err
	case how == checkpoint.Refuse:
		return later
	case how == checkpoint.Keep && later.Unknown:
		return fmt.Errorf("cannot keep later changes: %w", later)
	case how == checkpoint.Keep:
		o.Later = checkpoint.Keep
	}
	for _, change := range later.Changes {
		o.Allowed = append(o.Allowed, change.Path)
	}
	return nil
}
