package tools

import (
	"context"
	"errors"
	"io/fs"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/internal/patch"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/secret"
	"github.com/reins-agent/reins/tool"
)

func (f files) applyPatch() Op[Patch, Patched] {
	description := "Apply code changes using the patch format. Creates, deletes, moves and modifies files in a single operation."
	if !f.config.ClassicPatch {
		description += " Either all changes are applied or none."
	}
	return Op[Patch, Patched]{
		Spec: tool.Spec{
			Name:        "apply_patch",
			Version:     "1.0.0",
			Description: f.readFirst(description),

			Permissions: []tool.Permission{tool.FSRead, tool.FSWrite, tool.FSDelete},
			SideEffects: "creates, changes, moves and deletes files",
			Destructive: true,

			Output: payload("files integer"),

			Limit: tool.Limit{Chars: 10_000, Lines: -1, Mode: tool.Tail},
		},
		Access: patchAccess, Do: oneByOne(f, f.patch), Preview: f.previewPatch,
	}
}

// FreeformNote is added to the description of apply_patch if it is a freeform tool.
const FreeformNote = "The input is the patch itself, as plain text; do not wrap it in JSON."

// patchTool returns the standard tool. With ClassicPatch there may be both changes and an error to show.
func (f files) patchTool() tool.Tool {
	op := f.applyPatch()
	return Over(op.Spec, op, same[Patch], func(ctx context.Context, c *tool.Call, in Patch) (tool.Result, error) {
		p, err := op.Do(ctx, c, in)
		if err != nil && len(p.Changes) == 0 {
			return tool.Result{}, err
		}
		res := tool.Result{Output: tool.Text(p.Report(err == nil)), Fields: p.Fields(), Artifacts: p.Artifacts}
		return res, err
	})
}

func patchAccess(ctx context.Context, c *tool.Call, in Patch) []policy.Access {
	p, err := patch.Parse(in.Patch)
	if err != nil {
		// An invalid patch changes nothing; running it reports the error.
		return []policy.Access{}
	}
	var all []policy.Access
	for _, op := range p.Ops {
		switch {
		case op.Action == patch.Add:
			all = append(all, touches(ctx, c, policy.Write, op.Path))
		case op.Action == patch.Delete:
			all = append(all, deletes(ctx, c.Env, op.Path))
		case op.MoveTo != "":
			all = append(all, touches(ctx, c, policy.Read, op.Path), deletes(ctx, c.Env, op.Path), touches(ctx, c, policy.Write, op.MoveTo))
		default:
			all = append(all, touches(ctx, c, policy.Read, op.Path), touches(ctx, c, policy.Write, op.Path))
		}
	}
	return all
}

// planPatch plans the operations of a patch. With ClassicPatch it may return both operations and partial, the reason
// why later operations are missing.
func (f files) planPatch(ctx context.Context, e env.Environment, in Patch) (plan patch.Plan, partial, err error) {
	p, err := patch.Parse(in.Patch)
	if err != nil {
		return plan, nil, tool.Errorf(tool.PatchError, "Nothing was changed: %v", err)
	}
	if err := f.patchPlaceholder(in.Patch); err != nil {
		return plan, nil, err
	}
	if a, b := sameFile(ctx, e, p.Ops); a != "" {
		return plan, nil, tool.Errorf(
			tool.EditConflict,
			"%s and %s are the same file, and nothing was changed. Put all changes to a file under one name. To change only "+
				"the letter case of a name, use mv.",
			a,
			b,
		)
	}
	plan, err = p.Plan(source{ctx, e, f}, patch.Options{Classic: f.config.ClassicPatch, Paths: e.Info().Paths()})
	if err != nil && len(plan.Ops) == 0 {
		outcome := "Nothing was changed."
		if f.config.Redacted && secret.Added(nil, []byte(in.Patch)) != "" {
			outcome += " A placeholder such as [redacted:KIND] stands for a secret in the file and does not match it; choose " +
				"lines without it, or use a command."
		}
		return plan, nil, patchFailed(err, outcome)
	}
	return plan, err, nil
}

