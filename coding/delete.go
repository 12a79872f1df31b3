package coding

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
		Name: "delete_file", Version: "1.0.0",
		Description: "Delete one file. Directories are not deleted, and of a symbolic link only the link is.",
		Permissions: []tool.Permission{tool.FSDelete}, SideEffects: "deletes a file", Destructive: true,
		Output: payload(),
	}, func(ctx context.Context, c *tool.Call, in deleteIn) []policy.Access {
		return []policy.Access{{Kind: policy.Delete, Target: linkPath(ctx, c.Env, in.Path)}}
	}, oneByOne(f, func(ctx context.Context, c *tool.Call, in deleteIn) (tool.Result, error) {
		if failure := deletable(ctx, c.Env, in.Path); failure != nil {
			return tool.Result{Error: failure}, nil
		}
		if err := c.Env.Remove(ctx, in.Path); err != nil {
			return failed(err, in.Path), nil
		}
		res := tool.Success("Deleted %s.", show(c.Env, in.Path))
		res.Artifacts.FilesChanged = []string{in.Path}
		return res, nil
	}))
	return tool.WithPreview(t, f.previewDelete)
}

// deletable says why there is no file to delete at a path.
func deletable(ctx context.Context, e env.Environment, p string) *tool.Error {
	info, err := e.Lstat(ctx, p)
	switch {
	case err != nil:
		return failed(err, p).Error
	case info.IsDir():
		return tool.Failure(tool.NotAFile, "%s is a directory; this tool deletes files only.", p).Error
	}
	if err := mustBeFile(e, info, p); err != nil {
		return failed(err, p).Error
	}
	return nil
}
