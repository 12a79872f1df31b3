package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/internal/textfile"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

func (f files) writeFile() Op[Write, Written] {
	return Op[Write, Written]{
		Spec: tool.Spec{
			Name:    "write_file",
			Version: "1.0.0",

			Description: f.readFirst(
				"Write content to a file. Creates the file and its parent directories if needed and replaces existing content.",
			),

			Permissions: []tool.Permission{tool.FSWrite},
			SideEffects: "creates or replaces a file",

			Destructive: true,
			Idempotent:  true,

			Output: payload("bytes_written integer", "created boolean"),

			Limit: tool.Limit{Chars: 1_000, Lines: -1, Mode: tool.Tail},
		},
		Access: func(ctx context.Context, c *tool.Call, in Write) []policy.Access {
			return []policy.Access{touches(ctx, c, policy.Write, in.Path)}
		},
		Do: oneByOne(f, f.write), Preview: f.previewWrite,
	}
}

// planWrite determines what a write would do.
func (f files) planWrite(ctx context.Context, c *tool.Call, in Write) (Written, error) {
	w := Written{Path: Show(c.Env, in.Path), New: []byte(in.Content)}
	old, err := f.read(ctx, c.Env, in.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, env.ErrTooLarge) {
		return w, failed(err, in.Path)
	}
	refused := cmp.Or(
		in.Check.do(ctx, c, old),
		f.unread(ctx, c.Env, in.Path, old, err),
		f.placeholder(in.Path, string(old), in.Content),
	)
	if refused != nil {
		return w, refused
	}
	switch {
	case err == nil:
		w.Old = old
		if w.New, w.Note, err = inStyleOf(old, in.Content); err != nil {
			return w, tool.Errorf(
				tool.EditConflict,
				"%s was not written: %v. Use only characters that its encoding supports, or delete the file first to write it as UTF-8.",
				in.Path,
				err,
			)
		}
	case errors.Is(err, env.ErrTooLarge):
		w.Note = "The old content was too large to read; the new content is UTF-8."
	default:
		w.Created = true
	}
	return w, nil
}

func (f files) write(ctx context.Context, c *tool.Call, in Write) (Written, error) {
	w, err := f.planWrite(ctx, c, in)
	if err != nil {
		return w, err
	}
	if err := c.Env.WriteFile(ctx, in.Path, w.New, 0o644); err != nil {
		return w, failed(err, in.Path)
	}
	f.saw(ctx, c.Env, in.Path, w.New)
	w.Artifacts.FilesChanged = []string{in.Path}
	if w.Created {
		w.Artifacts.FilesCreated = []string{touches(ctx, c, policy.Write, in.Path).Target}
	}
	return w, nil
}

func (f files) previewWrite(ctx context.Context, c *tool.Call, in Write) (tool.Preview, error) {
	w, err := f.planWrite(ctx, c, in)
	if err != nil {
		return tool.Preview{}, err
	}
	return tool.Preview{Changes: []tool.Change{{
		Path:    touches(ctx, c, policy.Write, in.Path).Target,
		Before:  w.Old,
		After:   w.New,
		Existed: !w.Created,
		Exists:  true,
	}}}, nil
}

func showWritten(_ Write, w Written) tool.Result {
	verb := "Replaced"
	if w.Created {
		verb = "Created"
	}
	text := fmt.Sprintf("%s %s: %s written.", verb, w.Path, Plural(len(w.New), "byte"))
	if w.Note != "" {
		text += " " + w.Note
	}
	return tool.Result{Output: tool.Text(text), Fields: w.Fields(), Artifacts: w.Artifacts}
}

// inStyleOf encodes text with the encoding, byte order mark and line endings of the old content. It does not do so if
// the old content is binary, and does not keep mixed line endings.
func inStyleOf(old []byte, text string) (data []byte, note string, err error) {
	file, err := textfile.Decode(old)
	if err != nil || len(old) == 0 {
		return []byte(text), "", nil
	}
	var kept []string
	if e := commonEnding(file.Endings()); e != textfile.LF && !strings.Contains(text, "\r") {
		text = strings.ReplaceAll(text, "\n", string(e))
		kept = append(kept, e.String()+" line endings")
	}
	if file.Encoding() != textfile.UTF8 {
		kept = append(kept, "its encoding, "+file.Encoding().String())
	}
	if len(file.BOM()) > 0 {
		text = strings.TrimPrefix(text, "\uFEFF")
		kept = append(kept, "its byte order mark")
	}
	if data, err = file.Encoding().Encode(text); err != nil {
		return nil, "", err
	}
	if len(kept) > 0 {
		note = fmt.Sprintf("The file keeps %s.", strings.Join(kept, " and "))
	}
	return append(file.BOM(), data...), note, nil
}

// commonEnding returns the line ending of all lines, or LF if they differ.
func commonEnding(e textfile.Endings) textfile.Ending {
	switch {
	case e.CRLF > 0 && e.LF+e.CR == 0:
		return textfile.CRLF
	case e.CR > 0 && e.LF+e.CRLF == 0:
		return textfile.CR
	}
	return textfile.LF
}
