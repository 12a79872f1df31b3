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
