package policy

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// file is an access to files.
type file struct {
	Access
	glob    bool // the target is a pattern
	deep    bool // everything below is used too
	visible bool // but hidden files are not
	command bool // a rule allows the command that uses it
}

// maxFiles bounds the files that are looked at for one decision.
const maxFiles = 20_000

// file decides on an access to a file, or to all files that a pattern matches.
func (j *judge) file(f file) Decision {
	if d, ok := j.byName(f); ok {
		return d
	}
	targets, err := j.resolve(f)
	if err != nil {
		return j.asks("unresolved", f.String()+": "+err.Error())
	}
	f.deep = f.deep || f.glob && strings.Contains(f.Target, "**")
	strictest := j.allows("reads_inside", "only reads inside the working directory")
	for i, t := range targets {
		g := f
		g.Target = t
		if d := j.path(g); i == 0 || d.Verdict < strictest.Verdict {
			strictest = d
		}
	}
	return strictest
}

// byName decides on a pattern that a rule's own name matches, whether such a file exists or not.
func (j *judge) byName(f file) (Decision, bool) {
	if !f.glob {
		return Decision{}, false
	}
	base := path.Base(f.Target)
	match := func(r Rule) bool {
		name := path.Base(strings.TrimRight(r.pattern, "/*"))
		ok, _ := path.Match(base, name)
		return ok && j.concerns(r, f) && r.pattern != "" && !strings.ContainsAny(name, "*?[") && (base[0] == '.') == (name[0] == '.')
	}
	_, what := describe(f.Access)
	if r, ok := find(j.rules.Deny, match); ok {
		return byRule(Deny, r, what), true
	}
	if r, ok := find(j.rules.Ask, match); ok {
		return byRule(Ask, r, what), true
	}
	return Decision{}, false
}

// resolve returns the real paths of an access by a command. A tool declares real paths itself.
func (j *judge) resolve(f file) ([]string, error) {
	w := j.q.Workspace
	if f.glob {
		return j.expand(f.Target)
	}
	if w.Files == nil || !w.Paths.IsAbs(f.Target) {
		return []string{f.Target}, nil
	}
	if f.Kind == Delete { // deleting a link does not touch what it points to
		dir, err := w.Files.RealPath(j.ctx, w.Paths.Dir(f.Target))
		return []string{w.Paths.Join(dir, w.Paths.Base(f.Target))}, err
	}
	real, err := w.Files.RealPath(j.ctx, f.Target)
	if err != nil {
		return nil, errors.New("it cannot be resolved")
	}
	return []string{real}, nil
}

// expand returns the files that a pattern matches now, or the directory that it begins with.
func (j *judge) expand(pattern string) ([]string, error) {
	w := j.q.Workspace
	dir := pattern[:strings.IndexAny(pattern, "*?[")]
	dir = dir[:strings.LastIndexByte(dir, '/')+1]
	dir = w.Paths.Clean(dir)
	if w.Files == nil || strings.ContainsAny(pattern, "{}") {
		return []string{dir}, nil
	}
	found := []string{}
	levels := strings.Split(strings.TrimPrefix(pattern[len(strings.TrimSuffix(dir, "/")):], "/"), "/")
	dirs := []string{dir}
	seen := 0
	for i, level := range levels {
		var next []string
		for _, d := range dirs {
			entries, err := w.Files.ReadDir(j.ctx, d)
			if err != nil {
				continue
			}
			if seen += len(entries); seen > maxFiles {
				return nil, fmt.Errorf("more than %d files", maxFiles)
			}
			for _, e := range entries {
				if ok, err := path.Match(level, e.Name); err != nil || level == "**" {
					return []string{dir}, nil
				} else if ok && (e.Name[0] != '.' || level[0] == '.') {
					next = append(next, w.Paths.Join(d, e.Name))
				}
			}
		}
		if dirs = next; i == len(levels)-1 {
			found = next
		}
	}
	real := []string{dir}
	for _, p := range found {
		r, err := w.Files.RealPath(j.ctx, p)
		if err != nil {
			return nil, err
		}
		real = append(real, r)
	}
	return real, nil
}

