package coding

import (
	"context"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/coding/textfile"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

type readIn struct {
	Path   string `json:"file_path" jsonschema:"path of the file, absolute or relative to the working directory"`
	Offset int    `json:"offset,omitempty" jsonschema:"line to start at, counted from 1"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many lines to read (default 2000)"`
}

const defaultLines = 2000

func (f files) readFile() tool.Tool {
	return tool.New(tool.Spec{
		Name: "read_file", Version: "1.0.0",
		Description: "Read a file from the filesystem. Returns line-numbered content. Images are shown to models that can see them; notebooks are shown cell by cell.",
		Permissions: []tool.Permission{tool.FSRead}, ReadOnly: true, Idempotent: true,
		Output: payload("total_lines integer", "encoding string", "line_ending string"),
		Limit:  tool.Limit{Chars: 50_000, Lines: -1, Mode: tool.HeadTail},
	}, func(ctx context.Context, c *tool.Call, in readIn) []policy.Access {
		return []policy.Access{touches(ctx, c, policy.Read, in.Path)}
	}, func(ctx context.Context, c *tool.Call, in readIn) (tool.Result, error) {
		return f.show(ctx, c, in), nil
	})
}

func (f files) show(ctx context.Context, c *tool.Call, in readIn) tool.Result {
	if in.Offset < 0 || in.Limit < 0 {
		return tool.Failure(tool.ValidationError, "offset and limit must not be negative; offset counts lines from 1.")
	}
	data, err := f.read(ctx, c.Env, in.Path)
	if err != nil {
		return failed(err, in.Path)
	}
	if kind := imageType(data); kind != "" {
		return showImage(c, in.Path, data, kind, "")
	}
	file, err := textfile.Decode(data)
	if err != nil {
		return tool.Failure(tool.BinaryFile, "%s is a binary file, or text in an unknown encoding: %v. Use shell with file, xxd or strings to look inside.", in.Path, err)
	}
	fields := map[string]any{"encoding": file.Encoding().String(), "line_ending": file.Endings().Dominant().String()}
	if extension(c.Env, in.Path) == ".ipynb" {
		if text, err := renderNotebook(file.Text()); err == nil {
			return page(in, []byte(text), fields)
		}
	}
	return page(in, file.Text(), fields)
}

// page numbers the lines that were asked for.
func page(in readIn, text []byte, fields map[string]any) tool.Result {
	lines := textfile.Lines(text)
	fields["total_lines"] = len(lines)
	if len(lines) == 0 {
		return tool.Result{Output: tool.Text("(the file is empty)"), Fields: fields}
	}
	first, count := max(in.Offset, 1), in.Limit
	if count == 0 {
		count = defaultLines
	}
	if first > len(lines) {
		res := tool.Failure(tool.ValidationError, "offset %d is behind the end of %s, which has %s.", first, in.Path, plural(len(lines), "line"))
		res.Fields = fields
		return res
	}
	last := first - 1 + min(count, len(lines)-first+1)
	var b strings.Builder
	for i, l := range lines[first-1 : last] {
		fmt.Fprintf(&b, "%d | %s\n", first+i, text[l.Start:l.End])
	}
	if last < len(lines) {
		fmt.Fprintf(&b, "[Lines %d to %d of %d are shown. Use offset=%d to go on.]\n", first, last, len(lines), last+1)
	}
	return tool.Result{Output: tool.Text(b.String()), Fields: fields}
}
