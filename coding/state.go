package coding

import (
	"context"
	"fmt"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/home"
)

// checkpoints opens the checkpoints of a workspace for a session. Damage is only reported; new
// checkpoints are still taken if possible.
func (c *Config) checkpoints(ctx context.Context, state home.Dir, workspace string) agent.Checkpoints {
	store, err := state.OpenCheckpoints(workspace)
	if err != nil {
		return noCheckpoints{err}
	}
	if _, err := store.List(ctx); err != nil && ctx.Err() == nil && c.Warn != nil {
		c.Warn(fmt.Errorf("undo cannot restore some earlier checkpoints: %w; run \"reins sessions verify\" for details", err))
	}
	return Checkpoints{Store: store, Later: c.Later, Restored: c.Restored}
}

// noCheckpoints is used if the store cannot be opened. All its methods return the error.
type noCheckpoints struct{ err error }

func (n noCheckpoints) Take(context.Context, string) (string, int, error) { return "", 0, n.err }

func (n noCheckpoints) Restore(context.Context, agent.Restore) (agent.Restored, error) {
	return agent.Restored{}, n.err
}
