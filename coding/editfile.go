package coding

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/reins-agent/reins/coding/edit"
	"github.com/reins-agent/reins/coding/engine"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

type editIn = engine.Edit

func (f files) editFile() tool.Tool {
	t := tool.New(tool.Spec{
		Name: "edit_file", Version: "1.0.0",
		Description: "Replace an exact string occurrence in a file. old_string must occur exactly once, unless replace_all is set. Nothing outside the replaced text changes.",
		Permissions: []tool.Permission{tool.FSRead, tool.FSWrite}, SideEffects: "changes a file", Destructive: true,
		Output: payload("replacements integer", "match string"),
		Limit:  tool.Limit{Chars: 10_000, Lines: -1, Mode: tool.Tail},
	}, func(ctx context.Context, c *tool.Call, in editIn) []policy.Access {
		return []policy.Access{touches(ctx, c, policy.Read, in.Path), touches(ctx, c, policy.Write, in.Path)}
	}, presented(oneByOne(f, f.edit), showEdited))
	return tool.WithPreview(t, f.previewEdit)
}

// errNewFile says that an edit with an empty old_string creates its file.
var errNewFile = errors.New("the edit creates the file")

// planEdit works out a replacement. The error is one for editFailed.
func (f files) planEdit(ctx context.Context, c *tool.Call, in editIn) (old []byte, r edit.Result, err error) {
	old, err = f.read(ctx, c.Env, in.Path)
	if errors.Is(err, fs.ErrNotExist) && in.Old == "" {
		return nil, r, errNewFile
	}
	if err == nil {
		err = in.Check.Do(ctx, c, old)
	}
	if err == nil {
		r, err = edit.Replace(old, in.Old, in.New, in.ReplaceAll)
	}
	return old, r, err
}

func (f files) edit(ctx context.Context, c *tool.Call, in editIn) (engine.Edited, error) {
	e := engine.Edited{Path: show(c.Env, in.Path)}
	var err error
	_, e.Result, err = f.planEdit(ctx, c, in)
	switch {
	case errors.Is(err, errNewFile):
		w, err := f.write(ctx, c, in.Create())
		e.Created = &w
		return e, err
	case err != nil:
		return e, editFailed(err, in.Path).Error
	}
	if e.Match != edit.AlreadyApplied {
		if err := c.Env.WriteFile(ctx, in.Path, e.Content, 0o644); err != nil {
			return e, failed(err, in.Path).Error
		}
	}
	return e, nil
}

func showEdited(in editIn, e engine.Edited) tool.Result {
	if e.Created != nil {
		return showWritten(in.Create(), *e.Created)
	}
	res := tool.Result{Fields: e.Fields()}
	if e.Match == edit.AlreadyApplied {
		res.Output = tool.Text(e.Path + ": " + e.Note())
		return res
	}
	text := fmt.Sprintf("Edited %s: %s.", e.Path, plural(e.Replacements, "replacement"))
	if note := e.Note(); note != "" {
		text += "\n" + note
	}
	res.Output, res.Artifacts.FilesChanged = tool.Text(text), []string{in.Path}
	return res
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
