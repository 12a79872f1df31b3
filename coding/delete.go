package coding

import (
	"context"

	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

type deleteIn struct {
	Path string `json:"path" jsonschema:"path of the file"`
}

func (f files) deleteFile() tool.Tool {
	return tool.New(tool.Spec{
		Name: "delete_file", Version: "1.0.0",
		Description: "Delete one file. Directories are not deleted, and of a symbolic link only the link is.",
		Permissions: []tool.Permission{tool.FSDelete}, SideEffects: "deletes a file", Destructive: true,
		Output: payload(),
	}, func(ctx context.Context, c *tool.Call, in deleteIn) []policy.Access {
		return []policy.Access{{Kind: policy.Delete, Target: linkPath(ctx, c.Env, in.Path)}}
	}, oneByOne(f, func(ctx context.Context, c *tool.Call, in deleteIn) (tool.Result, error) {
		info, err := c.Env.Lstat(ctx, in.Path)
		if err != nil {
			return failed(err, in.Path), nil
		}
		if info.IsDir() {
			return tool.Failure(tool.NotAFile, "%s is a directory; this tool deletes files only.", in.Path), nil
		}
		if err := mustBeFile(c.Env, info, in.Path); err != nil {
			return failed(err, in.Path), nil
		}
		if err := c.Env.Remove(ctx, in.Path); err != nil {
			return failed(err, in.Path), nil
		}
		res := tool.Success("Deleted %s.", show(c.Env, in.Path))
		res.Artifacts.FilesChanged = []string{in.Path}
		return res, nil
	}))
}
