package local

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/reins-agent/reins/env"
)

// NoLinks returns a view without symbolic links; see [env.NoLinks]. Closing it closes e.
func (e *Env) NoLinks(outer env.Environment) env.Environment {
	if outer != env.Environment(e) {
		return nil // outer may have replaced methods
	}
	view := &Env{state: e.state, tree: e.tree, outside: e.outside}
	view.tree.exact = true
	return view
}

// exact is a handle that refuses names with symbolic links. Linux opens such a name with one system call. Elsewhere its
// directories are opened one by one.
type exact struct{ handle }

func (x exact) Lstat(name string) (fi fs.FileInfo, err error) {
	f, err := openNoLinks(x.handle, name, findEntry)
	if err == nil {
		defer f.Close()
		return f.Stat()
	}
	if !errors.Is(err, errors.ErrUnsupported) {
		return nil, err
	}
	err = x.beside(name, func(d *os.Root, base string) (err error) {
		fi, err = d.Lstat(base)
		return err
	})
	return fi, err
}

func (x exact) Stat(name string) (fs.FileInfo, error) {
	fi, err := x.Lstat(name)
	if err == nil && fi.Mode()&fs.ModeSymlink != 0 {
		return nil, env.ErrLink
	}
	return fi, err
}

// OpenFile opens an existing file.
func (x exact) OpenFile(name string, flag int, _ fs.FileMode) (f *os.File, err error) {
	if f, err = openNoLinks(x.handle, name, flag); !errors.Is(err, errors.ErrUnsupported) {
		return f, err
	}
	err = x.beside(name, func(d *os.Root, base string) (err error) {
		f, err = openSame(d, base, (*os.File).Stat, func() (*os.File, error) { return d.OpenFile(base, flag, 0) })
		return err
	})
	return f, err
}

func (x exact) OpenRoot(name string) (*os.Root, error) {
	f, err := openNoLinks(x.handle, name, findDirectory)
	if err == nil {
		defer f.Close()
		if path, ok := descriptorPath(f); ok {
			return os.OpenRoot(path)
		}
	} else if !errors.Is(err, errors.ErrUnsupported) {
		return nil, err
	}
	return x.enter(name)
}

// enter opens a directory one element at a time.
func (x exact) enter(name string) (*os.Root, error) {
	start := "."
	if filepath.IsAbs(name) {
		start = filepath.VolumeName(name) + string(filepath.Separator)
		name = name[len(start):]
	}
	d, err := x.handle.OpenRoot(start)
	if err != nil {
		return nil, err
	}
	for _, elem := range elements(name) {
		if elem == "." {
			continue
		}
		next, err := openSame(d, elem, statRoot, func() (*os.Root, error) { return openDir(d, elem) })
		d.Close()
		if err != nil {
			return nil, err
		}
		d = next
	}
	return d, nil
}

func statRoot(d *os.Root) (fs.FileInfo, error) { return d.Stat(".") }

// openSame opens a directory entry and refuses a symbolic link. os.Root follows links inside its directory, so what was
// opened is compared with the entry. It tries again if the entry was replaced.
func openSame[T io.Closer](d *os.Root, name string, stat func(T) (fs.FileInfo, error), open func() (T, error)) (none T, err error) {
	for range 5 {
		var entry, opened fs.FileInfo
		if entry, err = d.Lstat(name); err != nil {
			return none, err
		}
		if entry.Mode()&fs.ModeSymlink != 0 {
			return none, env.ErrLink
		}
		var f T
		if f, err = open(); err != nil {
			// It was replaced by a link that leads out, or by a link that changes again and again.
			if _, outside := d.Lstat(".."); errors.Is(err, cause(outside)) || errors.Is(err, syscall.ELOOP) {
				err = env.ErrLink
			}
			continue
		}
		if opened, err = stat(f); err == nil && os.SameFile(entry, opened) {
			return f, nil
		}
		f.Close()
		err = env.ErrLink
	}
	return none, err
}

// beside calls f with the directory that contains name, and the last element.
func (x exact) beside(name string, f func(d *os.Root, base string) error) error {
	dir, base := filepath.Dir(name), filepath.Base(name)
	if dir == name {
		base = "."
	}
	d, err := x.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return f(d, base)
}

func (x exact) Mkdir(name string, perm fs.FileMode) error {
	return x.beside(name, func(d *os.Root, base string) error { return d.Mkdir(base, perm) })
}

func (x exact) Remove(name string) error {
	return x.beside(name, func(d *os.Root, base string) error { return d.Remove(base) })
}

func (x exact) Rename(from, to string) error {
	return x.beside(from, func(d *os.Root, old string) error {
		if filepath.Dir(from) == filepath.Dir(to) {
			return d.Rename(old, filepath.Base(to))
		}
		return x.beside(to, func(target *os.Root, base string) error { return renameBetween(d, old, target, base) })
	})
}

// workdir returns a path for a command to start in. Without symbolic links, and if the directory was
// given, it denotes exactly dir until release is called.
func (t *tree) workdir(given, dir string) (path string, release func() error, err error) {
	keep := func() error { return nil }
	if !t.exact || given == "" {
		return dir, keep, nil
	}
	h, name, err := t.find(dir)
	if err != nil {
		return "", nil, err
	}
	f, err := openNoLinks(h, name, findDirectory)
	if errors.Is(err, errors.ErrUnsupported) {
		return dir, keep, nil
	}
	if err != nil {
		return "", nil, err
	}
	if path, ok := descriptorPath(f); ok {
		return path, f.Close, nil
	}
	return dir, f.Close, nil
}