// path decides on one path.
func (j *judge) path(f file) Decision {
	code, what := describe(f.Access)
	w := j.q.Workspace
	for _, list := range []struct {
		rules   []Rule
		verdict Verdict
	}{{j.rules.Deny, Deny}, {j.rules.Ask, Ask}} {
		if r, ok := find(list.rules, func(r Rule) bool { return j.concerns(r, f) && r.matches(w, f.Target) }); ok {
			return byRule(list.verdict, r, what)
		}
		if f.deep {
			if d, ok := j.below(list.rules, list.verdict, f); ok {
				return d
			}
		}
	}
	if f.Kind != Read {
		if why := Protected(w, f.Target); why != "" && !j.named(j.rules.Allow, f.Target) {
			return Decision{Verdict: Deny, Code: "protected", Rule: "protected " + why,
				Reason: fmt.Sprintf("%s, which is protected; only a rule that names it, such as Edit(%s), allows that", what, ruleFor(w, f.Target))}
		}
	}
	if r, ok := find(j.rules.Allow, func(r Rule) bool { return j.concerns(r, f) && r.matches(w, f.Target) }); ok && (j.q.Mode != ModePlan || f.Kind == Read) {
		return byRule(Allow, r, what)
	}
	inside := w.inside(f.Target)
	switch {
	case f.Kind == Read && inside:
		return j.allows("reads_inside", "only reads inside the working directory")
	case f.Kind == Read:
		return j.asks("reads_outside", what+", outside the working directory")
	case f.Kind == Delete && !f.command:
		return j.delete(f, what, inside)
	case inside && (j.q.Mode == ModeAcceptEdits || j.q.Mode == ModeAuto):
		return j.allows("edits_inside", what)
	case !inside:
		return j.asks("writes_outside", what+", outside the working directory")
	}
	return j.asks(code, what)
}

// delete decides on a deletion that no rule allows.
func (j *judge) delete(f file, what string, inside bool) Decision {
	own := !f.deep && j.q.Workspace.Created != nil && j.q.Workspace.Created(f.Target)
	switch {
	case !inside:
		return j.asks("deletes_outside", what+", outside the working directory")
	case !own:
		return j.asks("deletes_foreign", what+", which this session did not create")
	case j.q.Mode == ModeAcceptEdits || j.q.Mode == ModeAuto:
		return j.allows("edits_inside", what)
	}
	return j.asks("deletes", what)
}

// concerns reports whether a rule is about accesses of this kind.
func (j *judge) concerns(r Rule, f file) bool { return r.covers(j.q.Tool, f.Kind) }

// named reports whether a rule names a path rather than all of them.
func (j *judge) named(rules []Rule, target string) bool {
	return slices.ContainsFunc(rules, func(r Rule) bool {
		return r.pattern != "" && strings.Trim(r.pattern, "*/.") != "" && slices.Contains(r.kinds, Write) && r.matches(j.q.Workspace, target)
	})
}

// below decides on a directory that is searched: whether a file in it has a rule.
func (j *judge) below(rules []Rule, v Verdict, f file) (Decision, bool) {
	w := j.q.Workspace
	var concerned []Rule
	for _, r := range rules {
		if j.concerns(r, f) && r.pattern != "" && r.mayMatchBelow(w, f.Target) {
			concerned = append(concerned, r)
		}
	}
	if len(concerned) == 0 || w.Files == nil {
		return Decision{}, false
	}
	seen := 0
	var walk func(dir string) (Decision, bool)
	walk = func(dir string) (Decision, bool) {
		entries, _ := w.Files.ReadDir(j.ctx, dir)
		for _, e := range entries {
			if seen++; seen > maxFiles {
				return j.asks("unresolved", fmt.Sprintf("searches %s, which has more than %d files, and rule %s may apply to one", f.Target, maxFiles, concerned[0])), true
			}
			if f.visible && strings.HasPrefix(e.Name, ".") {
				continue
			}
			p := w.Paths.Join(dir, e.Name)
			if r, ok := find(concerned, func(r Rule) bool { return r.matches(w, p) }); ok {
				d := byRule(v, r, "searches "+f.Target+", which contains "+p)
				return d, true
			}
			if e.IsDir() && e.Name != ".git" && e.Name != "node_modules" {
				if d, ok := walk(p); ok {
					return d, true
				}
			}
		}
		return Decision{}, false
	}
	return walk(f.Target)
}

// ruleFor returns the pattern that names a path.
func ruleFor(w Workspace, target string) string {
	if rel, ok := w.Paths.Rel(w.Dir, target); ok {
		return "/" + rel
	}
	return "/" + w.Paths.ToSlash(target)
}

// describe explains an access.
func describe(a Access) (code, reason string) {
	switch a.Kind {
	case Read:
		return "reads", "reads " + a.Target
	case Write:
		return "writes", "writes " + a.Target
	case Delete:
		return "deletes", "deletes " + a.Target
	case Exec:
		return "runs", "runs: " + a.Target
	case Connect:
		return "connects", "connects to " + a.Target
	}
	return "unknown_access", a.String()
}
