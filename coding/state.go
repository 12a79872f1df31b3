package coding

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/checkpoint"
	"github.com/reins-agent/reins/event/filestore"
)

// ErrNoStateDir says that the environment names no directory for sessions.
var ErrNoStateDir = errors.New("no directory for sessions: neither REINS_HOME nor the home directory is set; set REINS_HOME to a directory")

// StateDir returns the directory where Reins saves sessions and checkpoints: $REINS_HOME, or reins in
// the directory that the system has for the state of programs. It need not exist. A nil getenv is
// os.Getenv.
func StateDir(getenv func(string) string) (string, error) {
	if getenv == nil {
		getenv = os.Getenv
	}
	dir := statePath(runtime.GOOS, getenv)
	if dir == "" {
		return "", ErrNoStateDir
	}
	return filepath.Abs(dir)
}

// statePath returns where a system keeps the state of programs; "" if the environment does not say.
func statePath(goos string, getenv func(string) string) string {
	if dir := getenv("REINS_HOME"); dir != "" {
		return dir
	}
	// The XDG specification says to ignore a relative path.
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "reins")
	}
	home := getenv("HOME")
	if goos == "windows" {
		home = cmp.Or(getenv("USERPROFILE"), home)
	}
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

const sessionsName = "sessions"

// CheckpointsDir is the directory in a state directory that has the checkpoints of all workspaces, each
// in a directory of its own.
const CheckpointsDir = "checkpoints"

// OpenSessions returns the store for the sessions of a state directory. It creates nothing yet. The
// callback waiting may be nil; it is called with the ID of a session whose opening takes longer, because
// commands that a killed process left behind are being ended first.
func OpenSessions(state string, waiting func(id string)) (*filestore.Store, error) {
	return filestore.New(filestore.Config{Dir: filepath.Join(state, sessionsName), Waiting: waiting})
}

// CheckpointDir returns the directory in a state directory where the checkpoints of a workspace are
// kept. Symbolic links on the way to the workspace do not matter.
func CheckpointDir(state, workspace string) (string, error) {
	real, err := realDir(workspace)
	if err != nil {
		return "", fmt.Errorf("the directory %s cannot be found: %w", workspace, err)
	}
	sum := sha256.Sum256([]byte(real))
	return filepath.Join(state, CheckpointsDir, plainName(filepath.Base(real))+"-"+hex.EncodeToString(sum[:6])), nil
}

// OpenCheckpoints opens the checkpoints of a workspace. The sessions and checkpoints themselves are
// never part of one, even if the state directory is inside the workspace: restoring them would take
// away what sessions have saved.
func OpenCheckpoints(state, workspace string) (*checkpoint.Store, error) {
	place, err := CheckpointDir(state, workspace)
	if err != nil {
		return nil, err
	}
	own := []string{filepath.Join(state, sessionsName), filepath.Join(state, CheckpointsDir)}
	return checkpoint.Open(checkpoint.Config{Dir: workspace, Store: place, Exclude: own, Keep: keptCheckpoints})
}

// keptCheckpoints is the maximum number of checkpoints of a workspace, over all its sessions.
const keptCheckpoints = 200

// sessionCheckpoints opens the checkpoints of a workspace for a session. Damage is no reason not to
// work: it is reported, and new checkpoints are taken if they can be.
func sessionCheckpoints(ctx context.Context, state, workspace string, warn func(error)) agent.Checkpoints {
	store, err := OpenCheckpoints(state, workspace)
	if err != nil {
		return noCheckpoints{err}
	}
	if _, err := store.List(ctx); err != nil && ctx.Err() == nil && warn != nil {
		warn(fmt.Errorf("undo cannot restore some earlier states of the files: %w", err))
	}
	return Checkpoints{Store: store}
}

// noCheckpoints stands for a place that cannot be used. The session says so when it would need it.
type noCheckpoints struct{ err error }

func (n noCheckpoints) Take(context.Context, string) (string, int, error) { return "", 0, n.err }

func (n noCheckpoints) Restore(context.Context, agent.Restore) ([]string, error) { return nil, n.err }

// realDir returns a directory as an absolute path without symbolic links.
func realDir(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// plainName returns a file name that every system accepts and that resembles the given one.
func plainName(name string) string {
	const maximum = 40
	name = strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-', r == '.':
			return r
		}
		return '-'
	}, name)
	if len(name) > maximum {
		name = name[:maximum]
	}
	return cmp.Or(strings.Trim(name, ".-"), "root")
}
