package gitdir

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/reins-agent/reins/env"
)

// Host is the machine that this program runs on.
var Host Files = host{}

type host struct{}

func (host) Paths() env.Paths { return env.PathsOf(runtime.GOOS) }

func (host) Stat(path string) (fs.FileMode, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return fi.Mode(), nil
}

func (host) Link(path string) (string, error) {
	fi, err := os.Lstat(path)
	if err != nil || fi.Mode()&fs.ModeSymlink == 0 {
		return "", err
	}
	return os.Readlink(path)
}

func (host) Real(path string) (string, error) { return filepath.EvalSymlinks(path) }

func (host) Read(path string) ([]byte, error) {
	if fi, err := os.Stat(path); err != nil { // opening a pipe would block
		return nil, err
	} else if !fi.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: env.ErrSpecial}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxRead+1))
	if err == nil && len(text) > maxRead {
		err = fmt.Errorf("%s: %w", path, env.ErrTooLarge)
	}
	return text, err
}
