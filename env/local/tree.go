package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/reins-agent/reins/env"
)

// maxLinks limits the symbolic links in a path.
const maxLinks = 40

// handle performs file operations: an os.Root, or machine.
type handle interface {
	Stat(name string) (fs.FileInfo, error)
	Lstat(name string) (fs.FileInfo, error)
	Readlink(name string) (string, error)
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
	OpenRoot(name string) (*os.Root, error)
	Mkdir(name string, perm fs.FileMode) error
	Remove(name string) error
	Rename(from, to string) error
}

// machine is the handle for an unconfined environment.
type machine struct{}

func (machine) Stat(name string) (fs.FileInfo, error)     { return os.Stat(name) }
func (machine) Lstat(name string) (fs.FileInfo, error)    { return os.Lstat(name) }
func (machine) Readlink(name string) (string, error)      { return os.Readlink(name) }
func (machine) OpenRoot(name string) (*os.Root, error)    { return os.OpenRoot(name) }
func (machine) Mkdir(name string, perm fs.FileMode) error { return os.Mkdir(name, perm) }
func (machine) Remove(name string) error                  { return os.Remove(name) }
func (machine) Rename(from, to string) error              { return os.Rename(from, to) }
func (machine) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, perm)
}

// root is a directory that paths are confined to.
type root struct {
	names  []string // as configured, and without symbolic links
	handle *os.Root
}

// tree resolves paths. No roots means no confinement.
type tree struct {
	wd      string
	paths   env.Paths
	roots   []root
	escape  error                // error from os.Root for a path that leads out
	flush   func(*os.File) error // makes a file or the names in a directory durable
	special func(string) bool    // reports whether a path is reserved for devices
	exact   bool                 // paths with symbolic links are refused
}

func newTree(wd string, dirs []string) (tree, error) {
	t := tree{wd: wd, paths: env.PathsOf(runtime.GOOS), flush: (*os.File).Sync, special: special}
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(wd, dir)
		}
		r, err := openRoot(filepath.Clean(dir))
		if err != nil {
			t.close()
			return tree{}, fmt.Errorf("open root %s: %w", dir, err)
		}
		t.roots = append(t.roots, r)
	}
	if len(t.roots) > 0 {
		// The error is not exported, so provoke it.
		_, err := t.roots[0].handle.Lstat("..")
		t.escape = cause(err)
	}
	return t, nil
}

func openRoot(dir string) (root, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return root{}, err
	}
	h, err := os.OpenRoot(dir)
	if err != nil {
		return root{}, err
	}
	return root{names: []string{dir, real}, handle: h}, nil
}

func (t *tree) close() error {
	var errs []error
	for _, r := range t.roots {
		errs = append(errs, r.handle.Close())
	}
	return errors.Join(errs...)
}

// abs returns the absolute, clean form of path.
func (t *tree) abs(path string) (string, error) {
	if path == "" {
		return "", fmt.Errorf("empty path: %w", fs.ErrInvalid)
	}
	if strings.ContainsRune(path, 0) {
		return "", fmt.Errorf("path contains a NUL byte: %w", fs.ErrInvalid)
	}
	path = t.paths.Abs(t.wd, path)
	if t.special(path) {
		return "", env.ErrSpecial
	}
	return path, nil
}

// locate returns the handle for operations on an absolute path, and the path relative to it.
func (t *tree) locate(abs string) (handle, string, error) {
	h, name, err := t.find(abs)
	if err == nil && t.exact {
		h = exact{h}
	}
	return h, name, err
}

// find returns the machine or the root that has an absolute path, and the path relative to it.
func (t *tree) find(abs string) (handle, string, error) {
	if len(t.roots) == 0 {
		return machine{}, abs, nil
	}
	var best *root
	name := ""
	for i := range t.roots {
		for _, dir := range t.roots[i].names {
			rel, ok := below(dir, abs)
			if ok && (best == nil || len(rel) < len(name)) {
				best, name = &t.roots[i], rel
			}
		}
	}
	if best == nil {
		return nil, "", env.ErrOutside
	}
	return best.handle, name, nil
}

