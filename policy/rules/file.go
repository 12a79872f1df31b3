package rules

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/internal/credential"
	"github.com/reins-agent/reins/internal/lazy"
	"github.com/reins-agent/reins/policy"
)

// file is an access to files.
type file struct {
	policy.Access
	glob    bool // the target is a pattern
	deep    bool // everything below is used too
	visible bool // but not hidden files
	names   []string
	pattern string // the pattern whose directory is the target
	follow  bool
	split   bool   // names below are split at blanks
	command bool   // a rule allows the command that uses it
	line    bool   // a command line uses it
	whole   bool   // it is deleted or moved away completely
	lifted  bool   // a rule names the command that uses it
	wanted  string // the rule that would name it
}

// maxFiles limits the files that are examined for one decision.
const maxFiles = 20_000

// file decides on an access to a file, or to all files that a pattern matches.
func (j *judge) file(f file) policy.Decision {
	if d, ok := j.byName(f); ok {
		return d
	}
	if d, ok := j.neverPattern(f); ok {
		return d
	}
	targets, err := j.resolve(f)
	if err != nil {
		// Devices cannot be resolved, and are denied by their names.
		if d, ok := j.neverFile(f); ok {
			return d
		}
		return j.asks("unresolved", f.String()+": "+err.Error())
	}
	if base := path.Base(f.Target); f.glob && strings.Contains(f.Target, "**") {
		f.deep, f.visible = true, f.visible || base[0] != '.'
		if base != "**" {
			f.names = []string{base}
		}
	}
	strictest := j.reads()
	for i, t := range targets {
		g := f
		if g.Target = t; f.glob && i == 0 { // the pattern's directory
			g.pattern = f.Target
		}
		g.deep = f.deep && (!f.glob || i > 0 || strings.Contains(f.Target, "**"))
		if d, ok := j.neverFile(g); ok && (!f.glob || i > 0 || g.deep) {
			return d
		}
		if d := j.path(g); i == 0 || d.Verdict < strictest.Verdict {
			strictest = d
		}
	}
	return strictest
}

// byName decides on a pattern that a rule's own name matches, whether such a file exists or not.
func (j *judge) byName(f file) (policy.Decision, bool) {
	if !f.glob {
		return policy.Decision{}, false
	}
	base := path.Base(f.Target)
	match := func(r Rule) bool {
		name := path.Base(strings.TrimRight(r.pattern, "/*"))
		if r.pattern == "" || !j.concerns(r, f) || base != name && (strings.ContainsAny(name, "*?[") || !matchesName(base, name)) {
			return false
		}
		return r.matches(j.q.Workspace, path.Dir(f.Target)+"/"+name) && !strings.HasSuffix(r.pattern, "/**")
	}
	_, what := describe(f.Access)
	if r, ok := find(j.rules.Deny, match); ok {
		return byRule(policy.Deny, r, what), true
	}
	if r, ok := find(j.rules.Ask, match); ok {
		return byRule(policy.Ask, r, what), true
	}
	return policy.Decision{}, false
}

// brackets matches patterns that shells and Go understand differently.
var brackets = lazy.Regexp(`\[[!^]?\]?([^\]\[]|\[:[a-z]*:\]|\[)*\]`)

