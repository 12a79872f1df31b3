package cli

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/reins-agent/reins/event/filestore"
)

// What is in the state directory.
const (
	sessionsName    = "sessions"
	checkpointsName = "checkpoints"
)

// stateDir is where Reins keeps what lasts: sessions and checkpoints. It need not exist; whoever
// writes to it makes it.
func stateDir(h Host) (string, error) {
	dir := statePath(runtime.GOOS, h.Getenv)
	if dir == "" {
		return "", usagef("there is no place for sessions: neither REINS_HOME nor the home directory is set")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", usagef("there is no place for sessions: %w", err)
	}
	return dir, nil
}

// statePath is where a system keeps the state of programs; "" if the environment does not tell.
func statePath(goos string, getenv func(string) string) string {
	if dir := getenv("REINS_HOME"); dir != "" {
		return dir
	}
	// The specification wants a relative path to be taken for none.
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "reins")
	}
	home := homeDir(goos, getenv)
	switch {
	case goos == "windows" && getenv("LocalAppData") != "":
		return filepath.Join(getenv("LocalAppData"), "reins")
	case home == "":
		return ""
	case goos == "windows":
		return filepath.Join(home, "AppData", "Local", "reins")
	case goos == "darwin":
		return filepath.Join(home, "Library", "Application Support", "reins")
	}
	return filepath.Join(home, ".local", "state", "reins")
}

func homeDir(goos string, getenv func(string) string) string {
	if goos == "windows" {
		return cmp.Or(getenv("USERPROFILE"), getenv("HOME"))
	}
	return getenv("HOME")
}

// openStore is the store of the sessions. It makes nothing yet.
func openStore(h Host) (*filestore.Store, error) {
	dir, err := stateDir(h)
	if err != nil {
		return nil, err
	}
	return filestore.New(filestore.Config{Dir: filepath.Join(dir, sessionsName), Waiting: func(id string) {
		aside(h, "waiting for the end of commands that a killed run of session %s left", id)
	}})
}

// checkpointDir is where the checkpoints of a workspace are kept. The way to the workspace does not
// matter: links lead to the same place.
func checkpointDir(h Host, workspace string) (string, error) {
	dir, err := stateDir(h)
	if err != nil {
		return "", err
	}
	real, err := realDir(workspace)
	if err != nil {
		return "", usagef("the directory %s cannot be found: %w", workspace, err)
	}
	sum := sha256.Sum256([]byte(real))
	return filepath.Join(dir, checkpointsName, plainName(filepath.Base(real))+"-"+hex.EncodeToString(sum[:6])), nil
}

// realDir is a directory as an absolute path without links.
func realDir(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// plainName is a name that every system takes for a file, as far as it can be recognised.
func plainName(name string) string {
	const most = 40
	name = strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-', r == '.':
			return r
		}
		return '-'
	}, name)
	if len(name) > most {
		name = name[:most]
	}
	return cmp.Or(strings.Trim(name, ".-"), "root")
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
