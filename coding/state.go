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
	"github.com/reins-agent/reins/internal/realpath"
)

// ErrNoStateDir is returned if the environment does not define a directory for sessions.
var ErrNoStateDir = errors.New("no directory for sessions: REINS_HOME and the home directory are not set; set REINS_HOME to a directory")

// StateDir returns the directory for sessions and checkpoints: $REINS_HOME, or reins in the system's
// directory for program state. It may not exist. getenv defaults to os.Getenv.
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

// statePath returns the state directory on a system, or "" if the environment does not define it.
func statePath(goos string, getenv func(string) string) string {
	if dir := getenv("REINS_HOME"); dir != "" {
		return dir
	}
	// XDG requires relative paths to be ignored.
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

// WorktreesDir returns the directory for the worktrees of a state directory.
func WorktreesDir(state string) string { return filepath.Join(state, "worktrees") }

// CheckpointsDir is the name of the directory in a state directory for checkpoints. It has a subdirectory for each
// workspace.
const CheckpointsDir = "checkpoints"

// OpenSessions returns the store for the sessions of a state directory. It does not create the directory. waiting, if
// not nil, is called with the ID of a session that cannot be opened until commands of a killed process have stopped.
func OpenSessions(state string, waiting func(id string)) (*filestore.Store, error) {
	return filestore.New(filestore.Config{Dir: filepath.Join(state, sessionsName), Waiting: waiting})
}

// checkpointDir returns the directory for the checkpoints of a workspace, which is identified by its real path.
func checkpointDir(state, workspace string) (string, error) {
	real, err := realpath.Dir(workspace)
	if err != nil {
		return "", fmt.Errorf("cannot find directory %s: %w", workspace, err)
	}
	sum := sha256.Sum256([]byte(real))
	return filepath.Join(state, CheckpointsDir, plainName(filepath.Base(real))+"-"+hex.EncodeToString(sum[:6])), nil
}

// OpenCheckpoints opens the checkpoints of a workspace. They never include sessions, checkpoints or the audit log, even
// if the state directory is inside the workspace: restoring them would destroy newer data.
func OpenCheckpoints(state, workspace string) (*checkpoint.Store, error) {
	place, err := checkpointDir(state, workspace)
	if err != nil {
		return nil, err
	}
	own := []string{filepath.Join(state, sessionsName), filepath.Join(state, CheckpointsDir), filepath.Join(state, auditDir)}
	return checkpoint.Open(checkpoint.Config{Dir: workspace, Store: place, Exclude: own, Keep: keptCheckpoints})
}

// keptCheckpoints is the maximum number of checkpoints of a workspace, for all its sessions.
const keptCheckpoints = 200

// sessionCheckpoints opens the checkpoints of a workspace for a session. Damage is only reported; new
// checkpoints are still taken if possible.
func sessionCheckpoints(ctx context.Context, state, workspace string, warn func(error)) agent.Checkpoints {
	store, err := OpenCheckpoints(state, workspace)
	if err != nil {
		return noCheckpoints{err}
	}
	if _, err := store.List(ctx); err != nil && ctx.Err() == nil && warn != nil {
		warn(fmt.Errorf("undo cannot restore some earlier checkpoints: %w; run \"reins sessions verify\" for details", err))
	}
	return Checkpoints{Store: store}
}

// noCheckpoints is used if the store cannot be opened. All its methods return the error.
type noCheckpoints struct{ err error }

func (n noCheckpoints) Take(context.Context, string) (string, int, error) { return "", 0, n.err }

func (n noCheckpoints) Restore(context.Context, agent.Restore) (agent.Restored, error) {
	return agent.Restored{}, n.err
}

// plainName returns a similar file name that is valid on every system.
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

// SandboxCache returns the directory for the caches of sandboxed commands in a workspace. Each workspace has its own,
// so that a project cannot use what another one put into a cache.
func SandboxCache(state, dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(abs))
	return filepath.Join(state, "sandbox", hex.EncodeToString(sum[:8]))
}

// reserveState creates the directories of the state directory if it is in a workspace: commands there must not create
// them first.
func reserveState(state, dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(dir, state); err != nil || !filepath.IsLocal(rel) {
		return nil
	}
	for _, name := range []string{"sessions", "checkpoints", "trust", "audit"} {
		if err := os.MkdirAll(filepath.Join(state, name), 0o700); err != nil {
			return err
		}
	}
	return nil
}
