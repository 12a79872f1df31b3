package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/gitconfig"
	"github.com/reins-agent/reins/internal/gitdir"
)

// projectNames are project files and directories that decide what runs later, outside the sandbox.
var projectNames = []string{
	".reins", ".agents", ".claude", ".codex", ".gemini", ".cursor", ".mcp.json",
	".vscode", ".idea", ".zed", ".devcontainer", ".devcontainer.json",
	".husky", ".envrc", ".npmrc", ".yarnrc", ".yarnrc.yml",
}

// protect adds the protected paths in a writable directory, and in its repositories.
func (l *layout) protect(root string) {
	for _, name := range projectNames {
		l.protected = append(l.protected, filepath.Join(root, name))
	}
	l.protectGit(filepath.Join(root, ".git"))
	walkDirs(root, func(dir string, entries []os.DirEntry) {
		l.watched = append(l.watched, dir)
		for _, e := range entries {
			switch {
			case e.Name() == ".git" && dir != root:
				l.protectGit(filepath.Join(dir, ".git"))
			case e.Name() == "HEAD" && looksBare(dir):
				l.protectDir(dir)
			}
		}
	})
}

// protectGit adds the paths that decide which programs git runs. The rest of a repository stays writable, for commits.
func (l *layout) protectGit(git string) {
	fi, err := os.Lstat(git)
	if err != nil || !fi.IsDir() {
		// A missing repository must not be created, and a link to one must not be changed.
		l.protected = append(l.protected, git)
		if err == nil && fi.Mode().IsRegular() {
			l.linkedWorktree(git)
		}
		return
	}
	if redirects(git) {
		l.protected = append(l.protected, git)
		return
	}
	l.protectDir(git)
}

// protectDir protects a git directory's configuration and hooks, and its old places for remotes.
func (l *layout) protectDir(git string) {
	for _, name := range []string{"config", "hooks", "modules", "worktrees", "remotes", "branches"} {
		l.protected = append(l.protected, filepath.Join(git, name))
	}
	for _, name := range []string{"commondir", "config.worktree"} {
		l.forbidden = append(l.forbidden, filepath.Join(git, name))
	}
	work := filepath.Dir(git)
	if filepath.Base(git) != ".git" { // no work tree
		work = git
	}
	for _, file := range append(userConfigs(), filepath.Join(git, "config")) {
		l.protectNamed(file, work)
	}
}

// surround adds the repository in whose work tree the workspace is a subdirectory: paths in the workspace that its
// configuration names are protected, and the repository is as writable as at the top of its work tree, for commits. A
// repository around the home directory stays read-only.
func (l *layout) surround(dir string) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return
	}
	top, repo, err := gitdir.Find(gitdir.Host, dir)
	git := filepath.Join(top, ".git")
	if err != nil || repo == (gitdir.Repo{}) || slices.Contains(l.writable, top) || l.open(git) {
		return
	}
	for _, file := range append(userConfigs(), filepath.Join(repo.Common, "config")) {
		l.protectNamed(file, top)
	}
	if home, err := realHome(); err != nil || within(top, home) {
		return
	}
	before := len(l.writable)
	switch fi, err := os.Lstat(git); {
	case err == nil && fi.Mode().IsRegular():
		l.linkedWorktree(git)
	case err == nil && fi.IsDir() && !redirects(git):
		l.writable = append(l.writable, git)
		l.protectDir(git)
	}
	l.around = slices.Clone(l.writable[before:])
}

// userConfigs returns git's configuration files for all repositories.
func userConfigs() []string {
	list := []string{"/etc/gitconfig"}
	if home, err := os.UserHomeDir(); err == nil {
		list = append(list, filepath.Join(home, ".gitconfig"), filepath.Join(home, ".config/git/config"))
	}
	if dir := os.Getenv("XDG_CONFIG_HOME"); dir != "" {
		list = append(list, filepath.Join(dir, "git/config"))
	}
	if file := os.Getenv("GIT_CONFIG_GLOBAL"); file != "" {
		list = append(list, file)
	}
	return list
}

// maxConfig limits the size of a git configuration file.
const maxConfig = 1 << 20

// protectNamed protects paths in the workspace that a configuration file names, whether they exist or not: the hook
// directory, and included files. Hooks are relative to the work tree.
func (l *layout) protectNamed(file, work string) {
	list, err := readConfig(file)
	if err != nil {
		return // git refuses to work with it
	}
	for _, s := range list {
		base := filepath.Dir(file)
		switch s.Section + "." + s.Name {
		case "core.hookspath":
			base = work
		case "include.path", "includeif.path":
		default:
			continue
		}
		path := s.Value
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			home, _ := os.UserHomeDir()
			path = filepath.Join(home, rest)
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(base, path)
		}
		path = filepath.Clean(path)
		if real, err := filepath.EvalSymlinks(path); err == nil && real != path && l.open(real) {
			l.protected = append(l.protected, real)
		}
		if l.open(path) && !slices.Contains(l.writable, path) && !slices.Contains(l.protected, path) {
			l.protected = append(l.protected, path)
		}
	}
}

