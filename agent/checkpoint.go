package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// Checkpoints keep states of the workspace. Package coding has them for a directory.
type Checkpoints interface {
	// Take keeps the state that the workspace is in.
	Take(ctx context.Context, label string) (id string, files int, err error)
	// Restore sets the workspace, or only some paths of it, back to a state, and gives the id of
	// the state that it was in, and the paths that it changed.
	Restore(ctx context.Context, id string, paths ...string) (before string, changed []string, err error)
}

// Errors of Undo and Redo.
var (
	ErrNothingToUndo = errors.New("there is nothing to undo")
	ErrNothingToRedo = errors.New("there is nothing to redo: only an undo can be taken back, as long as there was no input since")
)

var errNoCheckpoints = errors.New("the files cannot be set back: the session has no checkpoints")

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
		root.record(event.Checkpoint{ID: id, Files: files})
		root.past.checkpoint(id)
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

// Undone is what an undo or redo did.
type Undone struct {
	Input   event.Seq // the input that was taken back, or is there again
	Prompt  string    // its text
	Chat    bool      // the conversation was rewound
	Files   bool      // the files were set back
	Changed []string  // the files that this changed
}

// Undo takes the last input back that was not taken back yet: what was said since, what was done to
// the files of the workspace since, or both. Redo takes that back in turn. The log keeps everything.
// Subagents that are still at work are interrupted first.
func (s *Session) Undo(ctx context.Context, chat, files bool) (Undone, error) {
	return s.exclusively(ctx, func(ctx context.Context) (Undone, error) {
		if files && s.config.Checkpoints == nil {
			return Undone{}, errNoCheckpoints
		}
		in, chat, files, ok := s.past.last(chat, files)
		if !ok {
			return Undone{}, ErrNothingToUndo
		}
		s.agents.interrupt()
		return s.rewind(ctx, event.Rewind{Input: in.seq, Chat: chat, Files: files, Restored: in.checkpoint})
	})
}

// RestoreFiles sets some files or directories back to what they were before the last input that
// changed anything, if that was not undone. The conversation and all other files stay. Redo takes
// it back.
func (s *Session) RestoreFiles(ctx context.Context, paths ...string) (Undone, error) {
	return s.exclusively(ctx, func(ctx context.Context) (Undone, error) {
		switch {
		case s.config.Checkpoints == nil:
			return Undone{}, errNoCheckpoints
		case len(paths) == 0:
			return Undone{}, errors.New("no file can be set back: none was named")
		}
		in, _, _, ok := s.past.last(false, true)
		if !ok {
			return Undone{}, ErrNothingToUndo
		}
		s.agents.interrupt()
		return s.rewind(ctx, event.Rewind{Input: in.seq, Files: true, Restored: in.checkpoint, Paths: paths})
	})
}

// Redo takes the last undo back, as long as there was no input since.
func (s *Session) Redo(ctx context.Context) (Undone, error) {
	return s.exclusively(ctx, func(ctx context.Context) (Undone, error) {
		d, ok := s.past.redoable()
		switch {
		case !ok:
			return Undone{}, ErrNothingToRedo
		case d.Files && s.config.Checkpoints == nil:
			return Undone{}, errNoCheckpoints
		}
		s.agents.interrupt()
		return s.rewind(ctx, d)
	})
}

// rewind restores the files, if they are to be, and then takes the step in the conversation.
func (s *Session) rewind(ctx context.Context, d event.Rewind) (Undone, error) {
	var failure error
	out := Undone{Input: d.Input, Prompt: s.prompt(d.Input), Chat: d.Chat, Files: d.Files}
	if !d.Files {
		d.Restored = ""
	} else {
		var err error
		d.Before, out.Changed, err = s.config.Checkpoints.Restore(ctx, d.Restored, d.Paths...)
		if err != nil {
			err = fmt.Errorf("the files could not be set back: %w", err)
		}
		if d.Before == "" {
			return Undone{}, err
		}
		failure = err // but much may have been done, which Redo takes back
		s.tree.checkpoint.reset()
	}
	if d.Chat {
		s.abandon()
	}
	s.record(d)
	s.past.rewind(d, &s.m)
	if d.Chat {
		s.m.end(StatusDone)
		s.unfinished = false
	}
	return out, errors.Join(failure, s.keep(ctx))
}

// prompt is the text of an input.
func (s *Session) prompt(seq event.Seq) string {
	for _, r := range s.log.Records(seq - 1) {
		if d, ok := r.Data.(event.UserInput); ok && r.Seq == seq {
			return d.Message.Text()
		}
	}
	return ""
}

// exclusively does something that must not happen while there is other work. As long as the
// conversation stays, so does what the session waits for.
func (s *Session) exclusively(ctx context.Context, f func(context.Context) (Undone, error)) (out Undone, err error) {
	ctx, err = s.begin(ctx)
	if err != nil {
		return Undone{}, err
	}
	defer func() {
		if out.Chat {
			s.release(err)
			return
		}
		s.withdraw(err)
	}()
	return f(ctx)
}
