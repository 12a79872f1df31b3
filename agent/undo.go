package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/reins-agent/reins/event"
)

// Errors from Undo and Redo.
var (
	ErrNothingToUndo = errors.New("nothing to undo")
	ErrElsewhere     = errors.New("the checkpoint belongs to another directory")
	ErrFilesStay     = errors.New("files not restored: there is no checkpoint from before this prompt")
	ErrNothingToRedo = errors.New("nothing to redo: there was no undo since the last input")
)

var errNoCheckpoints = errors.New("the files cannot be restored: the session has no checkpoints")

// Undone is the result of an undo or redo.
type Undone struct {
	Input   event.Seq // input that was undone or redone
	Prompt  string    // its text
	Chat    bool      // the conversation was rewound
	Files   bool      // files were restored
	Partly  bool      // only some files were restored; the error explains why
	Changed []string  // files that changed
	Kept    []string  // files with changes by others, which were not undone
}

// Parts selects what to undo.
type Parts = event.Parts

// Undo undoes the last input that was not undone yet: the conversation since then, the changes to files in the
// workspace, or both. Redo reverts an undo. The log keeps everything. Subagents that are still working are interrupted
// first.
//
// If there is no checkpoint from before the input changed files, only the conversation is rewound, and the error wraps
// ErrFilesStay. Files that only others changed, such as the user or another session, are kept, whether they did so
// during the work or after it. Config.Checkpoints decides about files that both changed, and about files that a command
// may have changed; if it refuses, nothing changes.
//
// If Undo fails or is interrupted after it restored some files, the conversation stays unchanged. Another Undo
// continues, and Redo puts the files back.
func (s *Session) Undo(ctx context.Context, what Parts) (Undone, error) {
	return s.exclusively(ctx, func(ctx context.Context) (Undone, error) {
		if what.Files && s.config.Checkpoints == nil {
			return Undone{}, errNoCheckpoints
		}
		return s.rewind(ctx, ErrNothingToUndo, false, func() (event.Undoing, bool) { return s.state.Undo(what) })
	})
}

// RestoreFiles restores files and keeps the conversation: to a checkpoint or, with "", to the state before the last
// input that changed files and was not undone. It restores only the files and directories in paths. With a checkpoint,
// no paths means all. Redo reverts it. Config.Checkpoints decides about files that others changed.
func (s *Session) RestoreFiles(ctx context.Context, checkpoint string, paths ...string) (Undone, error) {
	return s.exclusively(ctx, func(ctx context.Context) (Undone, error) {
		if checkpoint == "" && len(paths) == 0 {
			return Undone{}, errors.New("no files were named to restore")
		}
		return s.rewind(ctx, ErrNothingToUndo, true, func() (event.Undoing, bool) {
			return s.state.RestoreFiles(checkpoint, s.dir(), paths)
		})
	})
}

// Redo reverts the last undo, unless there was input since.
func (s *Session) Redo(ctx context.Context) (Undone, error) {
	return s.exclusively(ctx, func(ctx context.Context) (Undone, error) {
		return s.rewind(ctx, ErrNothingToRedo, false, s.state.Redo)
	})
}

// rewind restores the files, if wanted, and then rewinds the conversation. ask means that files that only others
// changed are not kept silently.
func (s *Session) rewind(ctx context.Context, nothing error, ask bool, find func() (event.Undoing, bool)) (Undone, error) {
	r, ok := s.undoing(find)
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
	if r, _ = s.undoing(find); !d.Files { // including the subagents' writes
		d.Restored, d.Dir = "", ""
	} else if err := s.restoreFiles(ctx, &d, r, ask, &out); err != nil {
		return out, errors.Join(err, s.keep(ctx))
	}
	if d.Chat {
		s.abandon("it was undone")
	}
	s.record(d)
	return out, errors.Join(stay, s.keep(ctx))
}

func (s *Session) undoing(find func() (event.Undoing, bool)) (event.Undoing, bool) {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return find()
}

// restoreFiles restores the files. It records the start before they change, so that the restore can be continued or
// reverted after a crash.
func (s *Session) restoreFiles(ctx context.Context, d *event.Rewind, u event.Undoing, ask bool, out *Undone) (err error) {
	r, err := s.restoration(ctx, *d, u, ask)
	if err != nil {
		*out = Undone{}
		return err
	}
	begun := false
	r.Begin = func(before string, touched []string) error {
		s.tree.mu.Lock()
		if d.Traced = u.Traced; u.Traced {
			d.Touched = touched
		}
		*d, begun = s.state.Resuming(*d, before), true
		s.note(event.RewindStart{Rewind: *d})
		s.tree.mu.Unlock()
		return s.log.Sync()
	}
	done, err := s.config.Checkpoints.Restore(ctx, r)
	out.Changed, out.Kept = done.Changed, done.Kept
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
		return fmt.Errorf("not all files could be restored: %w; %s continues, %s reverts", err, on, back)
	}
	return nil
}

// restoration returns the restore of the files for a rewind.
func (s *Session) restoration(ctx context.Context, d event.Rewind, u event.Undoing, ask bool) (Restore, error) {
	switch {
	case s.config.Checkpoints == nil:
		return Restore{}, errNoCheckpoints
	case d.Dir != "" && d.Dir != s.dir():
		return Restore{}, fmt.Errorf("%w: %s, not %s", ErrElsewhere, d.Dir, s.dir())
	}
	if s.config.Store != nil {
		u.Disclaim(ctx, s.config.Store, s.id, s.dir(), s.recorded(u.Since), s.config.Env.Info().Paths())
	}
	return Restore{
		ID:      d.Restored,
		Paths:   d.Paths,
		Left:    u.Left,
		Traced:  u.Traced,
		Wrote:   u.Wrote,
		Touched: u.Touched,
		Ask:     ask || u.Untraced != "",
	}, nil
}

func (s *Session) dir() string { return s.config.Env.Info().Dir }

// prompt returns an input's text.
func (s *Session) prompt(seq event.Seq) string {
	for _, r := range s.log.Records(seq - 1) {
		if d, ok := r.Data.(event.UserInput); ok && r.Seq == seq {
			return d.Message.Text()
		}
	}
	return ""
}

// exclusively calls f while no other work runs.
func (s *Session) exclusively(ctx context.Context, f func(context.Context) (Undone, error)) (out Undone, err error) {
	ctx, err = s.begin(ctx)
	if err != nil {
		return Undone{}, err
	}
	defer func() { s.release(Outcome{}, err) }()
	return f(ctx)
}