// readConfig reads a git configuration file.
func readConfig(file string) ([]gitconfig.Setting, error) {
	if fi, err := os.Stat(file); err != nil || !fi.Mode().IsRegular() || fi.Size() > maxConfig {
		return nil, os.ErrInvalid
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return gitconfig.Parse(data)
}

// looksBare reports whether git would treat a directory as a repository without a work tree.
func looksBare(dir string) bool {
	has := func(name string) bool { return !missing(filepath.Join(dir, name)) }
	return has("HEAD") && (has("objects") && has("refs") || has("commondir"))
}

// redirects reports whether a repository reads more configuration than the file config, or has links where the sandbox
// needs mounts. The whole repository is then read-only.
func redirects(git string) bool {
	for _, name := range []string{"commondir", "config.worktree"} {
		if _, err := os.Lstat(filepath.Join(git, name)); err == nil {
			return true
		}
	}
	for _, name := range []string{"config", "hooks", "modules", "worktrees", "remotes", "branches"} {
		if fi, err := os.Lstat(filepath.Join(git, name)); err == nil && fi.Mode()&os.ModeSymlink != 0 {
			return true
		}
	}
	list, err := readConfig(filepath.Join(git, "config"))
	return err != nil || slices.ContainsFunc(list, func(s gitconfig.Setting) bool { return s.Name == "worktreeconfig" })
}

// ordinary are the settings that git writes itself when it creates or clones a repository.
var ordinary = []string{
	"core.repositoryformatversion", "core.filemode", "core.bare", "core.logallrefupdates", "core.ignorecase",
	"core.precomposeunicode", "core.symlinks", "core.autocrlf", "core.eol", "core.longpaths", "extensions.objectformat",
	"extensions.refstorage", "init.defaultbranch",
	"remote.url", "remote.fetch", "remote.tagopt", "branch.remote", "branch.merge", "branch.rebase", "submodule.url",
	"submodule.active", "user.name", "user.email",
}

// hostile reports whether a new git directory has more configuration than git writes itself, or hooks.
func hostile(git string) bool {
	for _, name := range []string{"commondir", "config.worktree"} {
		if !missing(filepath.Join(git, name)) {
			return true
		}
	}
	list, _ := readConfig(filepath.Join(git, "config")) // git refuses a file that cannot be parsed
	for _, s := range list {
		key := s.Section + "." + s.Name
		if !slices.Contains(ordinary, key) || key == "remote.url" && strings.Contains(s.Value, "::") {
			return true
		}
	}
	hooks, _ := os.ReadDir(filepath.Join(git, "hooks"))
	return slices.ContainsFunc(hooks, func(e os.DirEntry) bool { return !strings.HasSuffix(e.Name(), ".sample") })
}

// sharedHooks returns hook directories in a work tree that the user's configuration names for all repositories.
func sharedHooks(work string) (dirs []string) {
	for _, file := range userConfigs() {
		list, _ := readConfig(file)
		for _, s := range list {
			if s.Key() == "core.hookspath" && s.Value != "" && !filepath.IsAbs(s.Value) && s.Value[0] != '~' {
				dirs = append(dirs, filepath.Join(work, s.Value))
			}
		}
	}
	return dirs
}

// linkedWorktree makes a linked worktree's repository writable as far as commits need it.
func (l *layout) linkedWorktree(file string) {
	data, err := os.ReadFile(file)
	if err != nil || len(data) > 4096 {
		return
	}
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir:")
	if dir = strings.TrimSpace(dir); !ok || !filepath.IsAbs(dir) {
		return
	}
	dir = filepath.Clean(dir)
	common := filepath.Dir(filepath.Dir(dir))
	back, err := os.ReadFile(filepath.Join(dir, "gitdir"))
	real, errReal := filepath.EvalSymlinks(dir)
	// The repository must list this worktree, so that a forged file makes nothing writable.
	if err != nil || errReal != nil || real != dir || strings.TrimSpace(string(back)) != file ||
		filepath.Base(filepath.Dir(dir)) != "worktrees" ||
		redirects(common) {
		return
	}
	l.writable = append(l.writable, dir)
	for _, name := range []string{"commondir", "gitdir", "config.worktree", "modules"} {
		l.protected = append(l.protected, filepath.Join(dir, name))
	}
	for _, name := range []string{"objects", "refs", "logs"} {
		if fi, err := os.Lstat(filepath.Join(common, name)); err == nil && fi.IsDir() {
			l.writable = append(l.writable, filepath.Join(common, name))
		}
	}
}

// Limits for the search for repositories in a writable directory.
const (
	nestedDepth   = 3
	nestedEntries = 10_000
)

// walkDirs visits a directory and the directories below it, parents first, up to the limits.
func walkDirs(root string, visit func(dir string, entries []os.DirEntry)) {
	left := nestedEntries
	level := []string{root}
	for depth := 0; depth < nestedDepth; depth++ {
		var next []string
		for _, dir := range level {
			if left <= 0 {
				return
			}
			entries, err := os.ReadDir(dir)
			if err != nil {
				continue
			}
			left -= len(entries)
			visit(dir, entries)
			for _, e := range entries {
				if e.IsDir() && !skipped(e.Name()) {
					next = append(next, filepath.Join(dir, e.Name()))
				}
			}
		}
		level = next
	}
}

// skipped reports whether repositories below a directory with this name do not count.
func skipped(name string) bool { return name == ".git" || name == "node_modules" }
