package coding

import (
	"context"
	"errors"
	"io/fs"

	"github.com/reins-agent/reins/coding/engine"
	"github.com/reins-agent/reins/coding/patch"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

type patchIn = engine.Patch

func (f files) applyPatch() tool.Tool {
	t := tool.New(tool.Spec{
		Name: "apply_patch", Version: "1.0.0",
		Description: "Apply code changes using the patch format. Supports creating, deleting, moving and modifying files in a single operation; all changes are made, or none.",
		Permissions: []tool.Permission{tool.FSRead, tool.FSWrite, tool.FSDelete}, SideEffects: "creates, changes, moves and deletes files", Destructive: true,
		Output: payload("files integer"),
		Limit:  tool.Limit{Chars: 10_000, Lines: -1, Mode: tool.Tail},
	}, patchAccess, func(ctx context.Context, c *tool.Call, in patchIn) (tool.Result, error) {
		p, err := oneByOne(f, f.patch)(ctx, c, in)
		if err != nil && len(p.Changes) == 0 {
			return engine.Failed(err)
		}
		return showPatched(p, err), nil
	})
	return tool.WithPreview(t, f.previewPatch)
}

func patchAccess(ctx context.Context, c *tool.Call, in patchIn) []policy.Access {
	p, err := patch.Parse(in.Patch)
	if err != nil {
		// A patch that cannot be read touches nothing; running it tells what is wrong with it.
		return []policy.Access{}
	}
	var all []policy.Access
	for _, op := range p.Ops {
		switch op := op.(type) {
		case patch.Add:
			all = append(all, touches(ctx, c, policy.Write, op.Path))
		case patch.Delete:
			all = append(all, policy.Access{Kind: policy.Delete, Target: linkPath(ctx, c.Env, op.Path)})
		case patch.Update:
			all = append(all, touches(ctx, c, policy.Read, op.Path))
			to := op.Path
			if op.MoveTo != "" {
				all = append(all, policy.Access{Kind: policy.Delete, Target: linkPath(ctx, c.Env, op.Path)})
				to = op.MoveTo
			}
			all = append(all, touches(ctx, c, policy.Write, to))
		}
	}
	return all
}

// planPatch works out the operations of a patch. In classic mode there may be operations beside
// partial, which says why those after them are missing.
func (f files) planPatch(ctx context.Context, e env.Environment, in patchIn) (plan patch.Plan, failure *tool.Error, partial error) {
	p, err := patch.Parse(in.Patch)
	if err != nil {
		return plan, tool.Failure(tool.PatchError, "The patch is not readable, and nothing was changed: %v", err).Error, nil
	}
	if a, b := twoNames(ctx, e, p.Ops); a != "" {
		return plan, tool.Failure(tool.EditConflict, "%s and %s are the same file, and nothing was changed. Put all changes of a file under one name; rename a file in letter case only with the command mv.", a, b).Error, nil
	}
	plan, err = p.Plan(source{ctx, e, f}, patch.Options{Classic: f.config.ClassicPatch, Paths: e.Info().Paths()})
	if err != nil && len(plan.Ops) == 0 {
		return plan, patchFailed(err, "Nothing was changed.").Error, nil
	}
	return plan, nil, err
}

// patch applies a patch. With ClassicPatch there may be changes beside an error.
func (f files) patch(ctx context.Context, c *tool.Call, in patchIn) (engine.Patched, error) {
	var none engine.Patched
	plan, failure, planErr := f.planPatch(ctx, c.Env, in)
	if failure != nil {
		return none, failure
	}
	classic := f.config.ClassicPatch
	t := transaction{ctx: ctx, env: c.Env, files: f}
	failure = t.carryOut(plan.Ops)
	if failure != nil && !classic {
		failure.Message += " " + t.takeBack()
		return none, failure
	}
	done := engine.Patched{Changes: t.done, Notes: append(plan.Notes, t.finish()...)}
	switch {
	case failure != nil:
		failure.Message += " The changes before it were made."
		return done, failure
	case planErr != nil:
		return done, patchFailed(planErr, "The changes before it were made.").Error
	}
	return done, nil
}

func showPatched(p engine.Patched, err error) tool.Result {
	res := tool.Result{
		Output:    tool.Text(p.Report(err == nil)),
		Fields:    p.Fields(),
		Artifacts: tool.Artifacts{FilesChanged: p.Paths()},
	}
	errors.As(err, &res.Error)
	return res
}

// twoNames finds two paths of a patch that lead to the same file, by a link, a detour or, where
// names are compared that way, by letter case. Each would be changed as if the other were not.
func twoNames(ctx context.Context, e env.Environment, ops []patch.Op) (string, string) {
	paths := e.Info().Paths()
	seen := make(map[string]string)
	for _, op := range ops {
		for _, n := range pathsOf(op) {
			id := linkPath(ctx, e, n.path)
			if n.follow {
				if real, err := e.RealPath(ctx, n.path); err == nil {
					id = real
				}
			}
			id = paths.Key(id)
			clean := paths.Clean(n.path)
			if other, ok := seen[id]; ok && other != clean {
				return other, clean
			}
			seen[id] = clean
		}
	}
	return "", ""
}

// patchedPath is a path in a patch; follow says that the operation is on what the path leads to.
type patchedPath struct {
	path   string
	follow bool
}

func pathsOf(op patch.Op) []patchedPath {
	switch op := op.(type) {
	case patch.Add:
		return []patchedPath{{op.Path, true}}
	case patch.Delete:
		return []patchedPath{{op.Path, false}}
	case patch.Update:
		if op.MoveTo != "" {
			return []patchedPath{{op.Path, true}, {op.MoveTo, true}}
		}
		return []patchedPath{{op.Path, true}}
	}
	return nil
}

func patchFailed(err error, outcome string) tool.Result {
	var e *patch.Error
	if !errors.As(err, &e) {
		return tool.Failure(tool.PatchError, "%v %s", err, outcome)
	}
	code := tool.EditConflict
	switch e.Kind {
	case patch.FileNotFound:
		code = tool.FileNotFound
	case patch.Undecodable:
		code = tool.BinaryFile
	case patch.Empty:
		code = tool.PatchError
	case patch.Unreadable:
		if res := failed(e.Err, e.Path); res.Error.Code != tool.IOError {
			code = res.Error.Code
		}
	}
	res := tool.Failure(code, "%v %s", e, outcome)
	res.Error.Details = map[string]any{"kind": string(e.Kind), "path": e.Path, "patch_line": e.PatchLine}
	return res
}

// source lets a plan read the files of an environment.
type source struct {
	ctx context.Context
	env env.Environment
	f   files
}

func (s source) Read(p string) ([]byte, error) { return s.f.read(s.ctx, s.env, p) }

func (s source) Exists(p string) (bool, error) {
	info, err := s.env.Stat(s.ctx, p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.Mode.IsRegular():
		return false, &tool.Error{Code: tool.NotAFile, Message: p + " is not a regular file."}
	}
	return true, nil
}
