package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/tool"
)

// Checkpoints saves and restores states of the workspace. Package coding implements it for a directory. It may also be a
// [Tracer].
type Checkpoints interface {
	// Take saves the current state of the workspace.
	Take(ctx context.Context, label string) (id string, files int, err error)
	// Restore restores a state and returns what it did, even if it fails.
	Restore(ctx context.Context, r Restore) (Restored, error)
}

// Tracer tells what a tool call changes in the workspace, so that undo takes back only that.
type Tracer interface {
	// Trace is called before a call that may change the workspace runs, and the returned function after it. That
	// returns what the call wrote, and why there may be more.
	Trace(ctx context.Context, call tool.Call) func(context.Context, tool.Result) ([]tool.Wrote, tool.Untraced)
}

// Restore is what to restore.
type Restore struct {
	ID    string   // of the state to restore
	Paths []string // the files and directories to restore; nil is all

	// Traced means that it is known what the session changed: Wrote or, to revert a restore, Touched, which it left
	// as in one of the states in Left. What only others changed is kept or, if Ask is set, treated like what both
	// changed: Checkpoints.Restore may restore it, keep it or refuse.
	Traced  bool
	Wrote   map[string]event.Wrote
	Touched []string
	Ask     bool

	// Left lists the states in which the session left the workspace; empty means unknown. Without Traced, a file that
	// matches none of them was changed by others since. Checkpoints.Restore may restore it, keep it or refuse.
	Left []string
	// Begin is called with the ID of the current state and the paths that will change, once that state is saved
	// and before anything changes. If it fails, nothing changes.
	Begin func(before string, touched []string) error
}

// Restored is what a restore did.
type Restored struct {
	Changed []string // the files that it changed
	Kept    []string // the files that it did not change, because others made the changes
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
		_, traced := s.config.Checkpoints.(Tracer)
		root.record(event.Checkpoint{ID: id, Dir: root.dir(), Files: files, Traced: traced})
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
		return ok && changes(spec)
	})
}

// changes reports whether a tool may change the workspace itself.
func changes(spec tool.Spec) bool { return !spec.ReadOnly && spec.Role != roleAgent }
