// Package sandbox starts processes that the kernel confines: they can read files, but write only below chosen
// directories, and they have no network unless it is given to them.
//
// # Linux
//
// A [Box] has one small process, the spawner: this program, started again without running its main function. It enters
// new mount, network and IPC namespaces, as root directly and otherwise in a user namespace. There it makes all mounts
// read-only except the writable directories, drops its capabilities, and restricts itself with Landlock and a seccomp
// filter. It then starts the commands, which inherit these restrictions and are children of this process, not of the
// spawner. The setup is paid once: a command costs one message.
//
// Protected paths below a writable directory are separate mounts, so they can be neither changed nor moved away and
// replaced. A mount needs something to be mounted on, so a protected path that does not exist is watched instead: if a
// command creates it, it is renamed at once, and [Box.Sweep] reports it.
//
// A box can also confine reading: Landlock limits it to [Config.Readable], and mounts hide [Config.Masked].
//
// Where namespaces are not available, Landlock and the filter are used alone. They do not protect paths below writable
// directories, nor the mode, times and attributes of files elsewhere; see [Support].
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

// Mode tells what commands can write.
type Mode string

// Sandbox modes.
const (
	Off            Mode = "off"
	ReadOnly       Mode = "read-only"       // only the temporary directory
	WorkspaceWrite Mode = "workspace-write" // the workspace and further directories
)

// Modes returns all modes, strictest first.
func Modes() []Mode { return []Mode{ReadOnly, WorkspaceWrite, Off} }

// Config configures a Box. All paths except Dir and Writable must be real: absolute and without symbolic links.
type Config struct {
	Mode Mode
	// Dir is the workspace. In mode WorkspaceWrite, commands can write it and the directories in Writable.
	Dir      string
	Writable []string
	// Temp is a directory for temporary files, writable in all modes. It need not exist before the first command.
	Temp string
	// Cache is a directory for caches, such as a compiler's, writable in mode WorkspaceWrite.
	Cache string
	// Overlays show user directories inside Cache, so that commands can use them and change their own copy. Layers
	// keeps the changes, where no command can write. Without Layers, Temp is in memory, has the overlays inside, and
	// the changes end with the box.
	Overlays []Overlay
	Layers   string
	// Protected are further paths that commands must not change, such as the host program's files.
	Protected []string
	// Readable, if not nil, are the only files and directories that commands can read or execute. Missing ones are
	// ignored. Temp and Cache are readable too.
	Readable []string
	// Masked are files and directories that commands cannot read, except in writable directories: commands could
	// conclude that these were deleted, and commit that. Hidden, if set, returns further such paths if Readable is set.
	// It is called before each command.
	Masked []string
	Hidden func() []string
	// Denied are files and directories that commands can neither read nor write, also in writable directories. In Dir,
	// they look empty.
	Denied []string
	// Listed restricts reading for package local, which sets Readable: to the workspace, the system, tools in the home
	// directory, and the paths already in Readable.
	Listed bool
	// Network lets commands use the network. Without it they have only their own loopback interface. NoSockets removes
	// that too.
	Network   bool
	NoSockets bool
	// Hosts, without Network, are hosts that commands can reach through an HTTP proxy at [ProxyAddr]: names such as
	// github.com, *.npmjs.org and example.com:8443, and addresses. The proxy runs in this process and is reachable only
	// from the commands. It needs Linux with namespaces; without them, commands have no network.
	Hosts []string
	Proxy Proxy // for Hosts
}

// ProxyAddr is where commands reach the proxy for [Config.Hosts].
const ProxyAddr = "127.0.0.1:31280"

// proxyPort is the port in ProxyAddr. Package net/netip, which could parse it, would start before the spawner and add
// to its memory.
const proxyPort = 31280

// Proxy connects commands with the hosts in [Config.Hosts]. The process that starts commands must stay small, so this
// package has no network code.
type Proxy interface {
	// ServeFile answers HTTP requests at a listening socket, which it closes, until stop is called.
	ServeFile(socket *os.File) (stop func(), err error)
	// Refused returns the hosts that commands have tried to reach in vain since the last call. Each is written as the
	// entries that would permit it in Config.Hosts, separated by commas.
	Refused() []string
}

// proxied reports whether commands use a proxy.
func (c Config) proxied() bool { return len(c.Hosts) > 0 && !c.Network && !c.NoSockets }

// Overlay is a directory that shows another directory's content. Changes do not affect the other directory. Where the
// system does not support that, it is an ordinary directory.
type Overlay struct {
	Dir   string // in Config.Cache
	Lower string // real path
}

