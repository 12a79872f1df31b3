package tools

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/internal/patch"
	"github.com/reins-agent/reins/tool"
)

// transaction performs the operations of a patch so that they can be rolled back. Until the end, a deleted file is only
// renamed, so that a rollback restores it with its owner and mode, even if it is a link.
type transaction struct {
	ctx   context.Context
	env   env.Environment
	files files

	undo  []func(context.Context) error // newest last
	aside []string
	done  []patch.FileOp
}

// carryOut runs the operations in order and stops at the first failure.
func (t *transaction) carryOut(ops []patch.FileOp) *tool.Error {
	for _, op := range ops {
		var err error
		switch {
		case op.Action == patch.Delete:
			err = t.drop(op.Path)
		case op.From != "":
			err = t.move(op)
		default:
			err = t.put(op.Path, op.Content, 0o644)
		}
		if err != nil {
			return failed(err, op.Path)
		}
		t.done = append(t.done, op)
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
		// A dangling link: the write creates its target and keeps the link.
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

// missingDirs lists the parents of a path that do not exist, deepest first.
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

// move writes a file at its new path with its mode and removes the old one.
func (t *transaction) move(op patch.FileOp) error {
	info, err := t.env.Stat(t.ctx, op.From)
	if err != nil {
		return err
	}
	if err := t.put(op.Path, op.Content, info.Mode.Perm()); err != nil {
		return err
	}
	return t.drop(op.From)
}

// drop removes a file by renaming it.
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

// keepUndo removes the last undo function if its step failed and thus changed nothing.
func (t *transaction) keepUndo(err error) error {
	if err != nil {
		t.undo = t.undo[:len(t.undo)-1]
	}
	return err
}

// rollBack undoes all changes and returns a sentence about the outcome.
func (t *transaction) rollBack() string {
	// The interruption that caused the rollback must not stop it.
	ctx := context.WithoutCancel(t.ctx)
	var errs []error
	for _, undo := range slices.Backward(t.undo) {
		if err := undo(ctx); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Sprintf("Some of the changes before it could not be undone: %s.", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return "Nothing was changed."
}

// finish deletes the renamed files and returns notes about those it cannot delete.
func (t *transaction) finish() (notes []string) {
	ctx := context.WithoutCancel(t.ctx)
	for _, p := range t.aside {
		if err := t.env.Remove(ctx, p); err != nil {
			notes = append(notes, fmt.Sprintf("Note: a deleted file still exists as %s: %v", p, reason(err)))
		}
	}
	return notes
}
