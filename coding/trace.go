package coding

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/reins-agent/reins/checkpoint"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/internal/shell"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// maxTraced is the maximum number of changes of one call that are listed.
const maxTraced = 5000

// tracing finds out what one call writes.
type tracing struct {
	store  *checkpoint.Store
	named  targets
	before map[string]string // what is at the named paths, if the whole workspace need not be compared
	view   *checkpoint.View
	failed bool
}

// Trace implements agent.Tracer. A tool that only changes files names them. The changes of a command are found by
// comparing the workspace before and after it: they are the command's changes if it names the files. If it is known all
// that the command does, the others are not.
func (c Checkpoints) Trace(ctx context.Context, call tool.Call) func(context.Context, tool.Result) ([]tool.Wrote, tool.Untraced) {
	n, writes := c.targets(call)
	if !writes {
		return func(context.Context, tool.Result) ([]tool.Wrote, tool.Untraced) { return nil, "" }
	}
	t := &tracing{store: c.Store, named: n}
	var err error
	if n.commands {
		t.view, err = c.View(ctx, nil)
	} else {
		t.before, err = c.Identify(ctx, n.paths()...)
	}
	t.failed = err != nil
	return t.end
}

// end returns the files that the call wrote.
func (t *tracing) end(ctx context.Context, res tool.Result) ([]tool.Wrote, tool.Untraced) {
	if t.failed {
		return nil, tool.UntracedFailed
	}
	var wrote []tool.Wrote
	if t.view == nil {
		after, err := t.store.Identify(ctx, slices.Collect(maps.Keys(t.before))...)
		if err != nil {
			return nil, tool.UntracedFailed
		}
		for _, p := range slices.Sorted(maps.Keys(t.before)) {
			if t.before[p] != after[p] {
				wrote = append(wrote, tool.Wrote{Path: p, Before: t.before[p], After: after[p]})
			}
		}
		return wrote, ""
	}
	after, err := t.store.View(ctx, t.view)
	if err != nil {
		return nil, tool.UntracedFailed
	}
	writes := t.view.Writes(after)
	t.named.fresh = map[string]bool{}
	for _, w := range writes {
		if w.Before == "" || w.After == "" {
			t.named.fresh[path.Join(t.named.root, w.Path)] = true
		}
	}
	for _, w := range writes {
		if named := t.named.include(w); named || !t.named.complete {
			wrote = append(wrote, tool.Wrote{
				Path:    w.Path,
				Before:  w.Before,
				After:   w.After,
				Command: true,
				Unsure:  !named,
			})
		}
	}
	switch {
	case len(wrote) > maxTraced:
		return nil, tool.UntracedMany
	case runsOn(res):
		return wrote, tool.UntracedBackground
	}
	return wrote, ""
}

// runsOn reports whether a call left something running.
func runsOn(res tool.Result) bool {
	_, started := res.Fields["pid"]
	_, ended := res.Fields["exit_code"]
	_, left := res.Fields["background_processes"]
	return left || started && !ended
}

// targets are the files that a call may change.
type targets struct {
	commands bool // it runs commands
	complete bool // it changes nothing else
	accesses []shell.Access
	copied   []string        // their contents were copied or moved, if they are fresh
	fresh    map[string]bool // created or removed paths
	root     string          // the workspace
}

// targets returns the paths that a call names, and whether it may change the workspace at all.
func (c Checkpoints) targets(call tool.Call) (n targets, writes bool) {
	n = targets{complete: true, root: c.Dir()}
	if call.Accesses == nil { // it does not declare them
		return targets{commands: true, root: n.root}, true
	}
	for _, a := range call.Accesses {
		switch a.Kind {
		case policy.Write, policy.Delete:
			n.accesses = append(n.accesses, shell.Access{Kind: shell.Kind(a.Kind), Path: c.Real(a.Target)})
			writes = true
		case policy.Exec:
			if !n.line(c.Store, call.Env, a) {
				continue
			}
			n.commands, writes = true, true
		case policy.Input, policy.Configure:
			n.commands, n.complete, writes = true, false, true
		}
	}
	return n, writes
}

// line adds the paths that a command line names. It reports false if the commands cannot change the workspace.
func (n *targets) line(s *checkpoint.Store, e env.Environment, a policy.Access) bool {
	info := e.Info()
	if l := info.Limits; l != nil && l.Sandbox != "" && !a.Outside && !slices.ContainsFunc(l.Writable, func(w string) bool {
		return info.Paths().Within(w, n.root) || info.Paths().Within(n.root, w)
	}) {
		return false
	}
	effects, err := shell.Analyze(a.Target, shell.Options{Dir: info.Paths().Abs(info.Dir, a.Dir), Paths: info.Paths(), Shell: info.Shell})
	if err != nil {
		n.complete = false
		return true
	}
	changes := false
	for _, e := range effects {
		if e.Unknown != "" || e.Confined {
			n.complete, changes = false, true
		}
		for _, x := range e.Accesses {
			if x.Kind != shell.Read {
				x.Path, changes = s.Real(x.Path), true
				n.accesses = append(n.accesses, x)
			}
		}
		for _, c := range e.Copies {
			n.copied = append(n.copied, s.Real(c[0]), s.Real(c[1]))
		}
	}
	return changes
}

// paths returns the named files and the directories above them, which may not exist.
func (n *targets) paths() (list []string) {
	for _, a := range n.accesses {
		list = append(list, a.Path)
		for dir := path.Dir(a.Path); len(dir) > len(n.root); dir = path.Dir(dir) {
			list = append(list, dir)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// include reports whether the call names what changed.
func (n *targets) include(w checkpoint.Write) bool {
	p := path.Join(n.root, w.Path)
	directory := strings.HasPrefix(w.Before+w.After, "d")
	return slices.ContainsFunc(n.accesses, func(a shell.Access) bool {
		switch {
		case a.Path == p:
			return true
		case directory && strings.HasPrefix(a.Path, p+"/"): // a directory above
			return true
		case a.Glob:
			ok, err := doublestar.Match(a.Path, p)
			return ok && err == nil
		}
		return a.Deep && a.Kind == shell.Delete && len(a.Path) > len(n.root) && strings.HasPrefix(p, a.Path+"/")
	}) || slices.ContainsFunc(n.copied, func(c string) bool { return n.fresh[c] && strings.HasPrefix(p, c+"/") })
}
