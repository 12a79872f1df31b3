package coding

import (
	"context"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

type readManyIn struct {
	Paths []string `json:"paths" jsonschema:"paths of the files"`
	Limit int      `json:"limit,omitempty" jsonschema:"how many lines to read of each (default 2000)"`
}

// maxMany bounds the files of one call, and maxManyOutput the output and so the memory it takes.
const (
	maxMany       = 100
	maxManyOutput = 4 << 20
)

func (f files) readManyFiles() tool.Tool {
	return tool.New(tool.Spec{
		Name: "read_many_files", Version: "1.0.0",
		Description: "Read several text files at once. Each is shown under a header with its path; a file that cannot be read is reported in its place.",
		Permissions: []tool.Permission{tool.FSRead}, ReadOnly: true, Idempotent: true,
		Output: payload("files integer", "failed integer"),
		Limit:  tool.Limit{Chars: 50_000, Lines: -1, Mode: tool.HeadTail},
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
		return tool.Failure(tool.ValidationError, "paths must name 1 to %d files; it names %d.", maxMany, len(in.Paths)), nil
	}
	var b strings.Builder
	var res tool.Result
	var first *tool.Error
	bad := 0
	for _, p := range in.Paths {
		if err := ctx.Err(); err != nil {
			return tool.Result{}, err
		}
		one := tool.Failure(tool.TooLarge, "not read, the output is full; read it on its own.")
		if b.Len() < maxManyOutput {
			var err error
			if one, err = presented(f.open, showPage)(ctx, c, readIn{Path: p, Limit: in.Limit}); err != nil {
				return one, err
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
		res.Error = &tool.Error{Code: first.Code, Message: "None of the files could be read; the reasons are shown above."}
	}
	return res, nil
}
