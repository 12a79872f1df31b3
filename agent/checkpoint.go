package agent

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/event"
)

// Checkpoints keep states of the workspace. Package coding has them for a directory.
type Checkpoints interface {
	// Take keeps the state that the workspace is in.
	Take(ctx context.Context, label string) (id string, files int, err error)
	// Restore restores the workspace to a state, and returns what it changed, also if it fails.
	Restore(ctx context.Context, r Restore) (changed []string, err error)
}

// Restore says what to restore.
type Restore struct {
	ID    string   // of the state to go back to
	Paths []string // the only files and directories to restore; nil is all
	// Left are states that the session itself left the workspace in. A file that is as in none of
	// them was changed by others since; whether it is restored too is for the Checkpoints to decide,
	// which may refuse. Without any it is not known.
	Left []string
	// Begin is called with the id of the present state, when that is kept and before anything is
	// changed. After an error nothing is.
	Begin func(before string) error
}

// checkpoint keeps the state of the workspace before the first calls of an input that may change
// it. One that cannot be kept, because it is too large or the disk is full, is no reason not to
// work: there is a warning that undo cannot restore the files.
func (s *Session) checkpoint(ctx context.Context, k *kit, calls []step.Call) {
	if s.config.Checkpoints == nil || !k.mayChange(calls) {
		return
	}
	c := &s.tree.checkpoint
	root, _ := s.find("")
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken || root.kept() {
		return
	}
	c.taken = true
	id, files, err := s.config.Checkpoints.Take(ctx, root.id)
	switch {
	case err == nil:
		root.record(event.Checkpoint{ID: id, Dir: root.dir(), Files: files})
		return
	case ctx.Err() != nil:
		return
	}
	root.record(event.Checkpoint{Dir: root.dir(), Error: err.Error()})
	if !c.warned {
		c.warned = true
		root.record(event.Warning{Code: event.WarningNoCheckpoint, Message: fmt.Sprintf("No checkpoint taken, so undo cannot restore files: %v", err)})
	}
}

// checkpointAfter keeps the state of the workspace when the work on an input is over, if that changed
// anything, so that undo can tell its changes from those of others.
func (s *Session) checkpointAfter(ctx context.Context) {
	if s.depth > 0 || s.config.Checkpoints == nil || !s.kept() {
		return
	}
	if id, files, err := s.config.Checkpoints.Take(context.WithoutCancel(ctx), s.id); err == nil {
		s.record(event.Checkpoint{ID: id, After: true, Dir: s.dir(), Files: files})
	}
}

// kept reports whether there is a checkpoint of the files before the last input.
func (s *Session) kept() bool {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return s.state.Kept()
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
func (k *kit) mayChange(calls []step.Call) bool {
	return slices.ContainsFunc(calls, func(c step.Call) bool {
		spec, ok := k.tools.Spec(c.Name)
		return ok && !spec.ReadOnly && spec.Role != roleAgent
	})
}
