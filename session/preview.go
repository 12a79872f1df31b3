package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/checkpoint"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/event"
)

// errPreview stops a restore before it changes anything.
var errPreview = errors.New("this is only a preview")

// preview tells what a rewind would do, from the log and the files. It opens the session only for reading.
func (u *undoing) preview(ctx context.Context, w rewind, out *Undone) error {
	h, err := u.manager.history(ctx, u.session)
	if err != nil {
		return err
	}
	d, ok := w.find(event.Replay(h.records))
	if !ok {
		return w.nothing
	}
	if d.Unkept != "" {
		err = fmt.Errorf("%w: %s", agent.ErrFilesStay, d.Unkept)
	}
	if !d.Chat && !d.Files {
		return err
	}
	out.Input, out.Chat, out.Files = d.Input, d.Chat, d.Files
	if i := h.input(d.Input); i >= 0 {
		out.Prompt = h.inputs[i].Prompt
	}
	if !d.Files {
		return err
	}
	if info := u.env.Info(); d.Dir != "" && d.Dir != info.Dir {
		*out = Undone{Session: out.Session, Changed: []Change{}}
		return fmt.Errorf("%w: %s, not %s", agent.ErrElsewhere, d.Dir, info.Dir)
	}
	return errors.Join(err, u.previewFiles(ctx, h, d, w.ask, out))
}

// previewFiles tells which files a rewind would change.
func (u *undoing) previewFiles(ctx context.Context, h *history, d event.Undoing, ask bool, out *Undone) error {
	if i := h.input(d.Since); i >= 0 {
		info := u.env.Info()
		d.Disclaim(ctx, u.manager.Store, u.session.ID, info.Dir, h.inputs[i].Time, info.Paths())
	}
	var before checkpoint.ID
	touched := map[string]bool{}
	files := coding.Checkpoints{Store: u.checkpoints, Later: func(ctx context.Context, e *checkpoint.LaterError) (checkpoint.Later, error) {
		how, err := u.decide(ctx, e)
		if conflict, ok := errors.AsType[*ConflictError](err); ok {
			out.Conflicts, out.Unknown = conflict.Conflicts, conflict.Unknown
			return checkpoint.Overwrite, nil
		}
		return how, err
	}}
	done, err := files.Restore(ctx, agent.Restore{
		ID:      d.Restored,
		Paths:   d.Paths,
		Left:    d.Left,
		Traced:  d.Traced,
		Wrote:   d.Wrote,
		Touched: d.Touched,
		Ask:     ask || d.Untraced != "",
		Begin: func(id string, paths []string) error {
			before = checkpoint.ID(id)
			for _, p := range paths {
				touched[p] = true
			}
			return errPreview
		},
	})
	if !errors.Is(err, errPreview) {
		return fmt.Errorf("the files could not be restored: %w", err)
	}
	out.Kept = done.Kept
	for _, c := range out.Conflicts {
		delete(touched, c.Path)
	}
	changes, err := u.checkpoints.Diff(ctx, before, checkpoint.ID(d.Restored), d.Paths...)
	for _, c := range onlyFiles(changes) {
		if touched[c.Path] {
			out.Changed = append(out.Changed, Change{c.Path, c.Kind})
		}
	}
	return err
}
