package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/tool"
)

// Checkpoints saves and restores workspace states, for [Session.Undo]. Package coding implements it for a directory. An
// implementation may also be a [Tracer]. The session never calls it concurrently for one workspace, but several
// sessions may share a workspace.
type Checkpoints interface {
	// Take saves the current state of the workspace.
	Take(ctx context.Context, label string) (id string, files int, err error)
	// Restore restores a state and returns what it did, even if it fails.
	Restore(ctx context.Context, r Restore) (Restored, error)
}

// Tracer finds out what a tool call changes in the workspace, so that undo reverts only that.
type Tracer interface {
	// Trace is called before a call that may change the workspace runs, and the returned function after it. That
	// function returns what the call wrote, and why there may be more. Trace may be called concurrently.
	Trace(ctx context.Context, call tool.Call) func(context.Context, tool.Result) ([]tool.Wrote, tool.Untraced)
}

// Restore describes a restore.
type Restore struct {
	ID    string   // state to restore
	Paths []string // files and directories to restore; nil means all

	// Traced means that the session's own changes are known: Wrote or, to revert a restore, Touched, which it left in
	// one of the states in Left. Files that only others changed are kept or, if Ask is set, treated like files that
	// both changed: Checkpoints.Restore may restore them, keep them or refuse.
	Traced  bool
	Wrote   map[string]event.Wrote
	Touched []string
	Ask     bool

	// Left lists the states in which the session left the workspace; empty means unknown. Without Traced, a file that
	// matches none of them has since been changed by others. Checkpoints.Restore may restore it, keep it or refuse.
	Left []string
	// Begin is called with the current state's ID and the paths that will change, once that state is saved and before
	// anything changes. If it fails, nothing changes.
	Begin func(before string, touched []string) error
}

// Restored is the result of a restore.
type Restored struct {
	Changed []string // files that it changed
	Kept    []string // files that it kept, because others made the changes
}

// checkpoint saves the workspace state before the first calls for an input that may change it, whichever agent makes
// them. If taking a checkpoint fails, the work continues: a warning reports that undo cannot restore the files.
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
		root.record(
			event.Warning{
				Code:    event.WarningNoCheckpoint,
				Message: fmt.Sprintf("No checkpoint taken, so undo cannot restore files: %v", err),
			},
		)
	}
}

// checkpointAfter saves the workspace state after the work on an input that changed it, so that undo can tell its
// changes from changes by others.
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

// mayChange reports whether any call may change the workspace.
func (k *kit) mayChange(calls []step.Call) bool {
	return slices.ContainsFunc(calls, func(c step.Call) bool {
		spec, ok := k.tools.Spec(c.Name)
		return ok && changes(spec)
	})
}

// changes reports whether a tool may change the workspace itself.
func changes(spec tool.Spec) bool { return !spec.ReadOnly && spec.Role != roleAgent }
