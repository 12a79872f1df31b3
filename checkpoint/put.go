package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/search"
)

// put restores one file, link or directory.
func (r *restoring) put(c *Change) error {
	d, err := r.openDir(path.Dir(c.Path), true)
	if err != nil {
		return err
	}
	defer d.Close()
	name := path.Base(c.Path)
	info, err := r.check(d, c.Path)
	if err != nil {
		return err
	}
	if info != nil && info.IsDir() != c.new.isDir() {
		err := r.store.do("clear", func() error { return d.Remove(name) })
		if info.IsDir() && errors.Is(err, errNotEmpty) {
			return errors.New("a directory with ignored files is in its place")
		}
		if err != nil {
			return err
		}
		info = nil
	}
	switch {
	case c.new.isDir():
		r.modes[c.Path] = c.new.mode
		if info != nil {
			return nil
		}
		return r.store.do("make directory", func() error { return d.Mkdir(name, 0o700) })
	case info != nil && c.old != nil && c.new.kind != linkKind && c.old.sameContent(c.new):
		return r.store.do("change mode", func() error { return d.Chmod(name, c.new.mode) })
	}
	return r.replace(d, name, info, c.new)
}

// replace writes a file or link under a temporary name and renames it.
func (r *restoring) replace(d *os.Root, name string, old fs.FileInfo, e *entry) error {
	temp := tempName + newName()
	err := r.store.do("write file", func() error {
		if e.kind == linkKind {
			return d.Symlink(e.target, temp)
		}
		return r.write(d, temp, old, e)
	})
	if err == nil {
		err = r.store.do("rename file", func() error { return d.Rename(temp, name) })
	}
	if err != nil {
		d.Remove(temp)
	}
	return err
}

func (r *restoring) write(d *os.Root, temp string, old fs.FileInfo, e *entry) error {
	f, err := d.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = r.objects.copyTo(f, e)
	if err == nil {
		if old != nil && old.Mode().IsRegular() {
			keepOwner(f, old)
		}
		err = f.Chmod(e.mode)
	}
	if err == nil {
		err = r.store.do("sync file", f.Sync)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// remove deletes a file, a link or an empty directory.
func (r *restoring) remove(c *Change) error {
	d, err := r.openDir(path.Dir(c.Path), false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	info, err := r.check(d, c.Path)
	if err != nil || info == nil {
		return err
	}
	return r.store.do("remove", func() error { return d.Remove(path.Base(c.Path)) })
}

// check returns the file at a path; nil means none. To lose nothing, it fails if the file is not in the checkpoint of
// the current state.
func (r *restoring) check(d *os.Root, p string) (fs.FileInfo, error) {
	info, err := d.Lstat(path.Base(p))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	n := r.present.find(p)
	if n == nil {
		return nil, errors.New("left as it is, because it could not be saved first")
	}
	id := identityOf(search.TreeStatOf(info))
	if info.IsDir() {
		if n.isDir() {
			return info, nil
		}
	} else if n.id.size == id.size && n.id.modTime == id.modTime && n.id.inode == id.inode {
		// The change time is not compared: removing another hard link to the file updates it.
		return info, nil
	}
	return nil, errors.New("left as it is, because it changed during the restore")
}

// openDir opens a workspace directory without following symbolic links, and creates missing directories if create is
// set. Directories without write permission get it until the end of the restore.
func (r *restoring) openDir(dir string, create bool) (*os.Root, error) {
	at, err := r.root.OpenRoot(".")
	if err != nil || dir == "." {
		return at, err
	}
	p := ""
	for name := range strings.SplitSeq(dir, "/") {
		p = join(p, name)
		next, err := r.enter(at, p, create)
		at.Close()
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

func (r *restoring) enter(at *os.Root, p string, create bool) (*os.Root, error) {
	name := path.Base(p)
	info, err := at.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) && create {
		if err := r.makeParent(at, p); err != nil {
			return nil, err
		}
		info, err = at.Lstat(name)
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory; restore it first", p)
	}
	const access = 0o700
	if mode := info.Mode(); mode&access != access {
		if _, ok := r.modes[p]; !ok {
			r.modes[p] = mode & modeBits
		}
		if err := at.Chmod(name, mode|access); err != nil {
			return nil, err
		}
	}
	next, err := at.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	inside, err := next.Stat(".")
	if err == nil && !os.SameFile(info, inside) {
		err = fmt.Errorf("%s changed during the restore", p)
	}
	if err != nil {
		next.Close()
		return nil, err
	}
	return next, nil
}

// makeParent creates a missing directory that is not itself to be restored.
func (r *restoring) makeParent(at *os.Root, p string) error {
	e, err := r.objects.find(r.target, p)
	if err != nil {
		return err
	}
	if e.isDir() {
		r.modes[p] = e.mode
	}
	return r.store.do("make parent", func() error { return at.Mkdir(path.Base(p), 0o700) })
}

// setModes sets directory modes, innermost first. Setting a mode may give the directory's parents write permission,
// which adds them to modes again.
func (r *restoring) setModes() {
	for len(r.modes) > 0 {
		for _, p := range slices.Backward(slices.Sorted(maps.Keys(r.modes))) {
			mode := r.modes[p]
			delete(r.modes, p)
			if err := r.setMode(p, mode); err != nil && !errors.Is(err, fs.ErrNotExist) {
				r.failed = append(r.failed, PathError{p, reason(err)})
			}
		}
	}
}

func (r *restoring) setMode(p string, mode fs.FileMode) error {
	d, err := r.openDir(path.Dir(p), false)
	if err != nil {
		return err
	}
	defer d.Close()
	info, err := d.Lstat(path.Base(p))
	if err != nil || !info.IsDir() || info.Mode()&modeBits == mode {
		return err
	}
	return r.store.do("change mode of directory", func() error { return d.Chmod(path.Base(p), mode) })
}