// below returns abs relative to dir, if it is dir or below it.
func below(dir, abs string) (string, bool) {
	rel, err := filepath.Rel(dir, abs)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return rel, true
}

// follow runs an operation on a path. If an os.Root refuses a symbolic link because it is absolute or
// leads into another root, follow resolves it and tries again. The last element is resolved only if
// last is set.
func (t *tree) follow(path string, last bool, op func(h handle, name string) error) error {
	abs, err := t.abs(path)
	if err != nil {
		return err
	}
	h, name, err := t.locate(abs)
	if err != nil {
		return err
	}
	err = op(h, name)
	if !t.escaped(err) {
		return err
	}
	if abs, err = t.canonical(abs, last); err != nil {
		return err
	}
	if h, name, err = t.locate(abs); err != nil {
		return err
	}
	return op(h, name)
}

// escaped reports whether err says that a path leads out of an os.Root.
func (t *tree) escaped(err error) bool { return t.escape != nil && errors.Is(err, t.escape) }

// canonical resolves symbolic links in a path, in the last element only if last is set. The last elements need not
// exist.
func (t *tree) canonical(abs string, last bool) (string, error) {
	vol := filepath.VolumeName(abs) + string(filepath.Separator)
	cur, rest := vol, elements(abs[len(vol):])
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			cur = filepath.Dir(cur)
			continue
		}
		next := filepath.Join(cur, name)
		target, err := t.link(next)
		if errors.Is(err, fs.ErrNotExist) {
			return filepath.Join(append([]string{next}, rest...)...), nil
		}
		if err != nil {
			return "", err
		}
		if target == "" || len(rest) == 0 && !last {
			cur = next
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("%s: too many symbolic links", abs)
		}
		if filepath.IsAbs(target) {
			vol = filepath.VolumeName(target) + string(filepath.Separator)
			cur, target = vol, target[len(vol):]
		}
		rest = append(elements(target), rest...)
	}
	return cur, nil
}

// plain reports whether an absolute path exists and has no symbolic links, if the system can tell at once.
func (t *tree) plain(abs string) bool {
	h, name, err := t.find(abs)
	if err != nil {
		return false
	}
	f, err := openNoLinks(h, name, findFile)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

func elements(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) })
}

// link returns the target of a symbolic link, or "" for any other file. Directories above a root are
// not inspected, because the root was opened through them.
func (t *tree) link(abs string) (string, error) {
	h, name, err := t.find(abs)
	if err != nil {
		for _, r := range t.roots {
			for _, dir := range r.names {
				if _, above := below(abs, dir); above {
					return "", nil
				}
			}
		}
		return "", err
	}
	fi, err := h.Lstat(name)
	if err != nil || fi.Mode()&fs.ModeSymlink == 0 {
		return "", err
	}
	return h.Readlink(name)
}

// dir returns the full path to a directory for a command.
func (t *tree) dir(path string) (string, fs.FileInfo, error) {
	var fi fs.FileInfo
	err := t.follow(path, true, func(h handle, name string) (err error) {
		fi, err = h.Stat(name)
		return err
	})
	if err != nil {
		return "", nil, t.explain(err)
	}
	abs, err := t.abs(path)
	if err == nil && len(t.roots) > 0 {
		abs, err = t.canonical(abs, true)
	}
	return abs, fi, err
}

// explain translates an error from package os. It drops the paths, which are relative to a handle.
func (t *tree) explain(err error) error {
	if t.escaped(err) {
		return env.ErrOutside
	}
	if errors.Is(err, os.ErrClosed) {
		return env.ErrClosed
	}
	return translate(cause(err))
}

// translate returns the error in package env for a system error.
func translate(err error) error {
	for _, m := range systemErrors {
		if errors.Is(err, m.system) {
			return m.env
		}
	}
	return err
}

// errTooLongName is the error for a name that exceeds the file system's limit.
var errTooLongName = fmt.Errorf("name too long: %w", fs.ErrInvalid)

// cause returns an error without its operation and path.
func cause(err error) error {
	switch e := err.(type) {
	case *fs.PathError:
		return e.Err
	case *os.LinkError:
		return e.Err
	case *os.SyscallError:
		return e.Err
	}
	return err
}
