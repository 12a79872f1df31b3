// Package sandbox starts processes that the kernel confines: they can read files, but write only below
// chosen directories, and they have no network unless it is given to them.
//
// # Linux
//
// A [Box] has one small process, the spawner: this program, started again without running its main function. It
// enters new mount, network and IPC namespaces, as root directly and otherwise in a user namespace.
// There it makes all mounts read-only except the writable directories, drops its capabilities, and restricts
// itself with Landlock and a seccomp filter. It then starts the commands, which inherit all of that and
// are children of this process, not of the spawner. The cost is paid once: a command costs one message.
//
// Protected paths below a writable directory are separate mounts, so they can be neither changed nor moved
// away and replaced. If one of them does not exist, an empty directory holds its place until the box is closed.
//
// Where namespaces are not available, Landlock and the filter are used alone. They do not protect paths below
// writable directories, nor the mode, times and attributes of files elsewhere; see [Support].
//
// # macOS
//
// Commands run under sandbox-exec with a profile for the same rules.
package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Mode is what commands can write.
type Mode string

// The modes of a sandbox.
const (
	Off            Mode = "off"
	ReadOnly       Mode = "read-only"       // nothing but the temporary directory
	WorkspaceWrite Mode = "workspace-write" // the workspace and further directories
)

// Modes returns all modes, the strictest first.
func Modes() []Mode { return []Mode{ReadOnly, WorkspaceWrite, Off} }

// Config configures a Box.
type Config struct {
	Mode Mode
	// Dir is the workspace. In mode WorkspaceWrite, commands can write it and the directories in Writable.
	Dir      string
	Writable []string
	// Temp is a directory for temporary files, writable in all modes: a real path. It may not exist before the
	// first command.
	Temp string
	// Cache is a directory for the caches of compilers and the like, writable in mode WorkspaceWrite: a real path.
	Cache string
	// Overlays show directories of the user inside Cache, so that commands can use them and change their own copy.
	Overlays []Overlay
	// Protected are further paths that commands must not change, such as files of the host program: real paths.
	Protected []string
	// Network lets commands use the network. Without it they have only their own loopback interface.
	Network bool
}

// Overlay is a directory that shows the content of another one. Changes do not affect the other one. Where the
// system does not support that, it is an ordinary directory.
type Overlay struct {
	Dir   string // in Config.Cache
	Lower string // a real path
}

// changes returns the directories for the changes.
func (o Overlay) changes() (upper, work string) {
	base := filepath.Join(filepath.Dir(o.Dir), "."+filepath.Base(o.Dir))
	return base + ".changes", base + ".work"
}

// makeDirs creates the directories of an overlay.
func (o Overlay) makeDirs() error {
	upper, work := o.changes()
	for _, dir := range []string{o.Dir, upper, work} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	return nil
}

// ErrUnsupported means that this system cannot confine processes.
var ErrUnsupported = errors.New("this system cannot confine commands")

// Support is what the system can enforce.
type Support struct {
	// Namespaces means that mounts are read-only and the network is separate.
	Namespaces bool
	// Landlock is the version of its interface; 0 means that it is not available.
	Landlock int
	// Seccomp means that system calls are filtered. On macOS, Seatbelt means that sandbox-exec works.
	Seccomp  bool
	Seatbelt bool
	// Problems lists what is missing, and why.
	Problems []string
}

// landlockSignals is the first version of Landlock that confines signals and abstract sockets.
const landlockSignals = 6

// Any reports whether commands can be confined at all.
func (s Support) Any() bool { return s.Namespaces || s.Landlock > 0 || s.Seatbelt }

// Full reports whether everything is enforced. Otherwise a sandbox is a second line of defense, and commands
// should need approval as without one.
func (s Support) Full() bool {
	return s.Seatbelt || s.Namespaces && s.Seccomp && s.Landlock >= landlockSignals
}

