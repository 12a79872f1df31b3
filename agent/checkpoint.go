package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/event"
)

// Checkpoints saves and restores states of the workspace. Package coding implements it for a directory.
type Checkpoints interface {
	// Take saves the current state of the workspace.
	Take(ctx context.Context, label string) (id string, files int, err error)
	// Restore restores a state and returns the files that it changed, even if it fails.
	Restore(ctx context.Context, r Restore) (changed []string, err error)
}

// Restore is what to restore.
type Restore struct {
	ID    string   // of the state to restore
	Paths []string // the files and directories to restore; nil is all
	// Left lists the states in which the session left the workspace; empty means unknown. A file that matches
	// none of them was changed by others since. Checkpoints.Restore may restore it, keep it or refuse.
	Left []string
	// Begin is called with the ID of the current state, once that is saved and before anything changes. If it
	// fails, nothing changes.
	Begin func(before string) error
}

// checkpoint saves the state of the workspace before the first calls of an input that may change it,
// whichever agent makes them. A checkpoint that cannot be taken does not stop the work: a warning says that
// undo cannot restore the files.
func (s *Session) checkpoint(ctx context.Context, k *kit, calls []step.Call) {
	if s.config.Checkpoints == nil || !k.mayChange(calls) {
		return
	}
	s.tree.checkpoint.Lock()
	defer s.tree.checkpoint.Unlock()
	root, _ := s.find("")
	if _, settled := root.kept(); settled {
		return
	}
	id, files, err := s.config.Checkpoints.Take(ctx, root.id)
	switch {
	case err == nil:
		root.record(event.Checkpoint{ID: id, Dir: root.dir(), Files: files})
		return
	case ctx.Err() != nil:
		return
	}
	root.record(event.Checkpoint{Dir: root.dir(), Error: err.Error()})
	if !s.tree.warned {
		s.tree.warned = true
		root.record(event.Warning{Code: event.WarningNoCheckpoint, Message: fmt.Sprintf("No checkpoint taken, so undo cannot restore files: %v", err)})
	}
}

// checkpointAfter saves the state of the workspace after the work on an input that changed it, so that undo
// can tell its changes from those of others.
func (s *Session) checkpointAfter(ctx context.Context) {
	if s.depth > 0 || s.config.Checkpoints == nil {
		return
	}
	if kept, _ := s.kept(); !kept {
		return
	}
	if id, files, err := s.config.Checkpoints.Take(context.WithoutCancel(ctx), s.id); err == nil {
		s.record(event.Checkpoint{ID: id, After: true, Dir: s.dir(), Files: files})
	}
}

func (s *Session) kept() (kept, settled bool) {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return s.state.Kept()
}

// mayChange reports whether any of the calls may change the workspace.
func (k *kit) mayChange(calls []step.Call) bool {
	return slices.ContainsFunc(calls, func(c step.Call) bool {
		spec, ok := k.tools.Spec(c.Name)
		return ok && !spec.ReadOnly && spec.Role != roleAgent
	})
}
