// Package realpath resolves symbolic links in this machine's paths.
package realpath

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Dir returns a directory's absolute path without symbolic links.
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

// Same reports whether a directory is the one with this real path.
func Same(dir, real string) bool {
	if dir == real {
		return true
	}
	d, err := Dir(dir)
	return err == nil && d == real
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

// Cache resolves many paths, and reads each directory once. It may miss later changes. The zero value is ready to use.
type Cache struct {
	dirs map[string]*dir
}

// dir is a directory, which may not exist.
type dir struct {
	real  string
	ok    bool
	asked int
	names map[string]bool // what it contains, lower-case; nil if that is not known
}

// A directory is listed after lookups for so many entries, unless it has too many entries.
const (
	listAfter  = 4
	maxEntries = 2000
)

// Resolve returns an absolute path without symbolic links, as far as it exists. ok is false if it does not exist.
func (c *Cache) Resolve(path string) (real string, ok bool) {
	path = filepath.Clean(path)
	if filepath.Dir(path) == path {
		return path, true
	}
	name, parent := filepath.Base(path), c.dir(filepath.Dir(path))
	real = filepath.Join(parent.real, name)
	if !parent.ok || parent.lacks(name) {
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

func (c *Cache) dir(path string) *dir {
	if d := c.dirs[path]; d != nil {
		return d
	}
	d := &dir{}
	d.real, d.ok = c.Resolve(path)
	if c.dirs == nil {
		c.dirs = make(map[string]*dir)
	}
	c.dirs[path] = d
	return d
}

// lacks reports whether a directory certainly has no entry with this name, in any case.
func (d *dir) lacks(name string) bool {
	if d.asked++; d.asked == listAfter {
		d.list()
	}
	return d.names != nil && !d.names[strings.ToLower(name)]
}

func (d *dir) list() {
	f, err := os.Open(d.real)
	if err != nil {
		return
	}
	defer f.Close()
	list, err := f.Readdirnames(maxEntries)
	if err != nil && err != io.EOF || len(list) == maxEntries {
		return
	}
	d.names = make(map[string]bool, len(list))
	for _, name := range list {
		d.names[strings.ToLower(name)] = true
	}
}
