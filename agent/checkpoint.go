package agent

import (
	"context"
	"fmt"
	"sync"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// Checkpoints keep states of the workspace. Package coding has them for a directory.
type Checkpoints interface {
	// Take keeps the state that the workspace is in.
	Take(ctx context.Context, label string) (id string, files int, err error)
	// Restore sets the workspace, or only some paths of it, back to a state, and tells what it
	// changed, also if it fails. It keeps the state that the workspace is in first and calls begin
	// with its id before it changes anything, and only if begin gives no error.
	Restore(ctx context.Context, id string, paths []string, begin func(before string) error) (changed []string, err error)
}

// checkpoint keeps the state of the workspace before the first calls of an input that may change
// it. One that cannot be kept, because it is too large or the disk is full, is no reason not to
// work: it is said once that there will be no undo.
func (s *Session) checkpoint(ctx context.Context, calls []llm.ToolCall) {
	if s.config.Checkpoints == nil || !s.mayChange(calls) {
		return
	}
	c, root := &s.tree.checkpoint, s.tree.root
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken || root.past.kept() {
		return
	}
	c.taken = true
	id, files, err := s.config.Checkpoints.Take(ctx, root.id)
	switch {
	case err == nil:
		kept := event.Checkpoint{ID: id, Dir: root.dir(), Files: files}
		root.record(kept)
		root.past.checkpoint(kept)
	case !c.warned && ctx.Err() == nil:
		c.warned = true
		root.record(event.Warning{Message: fmt.Sprintf("The files as they are now were not kept, so that undo cannot bring them back: %v", err)})
	}
}

// checkpointer sees to it that there is one checkpoint for an input, whichever agent of the tree is
// the first to change something.
type checkpointer struct {
	mu     sync.Mutex
	taken  bool // for the input at hand
	warned bool
}

func (c *checkpointer) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken = false
}

// mayChange reports whether any of the calls may change the workspace.
func (s *Session) mayChange(calls []llm.ToolCall) bool {
	for _, c := range calls {
		spec, ok := s.tools.Spec(c.Name)
		if ok && !spec.ReadOnly && spec.Role != roleAgents {
			return true
		}
	}
	return false
}
