package local

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/reins-agent/reins/internal/filelock"
)

// maxCaches limits how many environments have lasting caches below one directory at a time.
const maxCaches = 8

// lockCache returns a cache directory below parent, and the file that keeps others from using it. An overlay must not
// be mounted twice. If all are in use, it returns "".
func lockCache(parent string) (dir string, lock *os.File, err error) {
	for n := range maxCaches {
		dir := filepath.Join(parent, strconv.Itoa(n+1))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", nil, fmt.Errorf("create a directory for caches: %w", err)
		}
		f, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return "", nil, fmt.Errorf("lock a directory for caches: %w", err)
		}
		if ok, err := filelock.Try(f); err == nil && ok {
			real, err := filepath.EvalSymlinks(dir)
			return real, f, err
		}
		f.Close()
	}
	return "", nil, nil
}
