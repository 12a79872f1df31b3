package coding

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/reins-agent/reins/coding/engine"
	"github.com/reins-agent/reins/coding/textfile"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

type writeIn = engine.Write

func (f files) writeFile() tool.Tool {
	t := tool.New(tool.Spec{
		Name: "write_file", Version: "1.0.0",
		Description: "Write content to a file. Creates the file and parent directories if needed; replaces what was there. An existing file keeps its encoding and line endings.",
		Permissions: []tool.Permission{tool.FSWrite}, SideEffects: "creates or replaces a file",
		Destructive: true, Idempotent: true,
		Output: payload("bytes_written integer", "created boolean"),
		Limit:  tool.Limit{Chars: 1_000, Lines: -1, Mode: tool.Tail},
	}, func(ctx context.Context, c *tool.Call, in writeIn) []policy.Access {
		return []policy.Access{touches(ctx, c, policy.Write, in.Path)}
	}, presented(oneByOne(f, f.write), showWritten))
	return tool.WithPreview(t, f.previewWrite)
}

// planWrite works out what is to be written.
func (f files) planWrite(ctx context.Context, c *tool.Call, in writeIn) (engine.Written, error) {
	w := engine.Written{Path: show(c.Env, in.Path), New: []byte(in.Content)}
	old, err := f.read(ctx, c.Env, in.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, env.ErrTooLarge) {
		return w, failed(err, in.Path).Error
	}
	if refused := in.Check.Do(ctx, c, old); refused != nil {
		return w, refused
	}
	switch {
	case err == nil:
		w.Old = old
		if w.New, w.Note, err = inStyleOf(old, in.Content); err != nil {
			return w, engine.Fail(tool.EditConflict, "%s was not written: %v. Write only characters that its encoding has, or delete the file first to write it as UTF-8.", in.Path, err)
		}
	case errors.Is(err, env.ErrTooLarge):
		w.Note = "The old content was too large to look at; the new one is UTF-8."
	default:
		w.Created = true
	}
	return w, nil
}

func (f files) write(ctx context.Context, c *tool.Call, in writeIn) (engine.Written, error) {
	w, err := f.planWrite(ctx, c, in)
	if err != nil {
		return w, err
	}
	if err := c.Env.WriteFile(ctx, in.Path, w.New, 0o644); err != nil {
		return w, failed(err, in.Path).Error
	}
	return w, nil
}

func showWritten(in writeIn, w engine.Written) tool.Result {
	verb := "Replaced"
	if w.Created {
		verb = "Created"
	}
	text := fmt.Sprintf("%s %s: %s written.", verb, w.Path, plural(len(w.New), "byte"))
	if w.Note != "" {
		text += " " + w.Note
	}
	return tool.Result{Output: tool.Text(text), Fields: w.Fields(), Artifacts: tool.Artifacts{FilesChanged: []string{in.Path}}}
}

// inStyleOf encodes text as the old content of its file was encoded: with the same encoding, byte
// order mark and line endings. Old content that is no text has no style, and one that mixes line
// endings has none of its own.
func inStyleOf(old []byte, text string) (data []byte, note string, err error) {
	file, err := textfile.Decode(old)
	if err != nil || len(old) == 0 {
		return []byte(text), "", nil
	}
	var kept []string
	if e := only(file.Endings()); e != textfile.LF && !strings.Contains(text, "\r") {
		text = strings.ReplaceAll(text, "\n", string(e))
		kept = append(kept, e.String()+" line endings")
	}
	if file.Encoding() != textfile.UTF8 {
		kept = append(kept, "its encoding, "+file.Encoding().String())
	}
	if file.HasBOM() {
		text = strings.TrimPrefix(text, "\uFEFF")
		kept = append(kept, "its byte order mark")
	}
	if data, err = file.Encoding().Encode(text); err != nil {
		return nil, "", err
	}
	if file.HasBOM() {
		bom, _ := file.SourceSpan(0, 0)
		data = append(old[:bom:bom], data...)
	}
	if len(kept) > 0 {
		note = fmt.Sprintf("The file keeps %s.", strings.Join(kept, " and "))
	}
	return data, note, nil
}

// only is the line ending that all lines have, or LF if they have none in common.
func only(e textfile.Endings) textfile.Ending {
	switch {
	case e.CRLF > 0 && e.LF+e.CR == 0:
		return textfile.CRLF
	case e.CR > 0 && e.LF+e.CRLF == 0:
		return textfile.CR
	}
	return textfile.LF
}
