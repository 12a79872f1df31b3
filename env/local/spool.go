package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/reins-agent/reins/internal/filelock"
)

// spoolPrefix starts every private directory name. watchdog.sh relies on it.
const spoolPrefix = "reins-"

// spoolFile creates a file for a process's output, and the private directory if there is none yet.
func (e *Env) spoolFile() (*os.File, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.makeSpool(); err != nil {
		return nil, err
	}
	// The directory is open, because a command that can write its parent could replace it.
	return e.spool.OpenFile("output-"+newID(), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
}

// makeSpool creates the private directory if there is none yet. The watchdog, which removes it if this process is
// killed, is told its name first. The name goes through the socket: other users could read it in arguments and create
// it themselves. The caller holds e.mu.
func (e *Env) makeSpool() error {
	if e.spoolDir != "" {
		return nil
	}
	if e.spoolName == "" {
		e.spoolName = spoolPrefix + newID()
	}
	if e.guard != nil {
		e.guard.spools(e.spoolName)
	}
	dir := filepath.Join(e.spoolRoot, e.spoolName)
	for {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		swept, err := e.openSpool(dir)
		if err != nil {
			return err
		}
		if !swept {
			break
		}
	}
	e.busy.Go(func() { sweepOnce(e.spoolRoot) })
	return nil
}

// openSpool opens and locks the private directory. swept reports that another process removed it before it was locked.
func (e *Env) openSpool(dir string) (swept bool, err error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, os.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	lock, err := root.Open(".")
	if err != nil {
		return false, errors.Join(err, root.Close())
	}
	// Where directories cannot be locked, they are not swept either.
	_ = filelock.Wait(context.Background(), lock)
	if _, gone := os.Lstat(dir); errors.Is(gone, os.ErrNotExist) {
		return true, errors.Join(lock.Close(), root.Close())
	}
	if err := sameDir(root, dir); err != nil {
		return false, errors.Join(err, lock.Close(), root.Close())
	}
	e.spoolDir = dir
	e.spool = root
	e.spoolLock = lock
	return false, nil
}

// removeSpool removes the private directory. The caller holds e.mu.
func (e *Env) removeSpool() error {
	if e.spoolDir == "" {
		return nil
	}
	return errors.Join(e.spoolLock.Close(), e.spool.Close(), removeTree(e.spoolDir))
}

// sameDir reports whether a path is the directory that was opened at it, and not a link.
func sameDir(root *os.Root, path string) error {
	opened, err := root.Stat(".")
	if err != nil {
		return err
	}
	if info, err := os.Lstat(path); err != nil || !os.SameFile(info, opened) {
		return fmt.Errorf("use %s: it was replaced", path)
	}
	return nil
}

// checkSpool reports early if the private directory cannot be created later.
func (e *Env) checkSpool() error {
	info, err := os.Stat(e.spoolRoot)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", e.spoolRoot)
	}
	if err != nil {
		return fmt.Errorf("find a directory for command output: %w", err)
	}
	return nil
}

// sweptRoots are the parent directories that this process has swept.
var sweptRoots sync.Map

// sweepOnce removes private directories below root that dead processes left. Each process does it once.
func sweepOnce(root string) {
	if _, done := sweptRoots.LoadOrStore(root, true); !done {
		sweepSpools(root)
	}
}

// removeTree removes a directory with everything below it, even where commands have removed write permission, as in
// Go's module cache.
func removeTree(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	root, errOpen := os.OpenRoot(dir)
	if errOpen != nil {
		return err
	}
	defer root.Close()
	_ = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && err == nil {
			_ = root.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
