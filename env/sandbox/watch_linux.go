//go:build amd64 || arm64

package sandbox

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A mount cannot protect a path that does not exist, and an empty directory in its place would mislead other programs.
// So the box watches the directories in which commands can create such paths. Paths that a command creates there are
// renamed at once. Paths that appear while no command runs belong to the user, and are protected from then on.

// watcher collects new names in directories. A box uses it under its lock.
type watcher struct {
	file *os.File
	dirs map[int32]string // by watch
	// found are the new paths that matter, and lost means that there were more.
	found []string
	lost  bool
}

// maxWatches limits the watched directories.
const maxWatches = 8_192

// maxFound limits the new paths that are remembered. If there are more, all directories are examined.
const maxFound = 10_000

// Watched events. In a new repository, files that were written matter too.
const (
	newNames = unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_ONLYDIR | unix.IN_DONT_FOLLOW | unix.IN_EXCL_UNLINK
	written  = unix.IN_CLOSE_WRITE
)

// newWatcher returns a watcher, or nil if the system has none left.
func newWatcher() *watcher {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil
	}
	return &watcher{file: os.NewFile(uintptr(fd), "inotify"), dirs: make(map[int32]string)}
}

// control calls f with the descriptor.
func (w *watcher) control(f func(fd int)) {
	if conn, err := w.file.SyscallConn(); err == nil {
		conn.Control(func(fd uintptr) { f(int(fd)) })
	}
}

// add watches a directory.
func (w *watcher) add(dir string, events uint32) {
	if len(w.dirs) >= maxWatches {
		return
	}
	w.control(func(fd int) {
		if wd, err := unix.InotifyAddWatch(fd, dir, events); err == nil {
			w.dirs[int32(wd)] = dir
		}
	})
}

// wait waits for an event. It returns false when the watcher is closed.
func (w *watcher) wait() bool {
	conn, err := w.file.SyscallConn()
	if err != nil {
		return false
	}
	return conn.Read(func(fd uintptr) bool {
		n, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ) // FIONREAD
		return err != nil || n > 0
	}) == nil
}

// collect reads all events so far. It keeps new directories, and the paths that matter.
func (w *watcher) collect(matters func(path string) bool) {
	var buf [8 << 10]byte
	for {
		n := 0
		w.control(func(fd int) { n, _ = unix.Read(fd, buf[:]) })
		if n <= 0 {
			return
		}
		for at := 0; at+unix.SizeofInotifyEvent <= n; {
			event := buf[at:n]
			wd, mask := int32(binary.NativeEndian.Uint32(event)), binary.NativeEndian.Uint32(event[4:])
			size := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(event[12:]))
			w.note(wd, mask, strings.TrimRight(string(event[unix.SizeofInotifyEvent:size]), "\x00"), matters)
			at += size
		}
	}
}

// note handles an event.
func (w *watcher) note(wd int32, mask uint32, name string, matters func(path string) bool) {
	dir, known := w.dirs[wd]
	switch {
	case mask&unix.IN_Q_OVERFLOW != 0:
		w.lost = true
	case mask&unix.IN_IGNORED != 0:
		delete(w.dirs, wd)
	case known && name != "":
		path := filepath.Join(dir, name)
		if mask&unix.IN_ISDIR != 0 && !skipped(name) && !inRepository(path) || matters(path) {
			w.found = append(w.found, path)
		}
		if len(w.found) > maxFound {
			w.found, w.lost = nil, true
		}
	}
}

// watchAll watches the layout's directories until the box is closed.
func (b *Box) watchAll() {
	if len(b.layout.watched) == 0 {
		return
	}
	if b.watch == nil {
		if b.watch = newWatcher(); b.watch == nil {
			return
		}
		go b.follow(b.watch)
	}
	for _, path := range b.layout.forbidden {
		b.watch.add(filepath.Dir(path), newNames)
	}
	for _, dir := range b.layout.watched {
		b.watch.add(dir, newNames)
	}
	b.fresh = nil
}

// follow handles paths that appear while a command runs.
func (b *Box) follow(w *watcher) {
	for w.wait() {
		b.mu.Lock()
		if b.appeared() && !b.empty { // appeared reads the events, which wait reports until then
			b.inspectAll()
		}
		b.mu.Unlock()
	}
}

