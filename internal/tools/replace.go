package tools

import (
	"bytes"
	"context"

	"github.com/reins-agent/reins/internal/patch"
	"github.com/reins-agent/reins/tool"
)

// ReplaceFiles replaces the content of existing files: all of them or none. It fails if a file no longer has the
// content Before. Files that count as read still count as read afterwards.
func ReplaceFiles(ctx context.Context, c *tool.Call, config Config, changes []tool.Change) (Patched, error) {
	f, _ := newWorkers(config)
	return oneByOne(f, f.replace)(ctx, c, changes)
}

func (f files) replace(ctx context.Context, c *tool.Call, changes []tool.Change) (Patched, error) {
	var ops []patch.FileOp
	known := make(map[string]bool)
	for _, ch := range changes {
		now, err := f.read(ctx, c.Env, ch.Path)
		if err != nil {
			return Patched{}, failed(err, ch.Path)
		}
		if !bytes.Equal(now, ch.Before) {
			return Patched{}, tool.Errorf(
				tool.EditConflict,
				"%s was modified in the meantime, so nothing was written. Try again.", Show(c.Env, ch.Path),
			)
		}
		known[ch.Path] = f.unread(ctx, c.Env, ch.Path, now, nil) == nil
		ops = append(ops, patch.FileOp{Action: patch.Update, Path: ch.Path, Content: ch.After})
	}
	t := transaction{ctx: ctx, env: c.Env, files: f}
	if failure := t.carryOut(ops); failure != nil {
		failure.Message += " " + t.rollBack()
		return Patched{}, failure
	}
	for _, op := range ops {
		if known[op.Path] {
			f.saw(ctx, c.Env, op.Path, op.Content)
		}
	}
	done := Patched{Changes: t.done, Notes: t.finish()}
	done.Artifacts.FilesChanged = done.Paths()
	return done, nil
}
