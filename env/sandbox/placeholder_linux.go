//go:build amd64 || arm64

package sandbox

import (
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// placeholder is an empty directory that stands in for a missing protected path in a repository. All boxes that need it
// hold a shared lock on it, and the last one removes it.
type placeholder struct {
	path string
	file *os.File
}

// reserve creates placeholders for protected paths that do not exist. Git ignores empty directories. Placeholders
// of other boxes are kept too.
func (b *Box) reserve() {
	for _, path := range b.layout.protected {
		if !reserves(path) || !b.layout.open(filepath.Dir(path)) {
			continue // it exists, or nothing can be created there
		}
		made := mkdir(path) == nil
		if !made && !b.shared(path) {
			continue
		}
		b.release(path)
		f, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
		if err == nil {
			err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
		}
		if err != nil && !made {
			continue // it was removed meanwhile
		}
		b.reserved = append(b.reserved, placeholder{path, f})
	}
}

// shared reports whether a path is another box's placeholder: an empty directory that is locked.
func (b *Box) shared(path string) bool {
	if slices.ContainsFunc(b.reserved, func(p placeholder) bool { return p.path == path }) {
		return false
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == unix.EWOULDBLOCK
}

// unreserve removes the placeholders that are still empty and that no other box needs.
func (b *Box) unreserve() {
	for _, p := range slices.Backward(b.reserved) {
		if p.file == nil || unix.Flock(int(p.file.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			unix.Rmdir(p.path)
		}
		p.file.Close()
	}
	b.reserved = nil
}

// release forgets a placeholder that was removed.
func (b *Box) release(path string) {
	b.reserved = slices.DeleteFunc(b.reserved, func(p placeholder) bool {
		if p.path == path {
			p.file.Close()
		}
		return p.path == path
	})
}

// mkdir creates a directory. Its parents must not be links.
func mkdir(path string) error {
	dir, err := openReal(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return unix.Mkdirat(dir, filepath.Base(path), 0o755)
}

// present returns the layout without reserved paths that still do not exist: their parents are missing, or cannot be
// written.
func (b *Box) present() layout {
	l := b.layout
	l.protected = slices.DeleteFunc(slices.Clone(l.protected), missing)
	l.pinned = slices.DeleteFunc(slices.Clone(l.pinned), missing)
	l.readable = slices.DeleteFunc(slices.Clone(l.readable), missing)
	return l
}

// fileID identifies a file. The zero value means no file.
type fileID struct{ dev, ino uint64 }

func identify(path string) fileID {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return fileID{}
	}
	return fileID{uint64(st.Dev), st.Ino}
}

// stale reports whether the mounts no longer fit. A protected file that is replaced from outside, as git does when it
// writes its configuration, loses its mount.
func (b *Box) stale() bool {
	if b.notice(); b.outdated {
		return true
	}
	for path, want := range b.mounted {
		if id := identify(path); id != want {
			return true
		}
	}
	for dir, when := range b.listed {
		if changed(dir) != when {
			return true // new files in it must become readable
		}
	}
	if b.masks.changed() {
		return true
	}
	return !slices.Equal(b.config.hidden(), b.hidden)
}

// changed returns when names in a directory last changed, or 0.
func changed(dir string) int64 {
	var st unix.Stat_t
	if unix.Lstat(dir, &st) != nil {
		return 0
	}
	return st.Mtim.Nano()
}
