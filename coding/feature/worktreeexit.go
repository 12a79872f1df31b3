package feature

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/hook"
	"github.com/reins-agent/reins/internal/worktree"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

type exitIn struct {
	Action  string `json:"action" jsonschema:"see above"`
	Name    string `json:"name,omitempty" jsonschema:"worktree of a subagent (default: your own)"`
	Message string `json:"message,omitempty" jsonschema:"commit message for branch"`
}

// exitTool is the tool that leaves a worktree.
type exitTool struct {
	tool.Tool
	trees *worktrees
}

func (w *worktrees) exitTool() tool.Tool {
	return exitTool{tool.New(tool.Spec{
		Name:        "exit_worktree",
		Version:     "1.0.0",
		Role:        agent.RoleSession,
		Permissions: []tool.Permission{tool.FSWrite, tool.GitWrite},
		Description: "Leave a worktree: diff (show changes and stay), apply (to the original files; a conflict changes " +
			"nothing), branch (save as a branch), keep, or remove (if nothing is lost).",
		SideEffects: "may change the files of the repository or add a branch",
	}, w.exitAccess, w.exit), w}
}

// Unwrap returns the tool without previews.
func (t exitTool) Unwrap() tool.Tool { return t.Tool }

// Preview returns the files that apply would change.
func (t exitTool) Preview(ctx context.Context, c *tool.Call) (p tool.Preview, err error) {
	var in exitIn
	if err := json.Unmarshal(c.Args, &in); err != nil || in.Action != "apply" {
		return p, err
	}
	w := t.trees
	w.mu.Lock()
	defer w.mu.Unlock()
	tree, err := w.target(ctx, in.Name)
	if err != nil {
		return p, err
	}
	changes, err := tree.Plan(ctx, true)
	for _, c := range changes {
		p.Changes = append(p.Changes, tool.Change{
			Path:    c.Path,
			Before:  c.Before,
			After:   c.After,
			Existed: c.Existed,
			Exists:  c.Exists,
		})
	}
	return p, err
}

// exitAccess returns what leaving a worktree changes. It returns nothing for calls that will fail.
func (w *worktrees) exitAccess(ctx context.Context, _ *tool.Call, in exitIn) []policy.Access {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := []policy.Access{}
	t, err := w.target(ctx, in.Name)
	if err != nil {
		return list
	}
	switch in.Action {
	case "apply":
		changes, err := t.Plan(ctx, false)
		if err != nil {
			return list
		}
		to, _ := w.original(t).(env.Confined)
		for _, c := range changes {
			kind := policy.Write
			if !c.Exists {
				kind = policy.Delete
			}
			list = append(list, policy.Access{Kind: kind, Target: c.Path, Host: to != nil && to.Allows(c.Path)})
		}
	case "branch":
		list = append(list, policy.Access{Kind: policy.Exec, Target: "git branch " + t.Branch(), Dir: t.Top})
	}
	return list
}

// target returns the worktree with this name, or the session's own if the name is ""; w.mu is held.
func (w *worktrees) target(ctx context.Context, of string) (*worktree.Tree, error) {
	if of == "" && w.current == "" {
		return nil, fmt.Errorf("the session is not in a worktree; pass the name of one")
	}
	if of == "" || w.current != "" && of == name(w.current) {
		return w.open[w.current], nil
	}
	for id, t := range w.open {
		if name(id) == of {
			return t, nil
		}
	}
	found, err := w.store.Find(w.home.Info().Dir, of)
	if err != nil {
		return nil, err
	}
	return w.get(ctx, w.home, found.ID, worktree.Options{})
}

