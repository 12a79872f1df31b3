package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/reins-agent/reins/env"
)

// write replaces or creates a file, creating missing parents.
func (t *tree) write(ctx context.Context, path string, data []byte, perm fs.FileMode) error {
	abs, err := t.abs(path)
	if err != nil {
		return err
	}
	if os.IsPathSeparator(path[len(path)-1]) {
		if _, _, err := t.locate(abs); err != nil {
			return err
		}
		return env.ErrIsDir
	}
	again, err := t.writeOnce(ctx, abs, data, perm)
	if !again {
		return err
	}
	// Resolve the symbolic link, so that its target is replaced and the link stays.
	if abs, err = t.canonical(abs, true); err != nil {
		return err
	}
	if t.special(abs) {
		return env.ErrSpecial
	}
	again, err = t.writeOnce(ctx, abs, data, perm)
	if again && err == nil {
		return errors.New("the file was replaced by a symbolic link meanwhile; try again")
	}
	return err
}

// writeOnce writes a file. It reports again if the path contains a symbolic link that must be
// resolved first.
func (t *tree) writeOnce(ctx context.Context, abs string, data []byte, perm fs.FileMode) (again bool, err error) {
	h, name, err := t.locate(abs)
	if err != nil {
		return false, err
	}
	dir, base := filepath.Split(name)
	if dir = filepath.Clean(dir); base == "" || base == "." {
		return false, env.ErrIsDir
	}
	d, made, err := openParent(h, dir)
	if err != nil {
		return t.escaped(err), err
	}
	defer d.Close()
	defer func() {
		if err != nil {
			removeDirs(h, made)
		}
	}()
	old, err := d.Lstat(base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old = nil
	case err != nil:
		return false, err
	case old.Mode()&fs.ModeSymlink != 0 && t.exact:
		return false, env.ErrLink
	case old.Mode()&fs.ModeSymlink != 0:
		return true, nil
	}
	r := replacement{
		dir:   d,
		name:  base,
		old:   old,
		perm:  perm,
		flush: t.flush,
	}
	if err := r.write(ctx, bytes.NewReader(data)); err != nil {
		return false, err
	}
	return false, t.flushParents(h, made)
}

// flushParents makes the names of new directories durable.
func (t *tree) flushParents(h handle, made []string) error {
	for _, dir := range slices.Backward(made) {
		if err := flushDir(h, filepath.Dir(dir), t.flush); err != nil {
			return err
		}
	}
	return nil
}

// flushDir makes the names in a directory durable, unless the file system does not support that or the directory is not
// readable.
func flushDir(h handle, name string, flush func(*os.File) error) error {
	f, err := h.OpenFile(name, os.O_RDONLY, 0)
	if err == nil {
		err = flush(f)
		f.Close()
	}
	if err == nil || syncUnsupported(err) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return fmt.Errorf("the file was written, but flushing its directory to disk failed: %w", cause(err))
}

// openParent opens a directory, creating it and its parents if they are missing. It returns the
// directories it created.
func openParent(h handle, dir string) (d *os.Root, made []string, err error) {
	d, err = openDir(h, dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return d, nil, err
	}
	var missing []string
	for at := dir; ; at = filepath.Dir(at) {
		err := h.Mkdir(at, 0o777)
		if errors.Is(err, fs.ErrNotExist) && at != filepath.Dir(at) {
			missing = append(missing, at)
			continue
		}
		if err == nil {
			made = append(made, at)
		} else if !errors.Is(err, fs.ErrExist) {
			return nil, nil, err
		}
		break
	}
	for _, at := range slices.Backward(missing) {
		err := h.Mkdir(at, 0o777)
		if err == nil {
			made = append(made, at)
		} else if !errors.Is(err, fs.ErrExist) {
			removeDirs(h, made)
			return nil, nil, err
		}
	}
	if d, err = h.OpenRoot(dir); err != nil {
		removeDirs(h, made)
		return nil, nil, err
	}
	return d, made, nil
}

// removeDirs removes the directories that openParent created, if they are still empty.
func removeDirs(h handle, made []string) {
	for _, dir := range slices.Backward(made) {
		h.Remove(dir)
	}
}

// replacement is an atomic write: a temporary file beside the target that is renamed to it. All steps use one directory
// handle, so the directory cannot be swapped in between.
type replacement struct {
	dir   *os.Root
	name  string
	old   fs.FileInfo // nil for a new file
	perm  fs.FileMode // for a new file
	flush func(*os.File) error
}

// write writes and flushes the temporary file, renames it and flushes the directory. On failure the old file is
// unchanged and the temporary file is removed, unless only the last step failed.
func (r *replacement) write(ctx context.Context, content io.Reader) (err error) {
	var old *os.File
	perm := r.perm
	if r.old != nil {
		if err := mustBeRegular(r.old); err != nil {
			return err
		}
		if old, err = r.openOld(); err != nil {
			return err
		}
		if old != nil {
			defer old.Close()
		}
		perm = 0o600 // until fill has set the owner
	}
	temp := ".reins-" + newID() + ".tmp"
	f, err := r.dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			r.dir.Remove(temp)
		}
	}()
	err = r.fill(f, old, content)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	if err := r.dir.Rename(temp, r.name); err != nil {
		return err
	}
	return flushDir(r.dir, ".", r.flush)
}

// openOld opens the old file for writing, to check that this is permitted: a rename would not. A
// running program cannot be opened, but may be replaced; openOld returns nil for it.
func (r *replacement) openOld() (*os.File, error) {
	f, err := r.dir.OpenFile(r.name, os.O_WRONLY|openNonblock, 0)
	if errors.Is(err, errTextBusy) {
		return nil, nil
	}
	return f, err
}

// fill writes the temporary file and copies owner, attributes and mode from the old file.
func (r *replacement) fill(f, old *os.File, content io.Reader) error {
	if _, err := io.Copy(f, content); err != nil {
		return err
	}
	if r.old != nil {
		if err := keepOwner(f, r.old); err != nil {
			return err
		}
		if old != nil {
			keepAttributes(f, old)
		}
		if err := f.Chmod(r.old.Mode()); err != nil {
			return err
		}
	}
	return r.flush(f)
}
