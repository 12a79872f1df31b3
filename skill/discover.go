package skill

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Options configures where to look for skills. The zero Options finds built-in skills only.
type Options struct {
	Home   string // the user's home directory; "" skips the user's skills
	Config string // Reins's user configuration directory; "" if there is none
	Claude string // Claude Code's configuration directory; "" means .claude in Home
	Codex  string // codex's configuration directory; "" means .codex in Home
	// Paths are additional skills or skill directories.
	Paths []string
	// Project is the project root. It must be empty unless the user trusts the project: project skills instruct the
	// agent.
	Project string
	// Dir is the working directory, inside Project if that is set.
	Dir string
	// Disable names skills that are not loaded.
	Disable []string
}

// Problem reports a skill that was not loaded, with the reason.
type Problem struct {
	Path   string
	Reason string
}

func (p Problem) Error() string { return fmt.Sprintf("skipping %s: %s", p.Path, p.Reason) }

const (
	maxDepth = 4    // directory levels between a place and a skill
	maxDirs  = 2000 // directories that are read in one place
)

// place is a directory to search.
type place struct {
	dir    string
	source Source
	find   func(*finder, place)
	bounds bounds
}

// Discover finds skills. Lowest priority first, these are the built-in skills, the user's skills, configured skills,
// and project skills from the root to the working directory. A skill replaces lower skills with the same name. Skills
// that cannot be loaded are listed in [Registry.Problems].
func Discover(o Options) *Registry {
	f := &finder{registry: &Registry{}, disabled: o.Disable, seen: map[string]bool{}}
	for _, s := range builtins(o.Dir) {
		f.add(s)
	}
	for _, p := range o.places() {
		f.seen = map[string]bool{} // directories in this place
		p.find(f, p)
	}
	return f.registry
}

// places lists the places, lowest priority first.
func (o Options) places() (list []place) {
	user := func(dir string, find func(*finder, place), names ...string) {
		if dir != "" {
			dir = filepath.Join(append([]string{dir}, names...)...)
			list = append(list, place{dir, User, find, bounds{dir, orDir(o.Home, dir)}})
		}
	}
	claude, codex := orJoin(o.Claude, o.Home, ".claude"), orJoin(o.Codex, o.Home, ".codex")
	user(codex, (*finder).prompts, "prompts")
	user(o.Home, (*finder).gemini, ".gemini", "commands")
	user(claude, (*finder).commands, "commands")
	user(claude, (*finder).agents, "agents")
	user(o.Home, (*finder).skills, ".config", "agents", "skills")
	user(o.Home, (*finder).skills, ".agents", "skills")
	user(claude, (*finder).skills, "skills")
	user(o.Config, (*finder).skills, "skills")
	user(o.Config, (*finder).agents, "agents")
	for _, dir := range o.Paths {
		list = append(list, place{dir, Config, (*finder).skills, around(filepath.Join(dir, "x"))})
	}
	for _, dir := range o.projectDirs() {
		for _, sub := range []struct {
			name string
			find func(*finder, place)
		}{
			{".codex/prompts", (*finder).prompts}, {".gemini/commands", (*finder).gemini}, {".claude/commands", (*finder).commands},
			{".claude/agents", (*finder).agents}, {".agents/skills", (*finder).skills}, {".claude/skills", (*finder).skills},
			{".reins/skills", (*finder).skills}, {".reins/agents", (*finder).agents},
		} {
			list = append(list, place{filepath.Join(dir, filepath.FromSlash(sub.name)), Project, sub.find, bounds{o.Project, o.Project}})
		}
	}
	return list
}

// UserDirs returns the user's directories for skills, commands and agents. They may not exist. Files in them take
// effect in all later sessions.
func (o Options) UserDirs() (dirs []string) {
	for _, p := range o.places() {
		if p.source == User {
			dirs = append(dirs, p.dir)
		}
	}
	return dirs
}

// projectDirs lists the directories from the project root to the working directory.
func (o Options) projectDirs() (dirs []string) {
	if o.Project == "" {
		return nil
	}
	for d := o.Dir; below(o.Project, d) && d != o.Project; d = filepath.Dir(d) {
		dirs = append(dirs, d)
	}
	dirs = append(dirs, o.Project)
	slices.Reverse(dirs)
	return dirs
}

func orJoin(dir, base, name string) string {
	if dir != "" || base == "" {
		return dir
	}
	return filepath.Join(base, name)
}

// orDir returns dir if it contains other, and otherwise the grandparent of other.
func orDir(dir, other string) string {
	if dir != "" && below(dir, other) {
		return dir
	}
	return filepath.Dir(filepath.Dir(other))
}

// finder collects skills.
type finder struct {
	registry *Registry
	disabled []string
	seen     map[string]bool // real directories
}

func (f *finder) add(s *Skill) {
	if !slices.Contains(f.disabled, s.Name) {
		f.registry.Add(s)
	}
}

func (f *finder) problem(path string, err error) {
	f.registry.problems = append(f.registry.problems, Problem{path, err.Error()})
}

// skills adds the skills in a place: the directory itself if it is a skill, or the skills below it.
func (f *finder) skills(p place) { f.descend(p, p.dir, maxDepth) }

func (f *finder) descend(p place, dir string, depth int) {
	real, err := p.resolve(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		f.problem(dir, err)
		return
	}
	if f.seen[real] || len(f.seen) >= maxDirs {
		return
	}
	f.seen[real] = true
	entries, err := os.ReadDir(real)
	if err != nil {
		f.problem(dir, err)
		return
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return strings.EqualFold(e.Name(), fileName) }) {
		s, err := load(real, p.bounds)
		if err != nil {
			f.problem(dir, err)
			return
		}
		s.Source = p.source
		f.add(s)
		return
	}
	for _, e := range entries {
		if info, err := os.Stat(filepath.Join(real, e.Name())); err == nil && info.IsDir() && depth > 0 && !skipped(e.Name()) {
			f.descend(p, filepath.Join(dir, e.Name()), depth-1)
		}
	}
}

// resolve returns a directory's real path. Symbolic links in a project must not lead out of it.
func (p place) resolve(dir string) (string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	if p.source == Project && !below(p.bounds.outer, real) {
		return "", errors.New("it is a link that leaves the project; replace it")
	}
	return filepath.Abs(real)
}
