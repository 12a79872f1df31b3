package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/reins-agent/reins/event"
)

// Errors of Undo and Redo.
var (
	ErrNothingToUndo = errors.New("there is nothing to undo")
	ErrElsewhere     = errors.New("the files are not where the session works now")
	ErrFilesStay     = errors.New("the files stay as they are: their state before this prompt could not be kept")
	ErrNothingToRedo = errors.New("there is nothing to redo: only an undo can be taken back, as long as there was no input since")
)

var errNoCheckpoints = errors.New("the files cannot be set back: the session has no checkpoints")

// Undone is what an undo or redo did.
type Undone struct {
	Input   event.Seq // the input that was taken back, or is there again
	Prompt  string    // its text
	Chat    bool      // the conversation was rewound
	Files   bool      // the files were set back
	Partly  bool      // but not all of them, and there is an error that says why
	Changed []string  // the files that this changed
}

// Undo takes the last input back that was not taken back yet: what was said since, what was done to
// the files of the workspace since, or both. Redo takes that back in turn. The log keeps everything.
// Subagents that are still at work are interrupted first.
//
// If the files could not be kept when the input began to change them, only the conversation is taken
// back, and the error wraps ErrFilesStay. What others changed since the work on the input ended is
// for Config.Checkpoints to decide on; if they refuse, nothing is done.
//
// If it fails or is cut off when some files are set back already, the conversation stays. Undo then
// goes on with it, and Redo brings back how it was.
func (s *Session) Undo(ctx context.Context, chat, files bool) (Undone, error) {
	return s.exclusively(ctx, func(ctx context.Context) (Undone, error) {
		if files && s.config.Checkpoints == nil {
			return Undone{}, errNoCheckpoints
		}
		if d, left, ok := s.past.unfinished(true); ok && files {
			return s.rewind(ctx, d, left)
		}
		if d, left, ok := s.past.resumes(chat); ok && files {
			return s.rewind(ctx, d, left)
		}
		return s.undoLast(ctx, chat, files)
	})
}

// undoLast takes the last input back, as far as it can be.
func (s *Session) undoLast(ctx context.Context, chat, files bool) (Undone, error) {
	in, chat, kept, ok := s.past.last(chat, files)
	if !ok {
		return Undone{}, ErrNothingToUndo
	}
	var stay error
	if files && !kept && in.unkept != "" {
		stay = fmt.Errorf("%w: %s", ErrFilesStay, in.unkept)
	}
	if !chat && !kept {
		return Undone{}, stay
	}
	out, err := s.rewind(ctx, event.Rewind{Input: in.seq, Chat: chat, Files: kept, Restored: in.checkpoint, Dir: in.dir}, in.left)
	return out, errors.Join(err, stay)
}

// RestoreFiles sets files back and leaves the conversation as it is: to a checkpoint, or with "" to
// what they were before the last input that changed anything, if that was not undone. Paths are
// the only files and directories that are set back; for a checkpoint there may be none, which is
// all. Redo takes it back.
func (s *Session) RestoreFiles(ctx context.Context, checkpoint string, paths ...string) (Undone, error) {
	return s.exclusively(ctx, func(ctx context.Context) (Undone, error) {
		if checkpoint == "" && len(paths) == 0 {
			return Undone{}, errors.New("no file can be set back: none was named")
		}
		in, left, ok := s.past.latest(checkpoint == "")
		if !ok {
			return Undone{}, ErrNothingToUndo
		}
		d := event.Rewind{Input: in.seq, Files: true, Restored: in.checkpoint, Dir: in.dir, Paths: paths}
		if checkpoint != "" {
			d.Restored, d.Dir = checkpoint, s.dir()
		}
		return s.rewind(ctx, d, left)
	})
}

// Redo takes the last undo back, as long as there was no input since.
func (s *Session) Redo(ctx context.Context) (Undone, error) {
	return s.exclusively(ctx, func(ctx context.Context) (Undone, error) {
		d, left, ok := s.past.unfinished(false)
		if !ok {
			d, left, ok = s.past.redoable()
		}
		if !ok {
			return Undone{}, ErrNothingToRedo
		}
		return s.rewind(ctx, d, left)
	})
}

// rewind restores the files, if they are to be, and then takes the step in the conversation.
func (s *Session) rewind(ctx context.Context, d event.Rewind, left []string) (Undone, error) {
	out := Undone{Input: d.Input, Prompt: s.prompt(d.Input), Chat: d.Chat, Files: d.Files}
	s.agents.interrupt()
	if !d.Files {
		d.Restored, d.Dir = "", ""
	} else if err := s.restoreFiles(ctx, &d, left, &out); err != nil {
		return out, errors.Join(err, s.keep(ctx))
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
	return out, s.keep(ctx)
}

// restoreFiles sets the files back. The log knows of it before they change, so that whatever happens
// then, there is a way back and a way on.
func (s *Session) restoreFiles(ctx context.Context, d *event.Rewind, left []string, out *Undone) (err error) {
	switch {
	case s.config.Checkpoints == nil:
		*out = Undone{}
		return errNoCheckpoints
	case d.Dir != "" && d.Dir != s.dir():
		*out = Undone{}
		return fmt.Errorf("%w: they are in %s, and not in %s", ErrElsewhere, d.Dir, s.dir())
	}
	begun := false
	out.Changed, err = s.config.Checkpoints.Restore(ctx, Restore{ID: d.Restored, Paths: d.Paths, Left: left, Begin: func(before string) error {
		d.Before, begun = before, true
		s.past.start(d)
		s.record(event.RewindStart{Rewind: *d})
		return s.log.Sync()
	}})
	switch {
	case err != nil && !begun:
		*out = Undone{}
		return fmt.Errorf("the files could not be set back: %w", err)
	case err != nil:
		out.Chat, out.Partly = false, true
		on, back := "undo", "redo"
		if d.Redo {
			on, back = back, on
		}
		return fmt.Errorf("not all files could be set back: %w; %s goes on with it, and %s brings back how it was", err, on, back)
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
