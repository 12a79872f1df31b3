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
	// Restore sets the workspace back to a state, and tells what it changed, also if it fails.
	Restore(ctx context.Context, r Restore) (changed []string, err error)
}

// Restore says what to set back.
type Restore struct {
	ID    string   // of the state to go back to
	Paths []string // the only files and directories to set back; nil is all
	// Left are states that the session itself left the workspace in. A file that is as in none of
	// them was changed by others since; whether it is set back too is for the Checkpoints to decide,
	// which may refuse. Without any it is not known.
	Left []string
	// Begin is called with the id of the state that the workspace is in, when that is kept and before
	// anything is changed. After an error nothing is.
	Begin func(before string) error
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
	kept := event.Checkpoint{ID: id, Dir: root.dir(), Files: files}
	if err != nil {
		if ctx.Err() != nil {
			return
		}
		kept = event.Checkpoint{Dir: root.dir(), Error: err.Error()}
	}
	root.record(kept)
	root.past.checkpoint(kept)
	if err != nil && !c.warned {
		c.warned = true
		root.record(event.Warning{Message: fmt.Sprintf("The files as they are now were not kept, so that undo cannot bring them back: %v", err)})
	}
}

// keepLeft keeps the state that the work on an input leaves, if it may have changed anything, so that
// undo can tell what others change later. Without it undo knows nothing of that, which is safe.
func (s *Session) keepLeft(ctx context.Context) {
	if s.depth > 0 || s.config.Checkpoints == nil || !s.past.kept() {
		return
	}
	id, files, err := s.config.Checkpoints.Take(context.WithoutCancel(ctx), s.id)
	if err != nil {
		return
	}
	left := event.Checkpoint{ID: id, Dir: s.dir(), Files: files, After: true}
	s.record(left)
	s.past.checkpoint(left)
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
		t, ok := s.tools.Get(c.Name)
		if !ok || t.Spec().ReadOnly {
			continue
		}
		if _, ours := t.(agentTool); !ours {
			return true
		}
	}
	return false
}