// layout is what a box makes writable, with real paths. The innermost directory that contains a path decides.
type layout struct {
	writable  []string
	protected []string // may not exist
	reopened  []string // writable directories in a protected one
	pinned    []string // stay writable, but cannot be moved
	forbidden []string // must not appear; removed if a command creates them
	overlays  []Overlay
}

// roots returns the real paths of the writable directories, parents first.
func (c Config) roots() (roots []string, err error) {
	if c.Mode != WorkspaceWrite {
		return nil, nil
	}
	for _, d := range append([]string{c.Dir}, c.Writable...) {
		if !filepath.IsAbs(d) {
			d = filepath.Join(c.Dir, d)
		}
		real, err := filepath.EvalSymlinks(d)
		if err != nil {
			return nil, fmt.Errorf("find the writable directory %s: %w", d, err)
		}
		if fi, err := os.Stat(real); err != nil || !fi.IsDir() {
			return nil, fmt.Errorf("make %s writable: not a directory", d)
		}
		if real == "/" {
			return nil, errors.New("make / writable: use sandbox mode off instead")
		}
		roots = append(roots, real)
	}
	slices.Sort(roots)
	return slices.Compact(roots), nil
}

// layout returns what is writable with these roots. A root that another one protects is writable.
func (c Config) layout(roots []string) layout {
	l := layout{writable: slices.Clone(roots)}
	for _, root := range roots {
		l.protect(root)
	}
	l.protected = slices.DeleteFunc(l.protected, func(p string) bool { return slices.Contains(roots, p) })
	l.protectHome()
	for _, path := range c.Protected {
		if l.open(path) {
			l.protected = append(l.protected, path)
		}
	}
	if c.Temp != "" {
		l.writable = append(l.writable, c.Temp)
	}
	if c.Cache != "" && c.Mode == WorkspaceWrite {
		l.writable = append(l.writable, c.Cache)
		l.overlays = c.Overlays
	}
	l.pin()
	return l
}

// protectHome protects the home directory if a command could change it, because shells and other programs run
// commands from hidden files in it. The other directories in it stay writable.
func (l *layout) protectHome() {
	home, err := os.UserHomeDir()
	if err == nil {
		home, err = filepath.EvalSymlinks(home)
	}
	if err != nil || !l.open(home) {
		return
	}
	l.protected = append(l.protected, home)
	entries, _ := os.ReadDir(home)
	for _, e := range entries {
		if path := filepath.Join(home, e.Name()); e.IsDir() && e.Name()[0] != '.' && !slices.Contains(l.protected, path) {
			l.reopened = append(l.reopened, path)
		}
	}
}

// pin adds the directories between a writable one and a path in it with other rules: if they could be moved, a
// copy could take their place.
func (l *layout) pin() {
	for _, path := range slices.Concat(l.writable, l.protected, l.forbidden) {
		for _, root := range slices.Concat(l.writable, l.reopened) {
			if !within(root, path) || path == root {
				continue
			}
			for dir := filepath.Dir(path); dir != root; dir = filepath.Dir(dir) {
				if l.open(dir) && !slices.Contains(l.pinned, dir) && !slices.Contains(l.writable, dir) {
					l.pinned = append(l.pinned, dir)
				}
			}
		}
	}
}

// projectNames are files and directories of a project that decide what runs later, outside of the sandbox.
var projectNames = []string{".reins", ".agents", ".claude", ".codex", ".gemini", ".cursor", ".vscode", ".idea", ".husky", ".mcp.json"}

// Reserves reports whether a box may keep an empty directory with this name in a workspace, as a placeholder.
func Reserves(name string) bool { return name == ".git" || slices.Contains(projectNames, name) }

// protect adds the protected paths of a writable directory, and of the repositories in it.
func (l *layout) protect(root string) {
	for _, name := range projectNames {
		l.protected = append(l.protected, filepath.Join(root, name))
	}
	l.protectGit(filepath.Join(root, ".git"))
	for _, git := range nestedRepositories(root) {
		l.protectGit(git)
	}
}

