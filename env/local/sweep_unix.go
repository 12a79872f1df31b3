//go:build unix

package local

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/reins-agent/reins/internal/filelock"
)

// sweepSpools removes this user's private directories below root that no process uses. Only a host that was killed
// together with its watchdog leaves one.
func sweepSpools(root string) {
	dir, err := os.Open(root)
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	free := make(map[string]*os.File)
	for _, name := range names {
		if !isSpool(root, name) {
			continue
		}
		if f := lockSpool(filepath.Join(root, name)); f != nil {
			defer f.Close()
			free[name] = f
		}
	}
	if len(free) == 0 {
		return
	}
	used := inUse(slices.Collect(maps.Keys(free)))
	for name, f := range free {
		path := filepath.Join(root, name)
		opened, err := f.Stat()
		if now, errNow := os.Lstat(path); !used[name] && err == nil && errNow == nil && os.SameFile(opened, now) && isOurs(path) {
			_ = removeTree(path)
		}
	}
}

// isSpool reports whether a name denotes a private directory owned by this user.
func isSpool(root, name string) bool {
	id, ok := strings.CutPrefix(name, spoolPrefix)
	if !ok || len(id) != len(newID()) || strings.Trim(id, "0123456789abcdef") != "" {
		return false
	}
	info, err := os.Lstat(filepath.Join(root, name))
	if err != nil || info.Mode() != os.ModeDir|0o700 {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// isOurs reports whether a directory contains only files that an environment creates.
func isOurs(path string) bool {
	entries, err := os.ReadDir(path)
	return err == nil && !slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return e.Name() != tempName && e.Name() != readName && !strings.HasPrefix(e.Name(), "output-")
	})
}

// lockSpool locks a private directory, unless its environment has locked it. It stays locked until it is gone, so an
// environment that has just created it notices.
func lockSpool(path string) *os.File {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil
	}
	if ok, err := filelock.Try(f); !ok || err != nil {
		f.Close()
		return nil
	}
	return f
}
