package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

type readManyIn struct {
	Paths []string `json:"paths" jsonschema:"paths of the files"`
	Limit int      `json:"limit,omitempty" jsonschema:"maximum number of lines to read of each file (default 2000)"`
}

const (
	maxMany       = 100     // maximum number of files per call
	maxManyOutput = 4 << 20 // maximum bytes of output, which also limits memory
)

func (f files) readManyFiles() tool.Tool {
	return tool.New(tool.Spec{
		Name:    "read_many_files",
		Version: "1.0.0",

		Description: "Read several text files at once. Each file is shown under a header with its path. A file that cannot be " +
			"read is reported in its place.",

		Permissions: []tool.Permission{tool.FSRead},
		ReadOnly:    true,
		Idempotent:  true,

		Output: payload("files integer", "failed integer"),

		Limit: tool.Limit{Chars: 50_000, Lines: -1, Mode: tool.HeadTail},
	}, func(ctx context.Context, c *tool.Call, in readManyIn) []policy.Access {
		var all []policy.Access
		for _, p := range in.Paths {
			all = append(all, touches(ctx, c, policy.Read, p))
		}
		return all
	}, f.readMany)
}

func (f files) readMany(ctx context.Context, c *tool.Call, in readManyIn) (tool.Result, error) {
	if len(in.Paths) == 0 || len(in.Paths) > maxMany {
		return tool.Failure(tool.ValidationError, "paths must list 1 to %d files, not %d.", maxMany, len(in.Paths)), nil
	}
	var b strings.Builder
	var res tool.Result
	var first *tool.Error
	bad := 0
	for _, p := range in.Paths {
		if err := ctx.Err(); err != nil {
			return tool.Result{}, err
		}
		one := tool.Failure(tool.TooLarge, "not read because the output limit was reached; read it separately.")
		if b.Len() < maxManyOutput {
			var err error
			if one, err = f.readShown(ctx, c, Read{Path: p, Limit: in.Limit}); err != nil {
				errors.As(err, &one.Error)
			}
		}
		fmt.Fprintf(&b, "==> %s <==\n", p)
		if one.Error != nil {
			bad++
			if first == nil {
				first = one.Error
			}
			fmt.Fprintf(&b, "[%s: %s]\n", one.Error.Code, one.Error.Message)
		}
		b.WriteString(tool.String(one.Output))
		res.Images = append(res.Images, one.Images...)
		b.WriteString("\n")
	}
	res.Output = tool.Text(b.String())
	res.Fields = map[string]any{"files": len(in.Paths), "failed": bad}
	if bad == len(in.Paths) {
		res.Error = tool.Errorf(first.Code, "None of the files could be read; the reasons are shown above.")
	}
	return res, nil
}