// appeared reports whether a path has appeared that commands must not create.
func (b *Box) appeared() bool {
	if b.watch != nil {
		if b.watch.collect(b.suspect); b.watch.lost || slices.ContainsFunc(b.watch.found, b.suspect) {
			return true
		}
	}
	return slices.ContainsFunc(b.layout.forbidden, func(path string) bool { return !missing(path) })
}

// suspect reports whether commands must not create a path, or only as a part of an ordinary repository.
func (b *Box) suspect(path string) bool {
	switch filepath.Base(path) {
	case ".git":
		return true
	case "HEAD", "objects", "refs", "commondir":
		if !inRepository(path) {
			return true
		}
	}
	return slices.ContainsFunc(b.fresh, func(git string) bool { return within(git, path) }) || b.forbids(path)
}

// forbids reports whether a path must not appear. Names are compared in any case.
func (b *Box) forbids(path string) bool {
	return slices.ContainsFunc(b.layout.forbidden, func(f string) bool { return strings.EqualFold(f, path) })
}

// Expect tells the box that its owner is about to create a path that commands must not create.
func (b *Box) Expect(path string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := len(b.layout.forbidden)
	b.layout.forbidden = slices.DeleteFunc(slices.Clone(b.layout.forbidden), func(f string) bool { return within(f, path) })
	b.outdated = b.outdated || len(b.layout.forbidden) < before
}

// inspectAll inspects all paths that have appeared.
func (b *Box) inspectAll() {
	paths := slices.DeleteFunc(slices.Clone(b.layout.forbidden), missing)
	if w := b.watch; w != nil {
		paths = append(paths, w.found...)
		if w.lost {
			for _, dir := range b.layout.watched {
				paths = append(paths, entriesOf(dir)...)
			}
		}
		w.found, w.lost = nil, false
	}
	b.inspect(paths)
}

// inspect blocks paths that commands have created and must not create.
func (b *Box) inspect(paths []string) {
	for _, path := range paths {
		base := filepath.Base(path)
		git, inside := repositoryOf(path)
		switch {
		case b.forbids(path) && base != ".git":
			b.block(path)
		case inside:
			b.inspectGit(git)
		default:
			b.inspectBare(filepath.Dir(path))
		}
		if fi, err := os.Lstat(path); err == nil && fi.IsDir() && !skipped(base) && !inRepository(path) {
			b.inspectDir(path)
		}
	}
}

// repositoryOf returns the .git directory that a path is or is in.
func repositoryOf(path string) (git string, ok bool) {
	for at := path; len(at) > 1; at = filepath.Dir(at) {
		if strings.EqualFold(filepath.Base(at), ".git") {
			return at, true
		}
	}
	return "", false
}

// protects reports whether a git directory's configuration is protected.
func (b *Box) protects(git string) bool {
	return slices.Contains(b.layout.protected, git) || slices.Contains(b.layout.protected, filepath.Join(git, "config"))
}

// inspectBare examines a directory that may have become a repository without a work tree. Git would use it in all
// directories below it.
func (b *Box) inspectBare(dir string) {
	if filepath.Base(dir) == "hooks" {
		dir = filepath.Dir(dir)
	}
	if looksBare(dir) && !b.protects(dir) {
		b.inspectNew(dir, filepath.Join(dir, "HEAD"))
	}
}

// inspectGit examines a new directory or file named .git.
func (b *Box) inspectGit(git string) {
	if missing(git) || b.protects(git) {
		return
	}
	if fi, err := os.Lstat(git); err != nil || !fi.IsDir() {
		b.block(git)
		return
	}
	b.inspectNew(git, git)
}

// inspectNew blocks a new repository that would run programs, by the given path in it. An ordinary repository is
// watched, and protected from the next command on.
func (b *Box) inspectNew(git, path string) {
	if !slices.Contains(b.fresh, git) {
		b.fresh = append(b.fresh, git)
	}
	if b.outdated = true; b.watch != nil {
		for _, dir := range []string{git, filepath.Join(git, "hooks")} {
			b.watch.add(dir, newNames|written)
		}
	}
	if hostile(git) {
		if path == git { // it must not be used under its new name either
			hide(git, "HEAD")
		}
		b.block(path)
		return
	}
	for _, dir := range sharedHooks(filepath.Dir(git)) {
		if b.block(dir); !b.forbids(dir) {
			b.layout.forbidden = append(slices.Clip(b.layout.forbidden), dir)
		}
	}
}

