package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/reins-agent/reins/event"
)

// Errors of Undo and Redo.
var (
	ErrNothingToUndo = errors.New("nothing to undo")
	ErrElsewhere     = errors.New("the checkpoint belongs to another directory")
	ErrFilesStay     = errors.New("the files stay as they are: their state before this prompt could not be kept")
	ErrNothingToRedo = errors.New("nothing to redo: only an undo can be taken back, as long as there was no input since")
)

var errNoCheckpoints = errors.New("the files cannot be restored: the session has no checkpoints")

// Undone is what an undo or redo did.
type Undone struct {
	Input   event.Seq // the input that was taken back, or is there again
	Prompt  string    // its text
	Chat    bool      // the conversation was rewound
	Files   bool      // the files were restored
	Partly  bool      // but not all of them, and there is an error that says why
	Changed []string  // the files that this changed
}

// Parts says what of an input to undo.
type Parts = event.Parts

// Undo takes the last input back that was not taken back yet: what was said since, what was done to
// the files of the workspace since, or both. Redo takes that back in turn. The log keeps everything.
// Subagents that are still at work are interrupted first.
//
// If the files could not be kept before the input changed them, only the conversation is taken
// back, and the error wraps ErrFilesStay. What others changed since the work on the input ended is
// for Config.Checkpoints to decide on; if they refuse, nothing is done.
//
// If it fails or is interrupted when some files are restored already, the conversation stays. Undo then
// continues it, and Redo brings back how it was.
func (s *Session) Undo(ctx context.Context, what Parts) (Undone, error) {
	return s.exclusively(ctx, func(ctx context.Context) (Undone, error) {
		if what.Files && s.config.Checkpoints == nil {
			return Undone{}, errNoCheckpoints
		}
		return s.rewind(ctx, ErrNothingToUndo, func() (event.Undoing, bool) { return s.state.Undo(what) })
	})
}

// RestoreFiles restores files and leaves the conversation as it is: to a checkpoint, or with "" to
// what they were before the last input that changed anything, if that was not undone. Paths are
// the only files and directories that are restored; for a checkpoint there may be none, which is
// all. Redo takes it back.
func (s *Session) RestoreFiles(ctx context.Context, checkpoint string, paths ...string) (Undone, error) {
	return s.exclusively(ctx, func(ctx context.Context) (Undone, error) {
		if checkpoint == "" && len(paths) == 0 {
			return Undone{}, errors.New("no files were named to restore")
		}
		return s.rewind(ctx, ErrNothingToUndo, func() (event.Undoing, bool) { return s.state.RestoreFiles(checkpoint, s.dir(), paths) })
	})
}

// Redo takes the last undo back, as long as there was no input since.
func (s *Session) Redo(ctx context.Context) (Undone, error) {
	return s.exclusively(ctx, func(ctx context.Context) (Undone, error) {
		return s.rewind(ctx, ErrNothingToRedo, s.state.Redo)
	})
}

// rewind restores the files, if they are to be, and then takes the step in the conversation.
func (s *Session) rewind(ctx context.Context, nothing error, find func() (event.Undoing, bool)) (Undone, error) {
	s.tree.mu.Lock()
	r, ok := find()
	s.tree.mu.Unlock()
	var stay error
	switch {
	case !ok:
		return Undone{}, nothing
	case r.Unkept != "":
		stay = fmt.Errorf("%w: %s", ErrFilesStay, r.Unkept)
	}
	if !r.Chat && !r.Files {
		return Undone{}, stay
	}
	d, out := r.Rewind, Undone{Input: r.Input, Prompt: s.prompt(r.Input), Chat: r.Chat, Files: r.Files}
	s.abandonBelow()
	if !d.Files {
		d.Restored, d.Dir = "", ""
	} else if err := s.restoreFiles(ctx, &d, r.Left, &out); err != nil {
		return out, errors.Join(err, s.keep(ctx))
	}
	if d.Chat {
		s.abandon("it was undone")
	}
	s.record(d)
	return out, errors.Join(stay, s.keep(ctx))
}

// restoreFiles restores the files. The log knows of it before they change, so that whatever happens
// then, there is a way back and a way on.
func (s *Session) restoreFiles(ctx context.Context, d *event.Rewind, left []string, out *Undone) (err error) {
	switch {
	case s.config.Checkpoints == nil:
		*out = Undone{}
		return errNoCheckpoints
	case d.Dir != "" && d.Dir != s.dir():
		*out = Undone{}
		return fmt.Errorf("%w: %s, not %s", ErrElsewhere, d.Dir, s.dir())
	}
	begun := false
	out.Changed, err = s.config.Checkpoints.Restore(ctx, Restore{ID: d.Restored, Paths: d.Paths, Left: left, Begin: func(before string) error {
		s.tree.mu.Lock()
		*d, begun = s.state.Resuming(*d, before), true
		s.note(event.RewindStart{Rewind: *d})
		s.tree.mu.Unlock()
		return s.log.Sync()
	}})
	switch {
	case err != nil && !begun:
		*out = Undone{}
		return fmt.Errorf("the files could not be restored: %w", err)
	case err != nil:
		out.Chat, out.Partly = false, true
		on, back := "undo", "redo"
		if d.Redo {
			on, back = back, on
		}
		return fmt.Errorf("not all files could be restored: %w; %s continues, and %s brings back how it was", err, on, back)
	}
	s.tree.checkpoint.reset()
	return nil
}

// dir is where the session works.
func (s *Session) dir() string { return s.config.Env.Info().Dir }

// prompt is the text of an input.
func (s *Session) prompt(seq event.Seq) string {
	for _, r := range s.log.Records(seq - 1) {
		if d, ok := r.Data.(event.UserInput); ok && r.Seq == seq {
			return d.Message.Text()
		}
	}
	return ""
}

// exclusively does something that must not happen while there is other work.
func (s *Session) exclusively(ctx context.Context, f func(context.Context) (Undone, error)) (out Undone, err error) {
	ctx, err = s.begin(ctx)
	if err != nil {
		return Undone{}, err
	}
	defer func() { s.release(Outcome{}, err) }()
	return f(ctx)
}
