package rules

import (
	"context"
	"slices"

	"github.com/reins-agent/reins/internal/shell"
	"github.com/reins-agent/reins/policy"
)

// Within reports whether rules name everything that a call does: its tool, or each access and each command in its
// lines. Unlike [Policy], it does not accept calls because they only read, except for changing the directory.
func Within(ctx context.Context, q policy.Query, rules []Rule) bool {
	if slices.ContainsFunc(rules, func(r Rule) bool { return r.named(q.Tool) }) {
		return true
	}
	q.Mode = policy.ModeDefault
	j := &judge{ctx: ctx, q: q, rules: Policy{Allow: rules}}
	return len(q.Accesses) > 0 && !slices.ContainsFunc(q.Accesses, func(a policy.Access) bool { return !j.names(a) })
}

// names reports whether a rule names an access.
func (j *judge) names(a policy.Access) bool {
	if a.Kind != policy.Exec {
		return slices.ContainsFunc(j.rules.Allow, func(r Rule) bool {
			return a.Kind == policy.Connect && r.connects(a.Target, true) ||
				a.Kind != policy.Connect && j.concerns(r, file{Access: a}) && r.matches(j.q.Workspace, a.Target)
		})
	}
	w := j.q.Workspace
	dir := a.Dir
	if dir == "" {
		dir = w.Dir
	}
	effects, err := shell.Analyze(a.Target, shell.Options{Dir: dir, Home: w.Home, Paths: w.Paths, Shell: w.Shell})
	return err == nil && !slices.ContainsFunc(effects, func(e shell.Effect) bool { return !j.namesEffect(e) })
}

// namesEffect reports whether a rule names a command, or the file that a redirection writes.
func (j *judge) namesEffect(e shell.Effect) bool {
	if _, ok := j.grants(e); ok || len(e.Words) > 0 && e.Words[0] == "cd" {
		return true
	}
	return len(e.Words) == 0 && e.Unknown == "" && !slices.ContainsFunc(e.Accesses, func(x shell.Access) bool {
		return policy.Kind(x.Kind) != policy.Read && !j.names(policy.Access{Kind: policy.Kind(x.Kind), Target: x.Path})
	})
}
