package coding

import (
	"context"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/coding/engine"
	"github.com/reins-agent/reins/coding/textfile"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

type readIn = engine.Read

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
	}, presented(f.open, showPage))
}

// open reads the lines that were asked for, or an image.
func (f files) open(ctx context.Context, c *tool.Call, in readIn) (engine.Page, error) {
	var page engine.Page
	if in.Offset < 0 || in.Limit < 0 {
		return page, engine.Fail(tool.ValidationError, "offset and limit must not be negative; offset counts lines from 1.")
	}
	data, err := f.read(ctx, c.Env, in.Path)
	if err != nil {
		return page, failed(err, in.Path).Error
	}
	if kind := imageType(data); kind != "" {
		return imagePage(c, in.Path, data, kind, "")
	}
	file, err := textfile.Decode(data)
	if err != nil {
		return page, engine.Fail(tool.BinaryFile, "%s is a binary file, or text in an unknown encoding: %v. Look inside with a program such as file, xxd or strings.", in.Path, err)
	}
	page.Source, page.Encoding, page.Ending = data, file.Encoding().String(), file.Endings().Dominant().String()
	text := file.Text()
	if extension(c.Env, in.Path) == ".ipynb" {
		if cells, err := renderNotebook(text); err == nil {
			text, page.Notebook = []byte(cells), true
		}
	}
	spans := textfile.Lines(text)
	page.First, page.Total = max(in.Offset, 1), len(spans)
	count := in.Limit
	if count == 0 {
		count = defaultLines
	}
	from := min(page.First-1, page.Total)
	for _, l := range spans[from : from+min(count, page.Total-from)] {
		page.Lines = append(page.Lines, string(text[l.Start:l.End]))
	}
	return page, nil
}

// showPage presents a file as read_file does.
func showPage(in readIn, page engine.Page) tool.Result {
	var res tool.Result
	switch {
	case page.Image != nil:
		return showImage(in.Path, page)
	case page.Total == 0:
		res = tool.Success("(the file is empty)")
	case len(page.Lines) == 0:
		res = tool.Failure(tool.ValidationError, "offset %d is after the end of %s, which has %s.", page.First, in.Path, plural(page.Total, "line"))
	default:
		res.Output = tool.Text(numberLines(page))
	}
	res.Fields = page.Fields()
	return res
}

func numberLines(page engine.Page) string {
	var b strings.Builder
	for i, l := range page.Lines {
		fmt.Fprintf(&b, "%d | %s\n", page.First+i, l)
	}
	if page.Last() < page.Total {
		fmt.Fprintf(&b, "[Lines %d to %d of %d are shown. Use offset=%d to continue.]\n", page.First, page.Last(), page.Total, page.Last()+1)
	}
	return b.String()
}