// patch applies a patch. With ClassicPatch it may return both changes and an error.
func (f files) patch(ctx context.Context, c *tool.Call, in Patch) (Patched, error) {
	plan, partial, err := f.planPatch(ctx, c.Env, in)
	if err != nil {
		return Patched{}, err
	}
	t := transaction{ctx: ctx, env: c.Env, files: f}
	failure := t.carryOut(plan.Ops)
	if failure != nil && !f.config.ClassicPatch {
		failure.Message += " " + t.rollBack()
		return Patched{}, failure
	}
	done := Patched{Changes: t.done, Notes: append(plan.Notes, t.finish()...)}
	done.Artifacts.FilesChanged = done.Paths()
	for _, op := range t.done {
		if op.Action != patch.Delete {
			f.saw(ctx, c.Env, op.Path, op.Content)
		}
		if op.Action == patch.Add {
			done.Artifacts.FilesCreated = append(done.Artifacts.FilesCreated, touches(ctx, c, policy.Write, op.Path).Target)
		}
	}
	const kept = "The changes before it were made."
	switch {
	case failure != nil:
		failure.Message += " " + kept
		return done, failure
	case partial != nil:
		return done, patchFailed(partial, kept)
	}
	return done, nil
}

// sameFile returns two different paths of a patch that lead to the same file through a link, ".." or letter case. Each
// operation would overwrite the changes of the other.
func sameFile(ctx context.Context, e env.Environment, ops []patch.Op) (string, string) {
	paths := e.Info().Paths()
	seen := make(map[string]string)
	for _, op := range ops {
		for _, p := range []string{op.Path, op.MoveTo} {
			if p == "" {
				continue
			}
			id := linkPath(ctx, e, p)
			if op.Action != patch.Delete { // deleting does not follow links
				if real, err := e.RealPath(ctx, p); err == nil {
					id = real
				}
			}
			id = paths.Key(id)
			clean := paths.Clean(p)
			if other, ok := seen[id]; ok && other != clean {
				return other, clean
			}
			seen[id] = clean
		}
	}
	return "", ""
}

// source lets a plan read the files of an environment.
type source struct {
	ctx context.Context
	env env.Environment
	f   files
}

func (s source) Read(p string) ([]byte, error) {
	data, err := s.f.read(s.ctx, s.env, p)
	if err != nil {
		return nil, err
	}
	return data, s.f.unread(s.ctx, s.env, p, data, nil)
}

func (s source) Exists(p string) (bool, error) {
	info, err := s.env.Stat(s.ctx, p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.Mode.IsRegular():
		return false, tool.Errorf(tool.NotAFile, "%s is not a regular file.", p)
	}
	if s.f.config.ReadBeforeWrite { // the file is about to be replaced or deleted
		data, err := s.f.read(s.ctx, s.env, p)
		return true, s.f.unread(s.ctx, s.env, p, data, err)
	}
	return true, nil
}

func (f files) previewPatch(ctx context.Context, c *tool.Call, in Patch) (tool.Preview, error) {
	plan, _, err := f.planPatch(ctx, c.Env, in)
	if err != nil {
		return tool.Preview{}, err
	}
	var p tool.Preview
	// set records the content of a file after an operation; nil deletes it. A file that several
	// operations touch is one change.
	set := func(path string, content []byte) error {
		for i := range p.Changes {
			if p.Changes[i].Path == path {
				p.Changes[i].After, p.Changes[i].Exists = content, content != nil
				return nil
			}
		}
		before, err := f.content(ctx, c.Env, path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return failed(err, "")
		}
		p.Changes = append(p.Changes, tool.Change{
			Path:    path,
			Before:  before,
			After:   content,
			Existed: err == nil,
			Exists:  content != nil,
		})
		return nil
	}
	for _, op := range plan.Ops {
		var err error
		switch {
		case op.Action == patch.Delete:
			err = set(linkPath(ctx, c.Env, op.Path), nil)
		case op.From != "":
			if err = set(touches(ctx, c, policy.Write, op.Path).Target, op.Content); err == nil {
				err = set(linkPath(ctx, c.Env, op.From), nil)
			}
		default:
			err = set(touches(ctx, c, policy.Write, op.Path).Target, op.Content)
		}
		if err != nil {
			return tool.Preview{}, err
		}
	}
	return p, nil
}