// changes returns the directories for the overlay's changes below layers.
func (o Overlay) changes(layers string) (upper, work string) {
	base := filepath.Join(layers, filepath.Base(o.Dir))
	return base + ".changes", base + ".work"
}

// makeDirs creates an overlay's directories.
func (o Overlay) makeDirs(layers string) error {
	upper, work := o.changes(layers)
	for _, dir := range []string{o.Dir, upper, work} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	return nil
}

// ErrUnsupported means that this system cannot confine processes.
var ErrUnsupported = errors.New("this system cannot confine commands")

// ErrBroken means that a command has ended the process that starts commands. The state it has left cannot be trusted,
// so no other commands can be started.
var ErrBroken = errors.New("a command has stopped the sandbox, so no more commands can run in this session; resume it to continue")

// Support tells what the system can enforce.
type Support struct {
	// Namespaces means that mounts are read-only and the network is separate.
	Namespaces bool
	// Landlock is the Landlock ABI version; 0 means that it is not available.
	Landlock int
	// Seccomp means that system calls are filtered. On macOS, Seatbelt means that sandbox-exec works.
	Seccomp  bool
	Seatbelt bool
	// Problems lists what is missing, and why.
	Problems []string
}

// landlockSignals is the first Landlock version that confines signals and abstract sockets.
const landlockSignals = 6

// Any reports whether commands can be confined at all.
func (s Support) Any() bool { return s.Namespaces || s.Landlock > 0 || s.Seatbelt }

// Full reports whether everything is enforced. Otherwise a sandbox is a second line of defense, and commands should
// need approval as without a sandbox.
func (s Support) Full() bool {
	return s.Seatbelt || s.Namespaces && s.Seccomp && s.Landlock >= landlockSignals
}

// Reads reports whether a box can confine reading.
func (s Support) Reads() bool { return s.Namespaces && s.Seccomp && s.Landlock > 0 || s.Seatbelt }

// layout lists writable and readable paths, as real paths. The innermost directory that contains a path decides.
type layout struct {
	writable  []string
	around    []string // writable directories that belong to the repository around the workspace
	protected []string // may not exist
	reopened  []string // writable directories inside a protected directory
	pinned    []string // stay writable, but cannot be moved
	forbidden []string // must not appear; blocked if a command creates them
	watched   []string // directories in which commands may create forbidden paths
	masked    []string // cannot be read
	readable  []string // nil if everything is readable
	listed    []string // directories whose names can be read, but not all their files
	confined  bool     // only readable can be read
	memory    string   // a directory in memory
	overlays  []Overlay
	layers    string // for the overlays' changes
}

