package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/reins-agent/reins/internal/edit"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

func (f files) editFile() Op[Edit, Edited] {
	return Op[Edit, Edited]{
		Spec: tool.Spec{
			Name:    "edit_file",
			Version: "1.0.0",

			Description: f.readFirst(
				"Replace an exact string in a file. old_string must occur exactly once unless replace_all is set. Nothing " +
					"outside the replaced text changes.",
			),

			Permissions: []tool.Permission{tool.FSRead, tool.FSWrite},
			SideEffects: "changes a file",
			Destructive: true,

			Output: payload("replacements integer", "match string"),

			Limit: tool.Limit{Chars: 10_000, Lines: -1, Mode: tool.Tail},
		},
		Access: func(ctx context.Context, c *tool.Call, in Edit) []policy.Access {
			return []policy.Access{touches(ctx, c, policy.Read, in.Path), touches(ctx, c, policy.Write, in.Path)}
		},
		Do: oneByOne(f, f.edit), Preview: f.previewEdit,
	}
}

// errNewFile means that an edit with an empty old_string creates the file.
var errNewFile = errors.New("the edit creates the file")

// planEdit determines what an edit would do. Its errors are for editFailed.
func (f files) planEdit(ctx context.Context, c *tool.Call, in Edit) (old []byte, r edit.Result, err error) {
	old, err = f.read(ctx, c.Env, in.Path)
	if errors.Is(err, fs.ErrNotExist) && in.Old == "" {
		return nil, r, errNewFile
	}
	if err == nil {
		err = cmp.Or(
			in.Check.do(ctx, c, old),
			f.unread(ctx, c.Env, in.Path, old, nil),
			f.hidden(in.Path, old, in.Old),
			f.placeholder(in.Path, in.Old, in.New),
		)
	}
	if err == nil {
		r, err = edit.Replace(old, in.Old, in.New, in.ReplaceAll)
	}
	return old, r, err
}

func (f files) edit(ctx context.Context, c *tool.Call, in Edit) (Edited, error) {
	e := Edited{Path: Show(c.Env, in.Path)}
	var err error
	_, e.Result, err = f.planEdit(ctx, c, in)
	switch {
	case errors.Is(err, errNewFile):
		w, err := f.write(ctx, c, in.create())
		e.Created = &w
		return e, err
	case err != nil:
		return e, editFailed(err, in.Path)
	}
	if e.Match != edit.AlreadyApplied {
		if err := c.Env.WriteFile(ctx, in.Path, e.Content, 0o644); err != nil {
			return e, failed(err, in.Path)
		}
		f.saw(ctx, c.Env, in.Path, e.Content)
	}
	return e, nil
}

func (f files) previewEdit(ctx context.Context, c *tool.Call, in Edit) (tool.Preview, error) {
	old, r, err := f.planEdit(ctx, c, in)
	switch {
	case errors.Is(err, errNewFile):
		return f.previewWrite(ctx, c, in.create())
	case err != nil:
		return tool.Preview{}, editFailed(err, in.Path)
	case r.Match == edit.AlreadyApplied:
		return tool.Preview{}, nil
	}
	return tool.Preview{Changes: []tool.Change{{
		Path:    touches(ctx, c, policy.Write, in.Path).Target,
		Before:  old,
		After:   r.Content,
		Existed: true,
		Exists:  true,
	}}}, nil
}

func showEdited(in Edit, e Edited) tool.Result {
	if e.Created != nil {
		return showWritten(in.create(), *e.Created)
	}
	res := tool.Result{Fields: e.Fields()}
	if e.Match == edit.AlreadyApplied {
		res.Output = tool.Text(e.Path + ": " + e.Note())
		return res
	}
	text := fmt.Sprintf("Edited %s: %s.", e.Path, Plural(e.Replacements, "replacement"))
	if note := e.Note(); note != "" {
		text += "\n" + note
	}
	res.Output, res.Artifacts.FilesChanged = tool.Text(text), []string{in.Path}
	return res
}
