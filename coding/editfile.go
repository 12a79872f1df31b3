package coding

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/reins-agent/reins/coding/edit"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

type editIn struct {
	Path       string `json:"file_path" jsonschema:"path of the file, absolute or relative to the working directory"`
	Old        string `json:"old_string" jsonschema:"the exact text to find, with enough context to be unique"`
	New        string `json:"new_string" jsonschema:"the text to put in its place"`
	ReplaceAll bool   `json:"replace_all,omitempty" jsonschema:"replace every occurrence instead of the only one"`
}

func (f files) editFile() tool.Tool {
	t := tool.New(tool.Spec{
		Name: "edit_file", Version: "1.0.0",
		Description: "Replace an exact string occurrence in a file. old_string must occur exactly once, unless replace_all is set. Nothing outside the replaced text changes.",
		Permissions: []tool.Permission{tool.FSRead, tool.FSWrite}, SideEffects: "changes a file", Destructive: true,
		Output: payload("replacements integer", "match string"),
		Limit:  tool.Limit{Chars: 10_000, Lines: -1, Mode: tool.Tail},
	}, func(ctx context.Context, c *tool.Call, in editIn) []policy.Access {
		return []policy.Access{touches(ctx, c, policy.Read, in.Path), touches(ctx, c, policy.Write, in.Path)}
	}, oneByOne(f, f.edit))
	return tool.WithPreview(t, f.previewEdit)
}

// errNewFile says that an edit with an empty old_string creates its file.
var errNewFile = errors.New("the edit creates the file")

// planEdit works out a replacement. The error is one for editFailed.
func (f files) planEdit(ctx context.Context, e env.Environment, in editIn) (old []byte, r edit.Result, err error) {
	old, err = f.read(ctx, e, in.Path)
	if errors.Is(err, fs.ErrNotExist) && in.Old == "" {
		return nil, r, errNewFile
	}
	if err == nil {
		r, err = edit.Replace(old, in.Old, in.New, in.ReplaceAll)
	}
	return old, r, err
}

func (f files) edit(ctx context.Context, c *tool.Call, in editIn) (tool.Result, error) {
	_, r, err := f.planEdit(ctx, c.Env, in)
	switch {
	case errors.Is(err, errNewFile):
		return f.write(ctx, c, writeIn{in.Path, in.New})
	case err != nil:
		return editFailed(err, in.Path), nil
	}
	fields := map[string]any{"replacements": r.Replacements, "match": string(r.Match)}
	if r.Match == edit.AlreadyApplied {
		return tool.Result{Output: tool.Text(fmt.Sprintf("%s: %s", show(c.Env, in.Path), r.Note())), Fields: fields}, nil
	}
	if err := c.Env.WriteFile(ctx, in.Path, r.Content, 0o644); err != nil {
		return failed(err, in.Path), nil
	}
	text := fmt.Sprintf("Edited %s: %s.", show(c.Env, in.Path), plural(r.Replacements, "replacement"))
	if note := r.Note(); note != "" {
		text += "\n" + note
	}
	return tool.Result{
		Output:    tool.Text(text),
		Fields:    fields,
		Artifacts: tool.Artifacts{FilesChanged: []string{in.Path}},
	}, nil
}

// editFailed is the result for a replacement that the engine refused.
func editFailed(err error, p string) tool.Result {
	var e *edit.Error
	if !errors.As(err, &e) {
		return failed(err, p)
	}
	code := tool.EditConflict
	if e.Kind == edit.Undecodable {
		code = tool.BinaryFile
	}
	res := tool.Failure(code, "%s was not changed: %v", p, e)
	res.Error.Details = map[string]any{"kind": string(e.Kind)}
	if len(e.Lines) > 0 {
		res.Error.Details["lines"] = e.Lines
		res.Error.Details["count"] = e.Count
	}
	return res
}
