package tools

import (
	"context"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

type deleteIn struct {
	Path string `json:"path" jsonschema:"path of the file"`
}

func (f files) deleteFile() tool.Tool {
	t := tool.New(tool.Spec{
		Name:    "delete_file",
		Version: "1.0.0",

		Description: f.readFirst("Delete one file. Cannot delete directories. Deleting a symbolic link removes only the link."),

		Permissions: []tool.Permission{tool.FSDelete},
		SideEffects: "deletes a file",
		Destructive: true,

		Output: payload(),
	}, func(ctx context.Context, c *tool.Call, in deleteIn) []policy.Access {
		return []policy.Access{deletes(ctx, c.Env, in.Path)}
	}, oneByOne(f, func(ctx context.Context, c *tool.Call, in deleteIn) (tool.Result, error) {
		if err := f.deletable(ctx, c.Env, in.Path); err != nil {
			return tool.Result{}, err
		}
		if err := c.Env.Remove(ctx, in.Path); err != nil {
			return tool.Result{}, failed(err, in.Path)
		}
		res := tool.Success("Deleted %s.", Show(c.Env, in.Path))
		res.Artifacts.FilesChanged = []string{in.Path}
		return res, nil
	}))
	return tool.WithPreview(t, f.previewDelete)
}

// deletable returns an error if a path is not a file that can be deleted. Symbolic links need not be read first.
func (f files) deletable(ctx context.Context, e env.Environment, p string) error {
	info, err := e.Lstat(ctx, p)
	if err == nil && info.IsDir() {
		return tool.Errorf(tool.NotAFile, "%s is a directory; this tool deletes only files.", p)
	}
	if err == nil {
		err = mustBeFile(e, info, p)
	}
	if err != nil {
		return failed(err, p)
	}
	if !f.config.ReadBeforeWrite || !info.Mode.IsRegular() {
		return nil
	}
	content, err := f.read(ctx, e, p)
	return f.unread(ctx, e, p, content, err)
}

func (f files) previewDelete(ctx context.Context, c *tool.Call, in deleteIn) (tool.Preview, error) {
	if err := f.deletable(ctx, c.Env, in.Path); err != nil {
		return tool.Preview{}, err
	}
	before, err := f.content(ctx, c.Env, in.Path)
	if err != nil {
		return tool.Preview{}, failed(err, in.Path)
	}
	return tool.Preview{Changes: []tool.Change{{Path: linkPath(ctx, c.Env, in.Path), Before: before, Existed: true}}}, nil
}
