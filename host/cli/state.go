package cli

import (
	"cmp"
	"fmt"
	"path/filepath"
	"runtime"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/event/filestore"
)

// stateDir returns the directory for sessions and checkpoints. It need not exist.
func stateDir(h Host) (string, error) {
	dir, err := coding.StateDir(h.Getenv)
	if err != nil {
		return "", usageError{err}
	}
	return dir, nil
}

// openStore returns the store of the sessions. It creates nothing yet.
func openStore(h Host) (*filestore.Store, error) {
	dir, err := stateDir(h)
	if err != nil {
		return nil, err
	}
	return coding.OpenSessions(dir, func(id string) {
		aside(h, "waiting for commands that a killed run of session %s left behind to end", id)
	})
}

func homeDir(goos string, getenv func(string) string) string {
	if goos == "windows" {
		return cmp.Or(getenv("USERPROFILE"), getenv("HOME"))
	}
	return getenv("HOME")
}

// realDir is a directory as an absolute path without links.
func realDir(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// shortDir is a directory with ~ for the home directory.
func shortDir(h Host, dir string) string {
	home := homeDir(runtime.GOOS, h.Getenv)
	if home == "" {
		return dir
	}
	switch rel, err := filepath.Rel(home, dir); {
	case err != nil || !filepath.IsLocal(rel):
		return dir
	case rel == ".":
		return "~"
	default:
		return fmt.Sprintf("~%c%s", filepath.Separator, rel)
	}
}
