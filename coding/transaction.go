package coding

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/reins-agent/reins/coding/engine"
	"github.com/reins-agent/reins/coding/patch"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/tool"
)

// transaction carries out the operations of a patch so that they can be taken back. A file that is
// deleted is only moved aside until the end, so that taking back restores the file itself, with
// its owner and mode or as the link that it was.
type transaction struct {
	ctx   context.Context
	env   env.Environment
	files files

	undo  []func(context.Context) error // newest last
	aside []string
	done  []engine.Change
}

// carryOut does the operations in order and stops at the first that fails.
func (t *transaction) carryOut(ops []patch.FileOp) *tool.Error {
	for _, op := range ops {
		var err error
		var c engine.Change
		switch op := op.(type) {
		case patch.Create:
			c = engine.Change{Letter: 'A', Path: op.Path}
			if op.Replaces {
				c.Letter = 'M'
			}
			err = t.put(op.Path, op.Content, 0o644)
		case patch.Rewrite:
			c = engine.Change{Letter: 'M', Path: op.Path}
			err = t.put(op.Path, op.Content, 0o644)
		case patch.Rename:
			c = engine.Change{Letter: 'M', Path: op.To, From: op.From}
			err = t.move(op)
		case patch.Unlink:
			c = engine.Change{Letter: 'D', Path: op.Path}
			err = t.drop(op.Path)
		}
		if err != nil {
			return failed(err, c.Path).Error
		}
		t.done = append(t.done, c)
	}
	return nil
}

// put writes a file.
func (t *transaction) put(p string, data []byte, perm fs.FileMode) error {
	old, err := t.files.read(t.ctx, t.env, p)
	isNew := errors.Is(err, fs.ErrNotExist)
	if err != nil && !isNew {
		return err
	}
	if !isNew {
		t.onUndo(func(ctx context.Context) error { return t.env.WriteFile(ctx, p, old, perm) })
		return t.keepUndo(t.env.WriteFile(t.ctx, p, data, perm))
	}
	made := p
	if info, err := t.env.Lstat(t.ctx, p); err == nil && info.Mode&fs.ModeSymlink != 0 {
		// A link that leads to nothing yet: what is made is its target, and the link stays.
		if made, err = t.env.RealPath(t.ctx, p); err != nil {
			return err
		}
	}
	dirs := t.missingDirs(made)
	t.onUndo(func(ctx context.Context) error {
		err := t.env.Remove(ctx, made)
		for _, d := range dirs {
			err = errors.Join(err, t.env.Remove(ctx, d))
		}
		return err
	})
	return t.keepUndo(t.env.WriteFile(t.ctx, p, data, perm))
}

// missingDirs lists the parents of a path that do not exist, the deepest first.
func (t *transaction) missingDirs(p string) (missing []string) {
	paths := t.env.Info().Paths()
	for dir := paths.Dir(p); dir != paths.Dir(dir); dir = paths.Dir(dir) {
		if _, err := t.env.Lstat(t.ctx, dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		missing = append(missing, dir)
	}
	return missing
}

// move writes a file at its new path, with the mode it has, and removes the old one.
func (t *transaction) move(op patch.Rename) error {
	info, err := t.env.Stat(t.ctx, op.From)
	if err != nil {
		return err
	}
	if err := t.put(op.To, op.Content, info.Mode.Perm()); err != nil {
		return err
	}
	return t.drop(op.From)
}

// drop removes a file.
func (t *transaction) drop(p string) error {
	paths := t.env.Info().Paths()
	p = paths.Clean(p)
	aside := paths.Join(paths.Dir(p), ".reins-"+rand.Text()+".removed")
	t.onUndo(func(ctx context.Context) error { return t.env.Rename(ctx, aside, p) })
	if err := t.keepUndo(t.env.Rename(t.ctx, p, aside)); err != nil {
		return err
	}
	t.aside = append(t.aside, aside)
	return nil
}

func (t *transaction) onUndo(f func(context.Context) error) { t.undo = append(t.undo, f) }

// keepUndo forgets how to take back the last step if the step failed: it has changed nothing.
func (t *transaction) keepUndo(err error) error {
	if err != nil {
		t.undo = t.undo[:len(t.undo)-1]
	}
	return err
}

// takeBack undoes what was done and says how that went.
func (t *transaction) takeBack() string {
	// Taking back must not be stopped by the interruption that made it necessary.
	ctx := context.WithoutCancel(t.ctx)
	var errs []error
	for _, undo := range slices.Backward(t.undo) {
		if err := undo(ctx); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Sprintf("Of the changes before it, some could not be taken back: %s.", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return "Nothing was changed."
}

// finish removes what was moved aside, and tells of what could not be removed.
func (t *transaction) finish() (notes []string) {
	ctx := context.WithoutCancel(t.ctx)
	for _, p := range t.aside {
		if err := t.env.Remove(ctx, p); err != nil {
			notes = append(notes, fmt.Sprintf("Note: a deleted file is still there as %s: %v", p, reason(err)))
		}
	}
	return notes
}