func (w *worktrees) exit(ctx context.Context, c *tool.Call, in exitIn) (tool.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, err := w.target(ctx, in.Name)
	if err != nil {
		return tool.Failure(tool.ValidationError, "%v.", err), nil
	}
	if why := w.unusable(t, in.Action); why != "" {
		return tool.Failure(tool.ValidationError, "%s", why), nil
	}
	res, err := w.finish(ctx, c, t, in)
	if err != nil {
		return failedTree(err), nil
	}
	if in.Action == "diff" || t.ID != w.current {
		return res, nil
	}
	if err := w.session.Reconfigure(ctx, agent.Change{Env: w.home}); err != nil {
		return failedTree(err), nil
	}
	w.current = ""
	if in.Action != "remove" { // it is already closed
		delete(w.open, t.ID)
		err = t.Close()
	}
	if err != nil {
		return failedTree(err), nil
	}
	if res.Fields == nil {
		res.Fields = map[string]any{}
	}
	res.Fields[fieldLeft] = t.ID
	res.Notes = append(res.Notes, fmt.Sprintf("Switched back to %s.", w.home.Info().Dir))
	return res, nil
}

// original returns the environment that a worktree was created from, or nil if the session does not have it.
func (w *worktrees) original(t *worktree.Tree) env.Environment {
	if w.home.Info().Dir == t.From {
		return w.home
	}
	for _, o := range w.open {
		if e, err := o.Env(); err == nil && o.Dir() == t.From {
			return e
		}
	}
	return nil
}

// unusable returns why an action is not possible.
func (w *worktrees) unusable(t *worktree.Tree, action string) string {
	if !slices.Contains([]string{"diff", "apply", "branch", "keep", "remove"}, action) {
		return fmt.Sprintf("Unknown action %q: use diff, apply, branch, keep or remove.", action)
	}
	if w.original(t) == nil && (action == "apply" || action == "branch") {
		return fmt.Sprintf("Worktree %s was created from %s, which this session does not work in.", t.Name(), t.From)
	}
	for _, a := range w.session.Agents() {
		if a.Worktree == t.ID && a.Status == event.SubagentRunning {
			return fmt.Sprintf("Agent %s still works in worktree %s. Wait for it first.", a.Path, t.Name())
		}
	}
	return ""
}

// finish performs an action on a worktree; w.mu is held.
func (w *worktrees) finish(ctx context.Context, c *tool.Call, t *worktree.Tree, in exitIn) (tool.Result, error) {
	switch in.Action {
	case "diff":
		diff, err := t.Diff(ctx)
		if err != nil || diff != "" {
			return tool.Result{Output: tool.Text(diff)}, err
		}
		return tool.Success("Worktree %s has no changes.", t.Name()), nil
	case "apply":
		return w.apply(ctx, c, t)
	case "branch":
		branch, err := t.SaveBranch(ctx, w.original(t), in.Message)
		if err != nil {
			return tool.Result{}, err
		}
		res := tool.Success("The changes are on branch %s of %s.", branch, t.Top)
		res.Fields = map[string]any{"branch": branch}
		return res, nil
	case "remove":
		if err := t.Clean(ctx); err != nil {
			return tool.Result{}, err
		}
		if err := t.Remove(ctx); err != nil {
			return tool.Result{}, err
		}
		delete(w.open, t.ID)
		w.fire(ctx, hook.WorktreeRemove, t)
		return tool.Success("Worktree %s was removed.", t.Name()), nil
	}
	return tool.Success("Worktree %s was kept.", t.Name()), nil
}

// apply applies the changes of a worktree to the original files, but only to those that the call declared.
func (w *worktrees) apply(ctx context.Context, c *tool.Call, t *worktree.Tree) (tool.Result, error) {
	to := w.original(t)
	if policy.LeavesSandbox(c.Accesses) && w.current == "" { // approved
		to, _ = env.Outside(to)
	}
	files, err := t.Apply(ctx, to, func(path string) bool {
		return slices.ContainsFunc(c.Accesses, func(a policy.Access) bool {
			return a.Target == path && (a.Kind == policy.Write || a.Kind == policy.Delete)
		})
	})
	if err != nil {
		return tool.Result{}, err
	}
	if len(files) == 0 {
		return tool.Success("There is nothing to apply."), nil
	}
	res := tool.Success("%d files were changed in %s:\n%s", len(files), t.Top, strings.Join(files, "\n"))
	paths := w.home.Info().Paths()
	for _, f := range files {
		res.Artifacts.FilesChanged = append(res.Artifacts.FilesChanged, paths.Join(t.Top, f))
	}
	return res, nil
}
