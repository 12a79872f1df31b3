package checkpoint

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/reins-agent/reins/env/search"
)

// put brings one file, link or directory into the state of the checkpoint.
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
		if err := r.clear(d, name, info); err != nil {
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
		if err := r.store.step("make directory"); err != nil {
			return err
		}
		return d.Mkdir(name, 0o700)
	case info != nil && c.old != nil && c.new.kind != linkKind && c.old.sameContent(c.new):
		if err := r.store.step("change mode"); err != nil {
			return err
		}
		return d.Chmod(name, c.new.mode)
	}
	return r.replace(d, name, info, c.new)
}

// clear removes what is of the wrong kind.
func (r *restoring) clear(d *os.Root, name string, info fs.FileInfo) error {
	if err := r.store.step("clear"); err != nil {
		return err
	}
	err := d.Remove(name)
	if info.IsDir() && errors.Is(err, errNotEmpty) {
		return errors.New("a directory is in its place that holds files which are not in checkpoints")
	}
	return err
}

// replace writes a file or link beside its place and moves it there.
func (r *restoring) replace(d *os.Root, name string, old fs.FileInfo, e *entry) (err error) {
	temp := tempName + newName()
	defer func() {
		if err != nil {
			d.Remove(temp)
		}
	}()
	if err := r.store.step("write file"); err != nil {
		return err
	}
	if e.kind == linkKind {
		err = d.Symlink(e.target, temp)
	} else {
		err = r.write(d, temp, old, e)
	}
	if err != nil {
		return err
	}
	if err := r.store.step("rename file"); err != nil {
		return err
	}
	return d.Rename(temp, name)
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
		err = f.Sync()
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
	if err := r.store.step("remove"); err != nil {
		return err
	}
	return d.Remove(path.Base(c.Path))
}

// check looks at what is in the place of a file; nil is nothing. It fails if that is not what the
// checkpoint of the present has, so that nothing is lost.
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
		return nil, errors.New("what is there now could not be saved first, so it was left as it is")
	}
	id := identityOf(search.TreeStatOf(info))
	if info.IsDir() {
		if n.isDir() {
			return info, nil
		}
	} else if n.id.size == id.size && n.id.modTime == id.modTime && n.id.inode == id.inode {
		// The time of change is not asked: removing another hard link to the file moves it.
		return info, nil
	}
	return nil, errors.New("it changed while the checkpoint was being restored, so it was left as it is")
}

// openDir opens a directory of the workspace without following symbolic links, and makes what is
// missing on the way if asked to. Directories that cannot be written to are made so until the end.
func (r *restoring) openDir(dir string, make bool) (*os.Root, error) {
	at, err := r.root.OpenRoot(".")
	if err != nil || dir == "." {
		return at, err
	}
	p := ""
	for name := range strings.SplitSeq(dir, "/") {
		p = join(p, name)
		next, err := r.enter(at, p, make)
		at.Close()
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

func (r *restoring) enter(at *os.Root, p string, make bool) (*os.Root, error) {
	name := path.Base(p)
	info, err := at.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) && make {
		if err := r.makeParent(at, p); err != nil {
			return nil, err
		}
		info, err = at.Lstat(name)
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, errors.New(p + " is not a directory; restore that first")
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
		err = errors.New(p + " is being exchanged for something else")
	}
	if err != nil {
		next.Close()
		return nil, err
	}
	return next, nil
}

// makeParent makes a directory that is missing and was not asked for.
func (r *restoring) makeParent(at *os.Root, p string) error {
	e, err := r.objects.find(r.target, p)
	if err != nil {
		return err
	}
	if e.isDir() {
		r.modes[p] = e.mode
	}
	if err := r.store.step("make parent"); err != nil {
		return err
	}
	return at.Mkdir(path.Base(p), 0o700)
}

// setModes gives directories their modes, those inside first. Doing so may open up one above for a
// moment, which is then due again.
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
	if err := r.store.step("change mode of directory"); err != nil {
		return err
	}
	return d.Chmod(path.Base(p), mode)
}
