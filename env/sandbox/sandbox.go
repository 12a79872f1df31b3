// Package sandbox starts processes that the kernel confines: they can read files, but write only below
// chosen directories, and they have no network unless it is given to them.
//
// # Linux
//
// A [Box] has one small process of its own, the spawner, which is this program started again before its main
// function. It enters new mount, network and IPC namespaces, as root directly and otherwise in a user namespace.
// There it makes all mounts read-only except the writable directories, drops its capabilities, and restricts
// itself with Landlock and a seccomp filter. It then starts the commands, which inherit all of that and
// are children of this process, not of the spawner. The cost is paid once: a command costs one message.
//
// Protected paths below a writable directory are mounts of their own, so they can be neither changed nor moved
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

// ParseMode returns the mode with a name.
func ParseMode(name string) (Mode, error) {
	if m := Mode(name); slices.Contains(Modes(), m) {
		return m, nil
	}
	return "", fmt.Errorf("unknown sandbox mode %q: use read-only, workspace-write or off", name)
}

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
	// Network lets commands use the network. Without it they have a loopback interface of their own.
	Network bool
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
	// Problems says what is missing, and why.
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

// layout is what a box makes writable, with real paths.
type layout struct {
	writable  []string
	protected []string // below writable ones; may not exist
	pinned    []string // stay writable, but cannot be moved
	forbidden []string // must not appear; removed if a command creates them
}

// newLayout resolves the directories of a configuration.
func newLayout(c Config) (layout, error) {
	var l layout
	var dirs []string
	if c.Mode == WorkspaceWrite {
		dirs = append(dirs, c.Dir)
		for _, d := range c.Writable {
			if !filepath.IsAbs(d) {
				d = filepath.Join(c.Dir, d)
			}
			dirs = append(dirs, d)
		}
	}
	for _, d := range dirs {
		real, err := filepath.EvalSymlinks(d)
		if err != nil {
			return l, fmt.Errorf("find the writable directory %s: %w", d, err)
		}
		if fi, err := os.Stat(real); err != nil || !fi.IsDir() {
			return l, fmt.Errorf("make %s writable: not a directory", d)
		}
		if real == "/" {
			return l, errors.New("make / writable: use sandbox mode off instead")
		}
		if !slices.Contains(l.writable, real) {
			l.writable = append(l.writable, real)
		}
	}
	slices.Sort(l.writable) // parents first
	for _, root := range slices.Clone(l.writable) {
		l.protect(root)
	}
	if c.Temp != "" {
		l.writable = append(l.writable, c.Temp)
	}
	if c.Cache != "" && c.Mode == WorkspaceWrite {
		l.writable = append(l.writable, c.Cache)
	}
	return l, nil
}

// projectNames are files and directories of a project that decide what runs later, outside of the sandbox.
var projectNames = []string{".reins", ".claude", ".codex", ".gemini", ".cursor", ".vscode", ".idea", ".husky", ".mcp.json"}

// protect adds the protected paths of a writable directory, and of the repositories in it.
func (l *layout) protect(root string) {
	for _, name := range projectNames {
		l.protected = append(l.protected, filepath.Join(root, name))
	}
	l.protectGit(filepath.Join(root, ".git"))
	for _, git := range nestedRepositories(root) {
		for dir := filepath.Dir(git); dir != root; dir = filepath.Dir(dir) {
			l.pinned = append(l.pinned, dir)
		}
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
	l.pinned = append(l.pinned, git)
	for _, name := range []string{"config", "hooks", "modules", "worktrees"} {
		l.protected = append(l.protected, filepath.Join(git, name))
	}
	l.forbidden = append(l.forbidden, filepath.Join(git, "commondir"))
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
	common := filepath.Dir(filepath.Dir(dir))
	back, err := os.ReadFile(filepath.Join(dir, "gitdir"))
	real, errReal := filepath.EvalSymlinks(dir)
	// The repository must know this worktree: a forged file opens nothing.
	if err != nil || errReal != nil || real != dir || strings.TrimSpace(string(back)) != file || filepath.Base(filepath.Dir(dir)) != "worktrees" || redirects(common) {
		return
	}
	l.writable = append(l.writable, dir)
	for _, name := range []string{"commondir", "gitdir", "config.worktree"} {
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

// allows reports whether a path may be written: it is below a writable directory and not protected.
func (l layout) allows(path string) bool {
	return slices.ContainsFunc(l.writable, func(dir string) bool { return within(dir, path) && path != dir }) &&
		!slices.ContainsFunc(l.protected, func(p string) bool { return within(p, path) }) &&
		!slices.Contains(l.forbidden, path) && !slices.Contains(l.pinned, path)
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