// matchesName reports whether a name may match a shell pattern.
func matchesName(pattern, name string) bool {
	pattern = strings.ReplaceAll(brackets().ReplaceAllString(pattern, "?"), `\`, "")
	if i := strings.IndexByte(pattern, '['); i >= 0 {
		pattern = pattern[:i] + "*"
	}
	ok, err := path.Match(pattern, name)
	return err != nil || ok && (name[0] != '.' || pattern[0] == '.')
}

// resolve returns the real paths for a command's access. A tool declares real paths itself.
func (j *judge) resolve(f file) ([]string, error) {
	w := j.q.Workspace
	if f.glob {
		return j.expand(f.Target)
	}
	if w.Files == nil || !w.Paths.IsAbs(f.Target) {
		return []string{f.Target}, nil
	}
	through := strings.HasSuffix(f.Target, "/")
	if base := w.Paths.Base(f.Target); f.Kind == policy.Delete && base != ".." && !through { // deleting a link does not touch its target
		real, err := j.real(strings.TrimSuffix(strings.TrimRight(f.Target, "/"), base))
		return []string{w.Paths.Join(real, base)}, err
	}
	real, err := j.real(f.Target)
	return []string{real}, err
}

// real resolves a path as the system does: ".." is the parent of the directory that a link before it points to.
func (j *judge) real(p string) (string, error) {
	w := j.q.Workspace
	elements := strings.Split(w.Paths.ToSlash(p), "/")
	done := elements[0]
	for _, e := range elements[1:] {
		if e != ".." {
			done += "/" + e
			continue
		}
		real, err := w.Files.RealPath(j.ctx, cmp.Or(done, "/"))
		if err != nil {
			return "", errors.New("it cannot be resolved")
		}
		done = strings.TrimSuffix(w.Paths.ToSlash(w.Paths.Dir(real)), "/")
	}
	real, err := w.Files.RealPath(j.ctx, cmp.Or(done, "/"))
	if err != nil {
		return "", errors.New("it cannot be resolved")
	}
	return real, nil
}

// expand returns the files that a pattern matches now, or the directory that it begins with.
func (j *judge) expand(pattern string) ([]string, error) {
	w := j.q.Workspace
	dir := pattern[:strings.IndexAny(pattern, "*?[")]
	dir = dir[:strings.LastIndexByte(dir, '/')+1]
	if w.Files == nil {
		return []string{w.Paths.Clean(dir)}, nil
	}
	rest := pattern[len(dir):]
	dir, err := j.real(dir)
	if err != nil || strings.Contains(rest, "..") {
		return nil, errors.New("it cannot be resolved")
	}
	found := []string{}
	levels := strings.Split(rest, "/")
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
				if level == "**" {
					return []string{dir}, nil
				} else if matchesName(level, e.Name) {
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
func (j *judge) path(f file) policy.Decision {
	code, what := describe(policy.Access{Kind: f.Kind, Target: cmp.Or(f.pattern, f.Target)})
	w := j.q.Workspace
	for _, list := range []struct {
		rules   []Rule
		verdict policy.Verdict
	}{{j.rules.Deny, policy.Deny}, {j.rules.Ask, policy.Ask}} {
		if r, ok := find(list.rules, func(r Rule) bool {
			return j.concerns(r, f) && r.matches(w, f.Target) && !(f.glob && r.below(w, f.Target))
		}); ok {
			return byRule(list.verdict, r, what)
		}
		if f.deep {
			if d, ok := j.below(list.rules, list.verdict, f); ok {
				return d
			}
		}
	}
	if f.Kind != policy.Read {
		if why := protects(w, f.Target); why != "" && !j.named(j.rules.Allow, f.Target) {
			return policy.Decision{Verdict: policy.Deny, Code: "protected", Rule: "protected " + why,
				Reason: fmt.Sprintf(
					"%s, which is protected; only a rule that names it, such as Edit(%s), allows that",
					what, ruleFor(w, f.Target),
				)}
		}
	}
	inside, secret := inside(w, f.Target), f.Kind == policy.Read && masks(w, f.Target)
	if f.Kind == policy.Read && (!inside || secret) {
		j.reveal = append(j.reveal, f.Target)
	}
	allows := func(r Rule) bool { return j.concerns(r, f) && r.matches(w, f.Target) && (!secret || r.specific()) }
	if r, ok := find(j.rules.Allow, allows); ok &&
		(j.q.Mode != policy.ModePlan || f.Kind == policy.Read) {
		if f.Kind == policy.Read {
			return in(byRule(policy.Allow, r, what), policy.BoxRead)
		}
		return byRule(policy.Allow, r, what)
	}
	switch {
	case secret:
		return j.asks("reads_secret", what+", which holds credentials")
	case f.Kind == policy.Read && inside:
		return j.reads()
	case f.Kind == policy.Read && system(w, f.Target):
		return in(j.allows("reads_system", what+", a system file"), policy.BoxRead)
	case f.Kind == policy.Read:
		return j.asks("reads_outside", what+", outside the working directory")
	case f.Kind == policy.Delete && !f.command:
		return j.delete(f, what, inside)
	case inside && (j.q.Mode == policy.ModeAcceptEdits || j.q.Mode == policy.ModeAuto):
		return j.allows("edits_inside", what)
	case !inside:
		return j.asks("writes_outside", what+", outside the working directory")
	}
	return j.asks(code, what)
}

// delete decides on a deletion that no rule allows.
func (j *judge) delete(f file, what string, inside bool) policy.Decision {
	own := !f.deep && j.q.Workspace.Created != nil && j.q.Workspace.Created(f.Target)
	switch {
	case !inside:
		return j.asks("deletes_outside", what+", outside the working directory")
	case !own:
		return j.asks("deletes_foreign", what+", which this session did not create")
	case j.q.Mode == policy.ModeAcceptEdits || j.q.Mode == policy.ModeAuto:
		return j.allows("edits_inside", what)
	}
	return j.asks("deletes", what)
}

// concerns reports whether a rule is about accesses of this kind.
func (j *judge) concerns(r Rule, f file) bool { return r.covers(j.q.Tool, f.Kind) }

// named reports whether a rule names a path rather than all of them.
func (j *judge) named(rules []Rule, target string) bool {
	return slices.ContainsFunc(rules, func(r Rule) bool {
		return r.specific() && slices.Contains(r.kinds, policy.Write) && r.matches(j.q.Workspace, target)
	})
}

// specific reports whether a rule names paths rather than all paths.
func (r Rule) specific() bool { return strings.Trim(r.pattern, "*/.~") != "" }

// systemFiles are system files that are the same for everybody.
var systemFiles = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/os-release", "/etc/debian_version", "/etc/alternatives",
	"/proc/cpuinfo", "/proc/meminfo", "/proc/version", "/proc/uptime", "/proc/loadavg", "/proc/filesystems",
}

// system reports whether a path is a system file.
func system(w policy.Workspace, target string) bool {
	return slices.ContainsFunc(systemFiles, func(dir string) bool { return strings.HasPrefix(target, dir) && w.Paths.Within(dir, target) })
}

// masks reports whether a file holds credentials.
func masks(w policy.Workspace, target string) bool {
	list := w.Masked
	if list == nil && w.Home != "" {
		list = credential.Files(w.Home)
	}
	return slices.ContainsFunc(list, func(m string) bool { return strings.HasPrefix(target, m) && w.Paths.Within(m, target) })
}

// below decides on a directory that is searched: whether a file in it has a rule.
func (j *judge) below(rules []Rule, v policy.Verdict, f file) (policy.Decision, bool) {
	w := j.q.Workspace
	s := search{judge: j, file: f, verdict: v}
	for _, r := range rules {
		if j.concerns(r, f) && r.pattern != "" && r.mayMatchBelow(w, f.Target) {
			s.rules = append(s.rules, r)
		}
	}
	if len(s.rules) == 0 && !f.follow && !f.split || w.Files == nil {
		return policy.Decision{}, false
	}
	return s.walk(f.Target)
}

// search looks for files below a directory that have a rule.
type search struct {
	*judge
	file    file
	rules   []Rule
	verdict policy.Verdict
	seen    int
	links   []string // directories that links led to
}

func (s *search) walk(dir string) (policy.Decision, bool) {
	w := s.q.Workspace
	entries, _ := w.Files.ReadDir(s.ctx, dir)
	for _, e := range entries {
		if s.seen++; s.seen > maxFiles {
			return s.asks("unresolved", fmt.Sprintf("searches %s, which has more than %d files", s.file.Target, maxFiles)), true
		}
		if s.file.visible && strings.HasPrefix(e.Name, ".") {
			continue
		}
		p := w.Paths.Join(dir, e.Name)
		if e.IsDir() {
			if s.file.split && splits().MatchString(e.Name) {
				return s.asks("unresolved", fmt.Sprintf("splits the name %q, which becomes another path", p)), true
			}
			if e.Name != ".git" && e.Name != "node_modules" {
				if d, ok := s.walk(p); ok {
					return d, true
				}
				continue
			}
		} else if len(s.file.names) > 0 && !slices.ContainsFunc(s.file.names, func(n string) bool { return matchesName(n, e.Name) }) {
			continue
		}
		if d, ok := s.entry(p, e); ok {
			return d, true
		}
	}
	return policy.Decision{}, false
}

// splits matches directory names that, split at blanks and without quotes and backslashes, or as a pattern, make the
// rest of a path absolute or a path in the parent directory.
var splits = lazy.Regexp(`\s(\.\.)?$|[\\'"]|^\.+[*?[]`)

// entry decides on a file below the directory, or on a link's target if links are followed.
func (s *search) entry(p string, e env.FileInfo) (policy.Decision, bool) {
	w := s.q.Workspace
	what := "searches " + s.file.Target + ", which contains " + p
	if s.file.follow && e.Mode&fs.ModeSymlink != 0 {
		real, err := w.Files.RealPath(s.ctx, p)
		if err != nil || !inside(w, real) {
			return s.asks("reads_outside", what+", a link to "+real+", outside the working directory"), true
		}
		p = real
		if !w.Paths.Within(s.file.Target, real) && !slices.Contains(s.links, real) {
			s.links = append(s.links, real)
			if d, ok := s.walk(real); ok {
				return d, true
			}
		}
	}
	if r, ok := find(s.rules, func(r Rule) bool { return r.matches(w, p) }); ok {
		return byRule(s.verdict, r, what), true
	}
	return policy.Decision{}, false
}

// copies decides on the files below a directory that is copied to another place.
func (j *judge) copies(from, to string) policy.Decision {
	w, seen := j.q.Workspace, 0
	allow := j.reads()
	if w.Files == nil {
		return allow
	}
	check := func(target string) policy.Decision {
		d := j.path(file{Access: policy.Access{Kind: policy.Write, Target: target}})
		switch {
		case d.Code == "protected":
			d.Verdict = policy.Ask // a copied project has such names
		case d.Verdict != policy.Deny && d.Code != "asked_by_rule":
			return allow
		}
		return d
	}
	var walk func(from, to string) policy.Decision
	walk = func(from, to string) policy.Decision {
		entries, _ := w.Files.ReadDir(j.ctx, from)
		for _, e := range entries {
			if seen++; seen > maxFiles {
				return j.asks("unresolved", fmt.Sprintf("copies more than %d files", maxFiles))
			}
			target := w.Paths.Join(to, e.Name)
			if d := check(target); d.Verdict != policy.Allow {
				return d
			}
			if !e.IsDir() {
				continue
			}
			if d := walk(w.Paths.Join(from, e.Name), target); d.Verdict != policy.Allow {
				return d
			}
		}
		return allow
	}
	if !strings.ContainsAny(from, "*?[") {
		return walk(from, to)
	}
	found, err := j.expand(from)
	if err != nil {
		return j.asks("unresolved", "copies "+from+": "+err.Error())
	}
	for _, f := range found[1:] {
		target := w.Paths.Join(to, w.Paths.Base(f))
		if d := check(target); d.Verdict != policy.Allow {
			return d
		}
		if d := walk(f, target); d.Verdict != policy.Allow {
			return d
		}
	}
	return allow
}

// ruleFor returns the pattern that names a path.
func ruleFor(w policy.Workspace, target string) string {
	if rel, ok := w.Paths.Rel(w.Dir, target); ok {
		return "/" + rel
	}
	return "/" + w.Paths.ToSlash(target)
}

// describe explains an access.
func describe(a policy.Access) (code, reason string) {
	switch a.Kind {
	case policy.Read:
		return "reads", "reads " + a.Target
	case policy.Write:
		return "writes", "writes " + a.Target
	case policy.Delete:
		return "deletes", "deletes " + a.Target
	case policy.Exec:
		return "runs", "runs: " + a.Target
	case policy.Connect:
		return "connects", "connects to " + a.Target
	}
	return "unknown_access", a.String()
}

// inside reports whether a path is in the workspace.
func inside(w policy.Workspace, path string) bool {
	return w.Paths.Within(w.Dir, path) || slices.ContainsFunc(w.Roots, func(r string) bool { return w.Paths.Within(r, path) })
}