// protectGit adds what decides what git runs. The rest of a repository stays writable, for commits.
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
	for _, name := range []string{"config", "hooks", "modules", "worktrees"} {
		l.protected = append(l.protected, filepath.Join(git, name))
	}
	l.forbidden = append(l.forbidden, filepath.Join(git, "commondir"))
	l.protectNamed(git)
}

// protectNamed protects the hooks and files in the workspace that the configuration of a repository names.
func (l *layout) protectNamed(git string) {
	data, _ := os.ReadFile(filepath.Join(git, "config"))
	for line := range strings.Lines(string(data)) {
		key, value, _ := strings.Cut(line[strings.LastIndexByte(line, ']')+1:], "=")
		base := git
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "hookspath":
			base = filepath.Dir(git)
		case "path": // of an included file
		default:
			continue
		}
		path := strings.Trim(strings.TrimSpace(value), `"`)
		if !filepath.IsAbs(path) {
			path = filepath.Join(base, path)
		}
		if _, err := os.Lstat(path); err == nil && l.open(path) && !slices.Contains(l.writable, path) {
			l.protected = append(l.protected, filepath.Clean(path))
		}
	}
}

// redirects reports whether a repository reads more configuration than the file config, or has links where
// the sandbox needs mounts. All of it is then read-only.
func redirects(git string) bool {
	for _, name := range []string{"commondir", "config.worktree"} {
		if _, err := os.Lstat(filepath.Join(git, name)); err == nil {
			return true
		}
	}
	for _, name := range []string{"config", "hooks", "modules", "worktrees"} {
		if fi, err := os.Lstat(filepath.Join(git, name)); err == nil && fi.Mode()&os.ModeSymlink != 0 {
			return true
		}
	}
	data, err := os.ReadFile(filepath.Join(git, "config"))
	return err != nil || strings.Contains(strings.ToLower(string(data)), "worktreeconfig")
}

// linkedWorktree makes the repository of a linked worktree writable as far as commits need it.
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
	if err != nil || errReal != nil || real != dir || strings.TrimSpace(string(back)) != file || filepath.Base(filepath.Dir(dir)) != "worktrees" || redirects(common) {
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

// The search for nested repositories stops at these limits.
const (
	nestedDepth   = 3
	nestedEntries = 5_000
)

// nestedRepositories finds repositories below a directory.
func nestedRepositories(root string) (found []string) {
	left := nestedEntries
	level := []string{root}
	for depth := 0; depth < nestedDepth && left > 0; depth++ {
		var next []string
		for _, dir := range level {
			entries, err := os.ReadDir(dir)
			if err != nil {
				continue
			}
			left -= len(entries)
			for _, e := range entries {
				switch {
				case e.Name() == ".git":
					if dir != root {
						found = append(found, filepath.Join(dir, ".git"))
					}
				case e.IsDir() && e.Name() != "node_modules":
					next = append(next, filepath.Join(dir, e.Name()))
				}
			}
		}
		level = next
	}
	return found
}

// allows reports whether a path may be written.
func (l layout) allows(path string) bool {
	return l.open(path) && !slices.Contains(l.writable, path) && !slices.Contains(l.forbidden, path) && !slices.Contains(l.pinned, path)
}

// open reports whether a path is writable, or would be if it could be moved. Protected names match in any case.
func (l layout) open(path string) (open bool) {
	innermost := -1
	for _, dir := range slices.Concat(l.writable, l.reopened) {
		if len(dir) > innermost && within(dir, path) {
			innermost, open = len(dir), true
		}
	}
	lower := strings.ToLower(path)
	return open && !slices.ContainsFunc(l.protected, func(p string) bool {
		return len(p) >= innermost && within(strings.ToLower(p), lower)
	})
}

func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// Available reports whether this system can confine commands at all, or why not. It usually starts no process.
func Available() (ok bool, why string) {
	if landlockVersion() > 0 {
		return true, ""
	}
	s := Probe()
	return s.Any(), strings.Join(s.Problems, "; ")
}
