package tools

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/internal/pdf"
	"github.com/reins-agent/reins/internal/textfile"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

const defaultLines = 2000

func (f files) readFile() Op[Read, Page] {
	return Op[Read, Page]{
		Spec: tool.Spec{
			Name:    "read_file",
			Version: "1.0.0",

			Description: "Read a file. Returns numbered lines. Images are shown if the model supports them; notebooks are " +
				"shown cell by cell.",

			Permissions: []tool.Permission{tool.FSRead},
			ReadOnly:    true,
			Idempotent:  true,

			Output: payload("total_lines integer", "encoding string", "line_ending string"),

			Limit: tool.Limit{Chars: 50_000, Lines: -1, Mode: tool.HeadTail},
		},
		Access: func(ctx context.Context, c *tool.Call, in Read) []policy.Access {
			return []policy.Access{touches(ctx, c, policy.Read, in.Path)}
		},
		Do: f.open,
	}
}

// readTool returns the standard tool.
func (f files) readTool() tool.Tool {
	op := f.readFile()
	return Over(op.Spec, op, same[Read], f.readShown)
}

// readShown reads a page, and records that the model has seen it.
func (f files) readShown(ctx context.Context, c *tool.Call, in Read) (tool.Result, error) {
	page, err := f.open(ctx, c, in)
	if err != nil {
		return tool.Result{}, err
	}
	res := showPage(in, page)
	if res.Error == nil {
		f.saw(ctx, c.Env, in.Path, page.Source)
	}
	return res, nil
}

// open reads the requested lines of a file, or an image. Other files also count as seen, because the model cannot learn
// more about them.
func (f files) open(ctx context.Context, c *tool.Call, in Read) (Page, error) {
	var page Page
	if in.Offset < 0 || in.Limit < 0 {
		return page, tool.Errorf(tool.ValidationError, "offset and limit must not be negative; offset counts lines from 1.")
	}
	data, err := f.read(ctx, c.Env, in.Path)
	if err != nil {
		return page, failed(err, in.Path)
	}
	if kind := imageType(data); kind != "" {
		f.saw(ctx, c.Env, in.Path, data)
		return imagePage(c, in.Path, data, kind, "")
	}
	if bytes.HasPrefix(data, []byte("%PDF-")) {
		text, err := pdf.Text(ctx, data)
		if err != nil {
			f.saw(ctx, c.Env, in.Path, data)
			return page, tool.Errorf(tool.BinaryFile, "%s cannot be shown as text: %v.", in.Path, err)
		}
		page.Source, page.Encoding = data, "pdf"
		page.cut([]byte(text), in)
		return page, nil
	}
	file, err := textfile.Decode(data)
	if err != nil {
		f.saw(ctx, c.Env, in.Path, data)
		return page, tool.Errorf(
			tool.BinaryFile,
			"%s cannot be read: %v. Inspect it with a program such as file, xxd or strings.", in.Path, err,
		)
	}
	page.Source = data
	page.Encoding = file.Encoding().String()
	page.Ending = file.Endings().Dominant().String()
	text := file.Text()
	if extension(c.Env, in.Path) == ".ipynb" {
		if cells, err := renderNotebook(text); err == nil {
			text = []byte(cells)
		}
	}
	page.cut(text, in)
	return page, nil
}

// cut sets the requested lines of a text.
func (page *Page) cut(text []byte, in Read) {
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
}

// showPage formats a file or an image for read_file.
func showPage(in Read, page Page) tool.Result {
	var res tool.Result
	switch {
	case page.Image != nil:
		return showImage(in.Path, page)
	case page.Total == 0:
		res = tool.Success("(the file is empty)")
	case len(page.Lines) == 0:
		res = tool.Failure(
			tool.ValidationError,
			"offset %d is after the end of %s, which has %s.", page.First, in.Path, Plural(page.Total, "line"),
		)
	default:
		res.Output = tool.Text(numberLines(page))
	}
	res.Fields = page.Fields()
	return res
}

func numberLines(page Page) string {
	var b strings.Builder
	for i, l := range page.Lines {
		fmt.Fprintf(&b, "%d | %s\n", page.First+i, l)
	}
	if page.Last() < page.Total {
		fmt.Fprintf(&b, "[Showing lines %d to %d of %d. Use offset=%d to continue.]\n", page.First, page.Last(), page.Total, page.Last()+1)
	}
	return b.String()
}