// roots returns the real paths of the writable directories, parents first.
func (c Config) roots() (roots []string, err error) {
	for _, path := range c.Denied {
		if within(path, c.Dir) {
			return nil, fmt.Errorf("deny %s: the workspace is in it", path)
		}
	}
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

// layout returns the layout with these roots. A root that another root protects is writable.
func (c Config) layout(roots []string) layout {
	l := layout{writable: slices.Clone(roots)}
	for _, root := range roots {
		l.protect(root)
	}
	if len(roots) > 0 {
		l.surround(c.Dir)
	}
	l.protected = slices.DeleteFunc(l.protected, func(p string) bool { return slices.Contains(roots, p) })
	l.protectHome()
	for _, path := range c.Protected {
		if l.open(path) {
			l.protected = append(l.protected, path)
		}
	}
	for _, path := range c.Denied {
		if l.open(path) {
			l.protected = append(l.protected, path)
		}
	}
	if c.Temp != "" {
		l.writable = append(l.writable, c.Temp)
	}
	if c.Cache != "" && c.Mode == WorkspaceWrite {
		l.writable = append(l.writable, c.Cache)
	}
	// A command could replace a directory in the workspace with a link.
	l.overlays = slices.DeleteFunc(slices.Clone(c.Overlays), func(o Overlay) bool { return l.open(o.Lower) || within(c.Dir, o.Lower) })
	if l.layers = c.Layers; l.layers == "" && len(c.Overlays) > 0 {
		l.memory = c.Temp
	}
	l.forbid()
	l.pin()
	l.confined = c.Readable != nil
	hidden := c.hidden()
	for _, path := range c.Masked {
		switch {
		case l.confined && within(c.Dir, path):
			hidden = append(hidden, path)
		case !slices.ContainsFunc(l.writable, func(dir string) bool { return within(dir, path) }):
			l.masked = append(l.masked, path)
		}
	}
	l.masked = append(l.masked, c.Denied...)
	l.read(c.Readable, hidden)
	return l
}

// hidden returns the paths from Hidden, if it applies.
func (c Config) hidden() []string {
	if c.Hidden == nil || c.Readable == nil {
		return nil
	}
	return slices.Clone(c.Hidden())
}

// maxReadable limits the readable paths. Hidden paths beyond it are masked.
const maxReadable = 10_000

// read makes paths readable, except hidden ones. Landlock can only permit, so a directory that contains a hidden path
// is replaced by its entries. Unlike a mask, this leaves the hidden file's appearance unchanged.
func (l *layout) read(paths, hidden []string) {
	for _, path := range paths {
		inside := slices.DeleteFunc(slices.Clone(hidden), func(h string) bool { return !within(path, h) })
		if len(inside) == 0 {
			l.readable = append(l.readable, path)
			continue
		}
		switch entries, err := os.ReadDir(path); {
		case slices.Contains(inside, path):
		case err != nil:
			l.readable = append(l.readable, path)
		case len(l.readable)+len(entries) > maxReadable:
			l.readable, l.masked = append(l.readable, path), append(l.masked, inside...)
		default:
			l.listed = append(l.listed, path)
			var names []string
			for _, e := range entries {
				names = append(names, filepath.Join(path, e.Name()))
			}
			l.read(names, inside)
		}
	}
}

// forbid moves missing protected paths to the forbidden paths, if a command could create them and no empty directory
// can stand in for them.
func (l *layout) forbid() {
	var absent []string
	for _, path := range l.protected {
		if missing(path) && !reserves(path) && l.openDir(path) {
			absent = append(absent, path)
		}
	}
	l.protected = slices.DeleteFunc(l.protected, func(path string) bool { return slices.Contains(absent, path) })
	l.forbidden = append(l.forbidden, absent...)
}

// openDir reports whether the directory of a path is writable, or its innermost existing parent.
func (l layout) openDir(path string) bool {
	dir := filepath.Dir(path)
	for missing(dir) && len(dir) > 1 {
		dir = filepath.Dir(dir)
	}
	return l.open(dir)
}

// inRepository reports whether a path is inside a directory named .git.
func inRepository(path string) bool { return strings.Contains(path, "/.git/") }

// reserves reports whether an empty directory can stand in for a path. Git ignores these.
func reserves(path string) bool {
	return inRepository(path) && slices.Contains([]string{"hooks", "modules", "worktrees", "config.worktree"}, filepath.Base(path))
}

// missing reports whether a path does not exist, or cannot be reached.
func missing(path string) bool {
	_, err := os.Lstat(path)
	return err != nil
}

// protectHome protects the home directory if a command could change it, because shells and other programs run commands
// from hidden files in it. The other directories in it stay writable.
func (l *layout) protectHome() {
	home, err := realHome()
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

// realHome returns the home directory without symbolic links.
func realHome() (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(home)
}

// pin adds the directories between a writable directory and a path in it with other rules: if they could be moved, a
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

// allows reports whether a path may be written.
func (l layout) allows(path string) bool {
	return l.open(path) && !slices.Contains(l.writable, path) && !slices.Contains(l.pinned, path)
}

// open reports whether a path is writable, or would be if it could be moved. Protected names match in any case.
func (l layout) open(path string) (open bool) {
	innermost := -1
	for _, dir := range slices.Concat(l.writable, l.reopened) {
		if len(dir) > innermost && within(dir, path) {
			innermost, open = len(dir), true
		}
	}
	closed := func(p string) bool { return len(p) >= innermost && withinFold(p, path) }
	return open && !slices.ContainsFunc(l.protected, closed) && !slices.ContainsFunc(l.forbidden, closed)
}

// within reports whether a path is a directory or in it. Both are absolute and clean.
func within(dir, path string) bool {
	return strings.HasPrefix(path, dir) && (len(path) == len(dir) || dir == "/" || path[len(dir)] == '/')
}

// withinFold is like within, but names match in any case.
func withinFold(dir, path string) bool {
	return len(path) >= len(dir) && strings.EqualFold(path[:len(dir)], dir) && (len(path) == len(dir) || path[len(dir)] == '/')
}

// Available reports whether this system can confine commands at all, or why not. It usually starts no process.
func Available() (ok bool, why string) {
	if landlockVersion() > 0 {
		return true, ""
	}
	s := Probe()
	return s.Any(), strings.Join(s.Problems, "; ")
}
