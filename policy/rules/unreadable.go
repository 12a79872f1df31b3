package rules

import (
	"context"
	"slices"
	"strings"

	"github.com/reins-agent/reins/policy"
)

// Unreadable returns files and directories that rules deny to read: existing paths in the workspace, and paths that a
// rule names elsewhere. An environment can hide them from commands. It examines a limited number of files.
func (p Policy) Unreadable(ctx context.Context, w policy.Workspace) (paths []string) {
	var deny []Rule
	for _, r := range p.Deny {
		if slices.Contains(r.kinds, policy.Read) && r.pattern != "" {
			deny = append(deny, r)
		}
	}
	if len(deny) == 0 || w.Files == nil {
		return nil
	}
	for _, r := range deny {
		paths = append(paths, r.literal(w)...)
	}
	left := maxFiles
	for _, dir := range append([]string{w.Dir}, w.Roots...) {
		paths = append(paths, denied(ctx, w, deny, dir, &left)...)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// Ruled is a policy that applies rules.
type Ruled interface{ PolicyRules() Policy }

// PolicyRules implements [Ruled].
func (p Policy) PolicyRules() Policy { return p }

// Of returns a policy's rules, or none.
func Of(p policy.Policy) Policy {
	if r, ok := p.(Ruled); ok {
		return r.PolicyRules()
	}
	return Policy{}
}

// DeniesRead returns a function that reports whether rules deny to read an absolute path, or nil if they deny none.
func (p Policy) DeniesRead(w policy.Workspace) func(path string) bool {
	var deny []Rule
	for _, r := range p.Deny {
		if slices.Contains(r.kinds, policy.Read) && r.pattern != "" {
			deny = append(deny, r)
		}
	}
	if len(deny) == 0 {
		return nil
	}
	return func(path string) bool {
		return slices.ContainsFunc(deny, func(r Rule) bool { return r.matches(w, path) })
	}
}

// literal returns the path that a rule names, if it names a path outside the workspace.
func (r Rule) literal(w policy.Workspace) []string {
	pattern, _ := strings.CutSuffix(r.pattern, "/**")
	if strings.ContainsAny(pattern, "*?[") {
		return nil
	}
	if rest, ok := strings.CutPrefix(pattern, "//"); ok {
		return []string{w.Paths.Clean("/" + rest)}
	}
	if rest, ok := strings.CutPrefix(pattern, "~/"); ok && w.Home != "" {
		return []string{w.Paths.Join(w.Home, rest)}
	}
	return nil
}

// denied returns the files below a directory that a rule matches.
func denied(ctx context.Context, w policy.Workspace, rules []Rule, dir string, left *int) (paths []string) {
	rules = slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return !r.mayMatchBelow(w, dir) })
	if len(rules) == 0 {
		return nil
	}
	entries, _ := w.Files.ReadDir(ctx, dir)
	for _, e := range entries {
		if *left--; *left < 0 {
			return paths
		}
		path := w.Paths.Join(dir, e.Name)
		switch {
		case slices.ContainsFunc(rules, func(r Rule) bool { return r.matches(w, path) }):
			paths = append(paths, path)
		case e.IsDir() && e.Name != ".git" && e.Name != "node_modules":
			paths = append(paths, denied(ctx, w, rules, path, left)...)
		}
	}
	return paths
}
