package coding

import (
	"context"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/checkpoint"
)

// Checkpoints lets a session keep states of a directory, for its Undo.
type Checkpoints struct{ *checkpoint.Store }

var _ agent.Checkpoints = Checkpoints{}

// Take keeps the state that the directory is in.
func (c Checkpoints) Take(ctx context.Context, label string) (id string, files int, err error) {
	taken, stats, err := c.Store.Take(ctx, label)
	return string(taken), stats.Files, err
}

// Restore sets the directory, or only some paths of it, back to a state.
func (c Checkpoints) Restore(ctx context.Context, id string, paths []string, begin func(before string) error) (changed []string, err error) {
	r, err := c.Store.Restore(ctx, checkpoint.ID(id), func(before checkpoint.ID) error { return begin(string(before)) }, paths...)
	for _, change := range r.Changes {
		if !change.Dir() {
			changed = append(changed, change.Path)
		}
	}
	return changed, err
}
