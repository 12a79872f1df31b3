package coding

import (
	"context"
	"errors"
	"io/fs"

	"github.com/reins-agent/reins/coding/edit"
	"github.com/reins-agent/reins/coding/patch"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// The previews of the tools that change files. Each uses the plan that the call itself would carry
// out, and reads only. A call that would fail has its failure as the error of its preview.

func (f files) previewWrite(ctx context.Context, c *tool.Call, in writeIn) (tool.Preview, error) {
	w, err := f.planWrite(ctx, c, in)
	if err != nil {
		return tool.Preview{}, err
	}
	return tool.Preview{Changes: []tool.Change{{
		Path: touches(ctx, c, policy.Write, in.Path).Target, Before: w.Old, After: w.New, Existed: !w.Created, Exists: true,
	}}}, nil
}

func (f files) previewEdit(ctx context.Context, c *tool.Call, in editIn) (tool.Preview, error) {
	old, r, err := f.planEdit(ctx, c, in)
	switch {
	case errors.Is(err, errNewFile):
		return f.previewWrite(ctx, c, in.Create())
	case err != nil:
		return tool.Preview{}, editFailed(err, in.Path).Error
	case r.Match == edit.AlreadyApplied:
		return tool.Preview{}, nil
	}
	return tool.Preview{Changes: []tool.Change{{
		Path: touches(ctx, c, policy.Write, in.Path).Target, Before: old, After: r.Content, Existed: true, Exists: true,
	}}}, nil
}

func (f files) previewDelete(ctx context.Context, c *tool.Call, in deleteIn) (tool.Preview, error) {
	if failure := deletable(ctx, c.Env, in.Path); failure != nil {
		return tool.Preview{}, failure
	}
	before, err := f.content(ctx, c.Env, in.Path)
	if err != nil {
		return tool.Preview{}, failed(err, in.Path).Error
	}
	return tool.Preview{Changes: []tool.Change{{Path: linkPath(ctx, c.Env, in.Path), Before: before, Existed: true}}}, nil
}

// content reads what a path holds itself. A symbolic link, and a file that is too large, give nil.
func (f files) content(ctx context.Context, e env.Environment, p string) ([]byte, error) {
	info, err := e.Lstat(ctx, p)
	if err != nil || info.Mode&fs.ModeSymlink != 0 {
		return nil, err
	}
	data, err := f.read(ctx, e, p)
	if errors.Is(err, env.ErrTooLarge) {
		return nil, nil
	}
	return data, err
}

func (f files) previewPatch(ctx context.Context, c *tool.Call, in patchIn) (tool.Preview, error) {
	plan, failure, _ := f.planPatch(ctx, c.Env, in)
	if failure != nil {
		return tool.Preview{}, failure
	}
	sum := changes{ctx: ctx, call: c, files: f}
	for _, op := range plan.Ops {
		if err := sum.add(op); err != nil {
			return tool.Preview{}, failed(err, "").Error
		}
	}
	return tool.Preview{Changes: sum.list}, nil
}

// changes adds up the operations of a patch: one change for each file, whatever happens to it on
// the way.
type changes struct {
	ctx   context.Context
	call  *tool.Call
	files files
	list  []tool.Change
}

func (s *changes) add(op patch.FileOp) error {
	switch op := op.(type) {
	case patch.Create:
		return s.put(op.Path, op.Content)
	case patch.Rewrite:
		return s.put(op.Path, op.Content)
	case patch.Rename:
		if err := s.put(op.To, op.Content); err != nil {
			return err
		}
		return s.drop(op.From)
	case patch.Unlink:
		return s.drop(op.Path)
	}
	return nil
}

func (s *changes) put(p string, content []byte) error {
	c, err := s.at(touches(s.ctx, s.call, policy.Write, p).Target)
	if err == nil {
		c.After, c.Exists = content, true
	}
	return err
}

func (s *changes) drop(p string) error {
	c, err := s.at(linkPath(s.ctx, s.call.Env, p))
	if err == nil {
		c.After, c.Exists = nil, false
	}
	return err
}

// at returns the change of a file, which starts with the file as it is now.
func (s *changes) at(p string) (*tool.Change, error) {
	for i := range s.list {
		if s.list[i].Path == p {
			return &s.list[i], nil
		}
	}
	before, err := s.files.content(s.ctx, s.call.Env, p)
	existed := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	s.list = append(s.list, tool.Change{Path: p, Before: before, Existed: existed})
	return &s.list[len(s.list)-1], nil
}