// inspectDir watches a new directory, and inspects what it already contains.
func (b *Box) inspectDir(dir string) {
	if b.watch == nil || slices.Contains(b.layout.watched, dir) || len(b.layout.watched) >= maxWatches {
		return
	}
	b.watch.add(dir, newNames)
	b.layout.watched = append(b.layout.watched, dir)
	b.inspect(entriesOf(dir))
}

// entriesOf returns the paths of all files in a directory.
func entriesOf(dir string) (paths []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		paths = append(paths, filepath.Join(dir, e.Name()))
	}
	return paths
}

// blockedSuffix is appended to the names of blocked files.
const blockedSuffix = ".reins-blocked"

// block renames a path, or removes it in a repository, and remembers that for Sweep.
func (b *Box) block(path string) {
	if dir, base := filepath.Dir(path), filepath.Base(path); inRepository(path) && unlink(dir, base) || hide(dir, base) {
		b.blocked = append(b.blocked, path)
	}
}

// unlink removes a file in a directory whose path has no links, and reports whether it did.
func unlink(dir, base string) bool {
	fd, err := openReal(dir)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return unix.Unlinkat(fd, base, 0) == nil
}

// hide renames a file in a directory whose path has no links, and reports whether it did.
func hide(dir, base string) bool {
	fd, err := openReal(dir)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	for n := 1; n < 1_000; n++ {
		name := base + blockedSuffix
		if n > 1 {
			name += "-" + strconv.Itoa(n)
		}
		if err := unix.Renameat2(fd, base, fd, name, unix.RENAME_NOREPLACE); err != unix.EEXIST {
			return err == nil
		}
	}
	return false
}

// populated reports whether a command, or a process that a command left behind, is running.
func (b *Box) populated() bool {
	links, _ := filepath.Glob("/proc/[0-9]*/ns/mnt")
	return slices.ContainsFunc(links, func(link string) bool {
		pid, _ := strconv.Atoi(strings.Split(link, "/")[2])
		return b.contains(pid)
	})
}

// settleTime is how long after a command the box checks whether it has left processes behind. While it has, the time
// doubles up to maxSettleTime.
const (
	settleTime    = 300 * time.Millisecond
	maxSettleTime = time.Minute
)

// settle finds out, some time after a command, whether the box is empty: paths that appear then belong to the user. A
// process that a command left behind may create something and exit, so checking when something has appeared would be
// too late.
func (b *Box) settle(after time.Duration) {
	if b.settling || b.closed {
		return
	}
	b.settling = true
	started := b.started
	time.AfterFunc(after, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.settling = false
		switch {
		case b.closed:
		case b.started != started:
			b.settle(settleTime)
		default:
			running := b.populated() // before inspecting: the last process may create something and exit in between
			b.inspectAll()
			b.blockLinks()
			if b.empty = !running; running {
				b.settle(min(2*after, maxSettleTime))
			}
		}
	})
}

// notice handles paths that have appeared before a command starts. If no process was running, they belong to the user.
func (b *Box) notice() {
	if !b.appeared() {
		return
	}
	if !b.empty {
		b.inspectAll()
		return
	}
	b.outdated = true
	if b.watch != nil {
		b.watch.found, b.watch.lost = nil, false
	}
}

// Sweep blocks paths that a command has created and must not create, after the command has ended. It returns the paths
// that were blocked since the last call: renamed, so that they end in ".reins-blocked", or removed in a repository.
func (b *Box) Sweep() (blocked []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sweep()
}

func (b *Box) sweep() (blocked []string) {
	if b.appeared() || b.watch != nil && len(b.watch.found) > 0 {
		b.inspectAll()
	}
	b.blockLinks()
	b.settle(settleTime)
	blocked, b.blocked = b.blocked, nil
	slices.Sort(blocked)
	return slices.Compact(blocked)
}
