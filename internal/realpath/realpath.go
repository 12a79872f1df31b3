// Package realpath resolves symbolic links in paths of this machine.
package realpath

import (
	"fmt"
	"os"
	"path/filepath"
)

// Dir returns the absolute path of a directory without symbolic links.
func Dir(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%s is not a directory", dir)
	}
	return real, nil
}

// Resolve returns the absolute path without symbolic links, as far as it exists and can be read. A link to something
// that does not exist is not resolved.
func Resolve(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil { // the working directory is gone
		return filepath.Clean(path)
	}
	for at, rest := abs, ""; ; at, rest = filepath.Dir(at), filepath.Join(filepath.Base(at), rest) {
		// Lstat looks at one element, EvalSymlinks at all.
		if _, err := os.Lstat(at); err == nil {
			if real, err := filepath.EvalSymlinks(at); err == nil {
				return filepath.Join(real, rest)
			}
		}
		if at == filepath.Dir(at) {
			return abs
		}
	}
}

// Cache resolves many paths, and looks at each directory once. What changes meanwhile may be missed. The zero value is
// ready to use.
type Cache struct {
	dirs map[string]entry
}

// entry is what a path resolves to, and whether it exists.
type entry struct {
	real string
	ok   bool
}

// Resolve returns an absolute path without symbolic links, as far as it exists. ok is false if it does not exist.
func (c *Cache) Resolve(path string) (real string, ok bool) {
	path = filepath.Clean(path)
	dir := filepath.Dir(path)
	if dir == path {
		return path, true
	}
	if c.dirs == nil {
		c.dirs = make(map[string]entry)
	}
	parent, known := c.dirs[dir]
	if !known {
		parent.real, parent.ok = c.Resolve(dir)
		c.dirs[dir] = parent
	}
	real = filepath.Join(parent.real, filepath.Base(path))
	if !parent.ok {
		return real, false
	}
	fi, err := os.Lstat(real)
	if err != nil {
		return real, false
	}
	if fi.Mode()&os.ModeSymlink == 0 {
		return real, true
	}
	target, err := filepath.EvalSymlinks(real)
	if err != nil { // a link to something that does not exist
		return real, false
	}
	return target, true
}
