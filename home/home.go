// Package home defines the layout of the state directory, where Reins keeps sessions, checkpoints, the audit log and
// everything else that outlives a process.
package home

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/reins-agent/reins/checkpoint"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/event/filestore"
	"github.com/reins-agent/reins/internal/realpath"
)

// ErrNone is returned if the environment does not define a state directory.
var ErrNone = errors.New("no directory for sessions: REINS_HOME and the home directory are not set; set REINS_HOME to a directory")

// Dir is a state directory's path; the directory may not exist yet. Its methods return paths below it and create nothing
// unless they say so.
type Dir string

// Find returns the state directory: $REINS_HOME, or reins in the system directory for program state. getenv defaults to
// os.Getenv.
func Find(getenv func(string) string) (Dir, error) {
	if getenv == nil {
		getenv = os.Getenv
	}
	dir := statePath(runtime.GOOS, getenv)
	if dir == "" {
		return "", ErrNone
	}
	dir, err := filepath.Abs(dir)
	return Dir(dir), err
}

// statePath returns the state directory for an operating system, or "" if the environment does not define it.
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

func (d Dir) join(elem ...string) string {
	return filepath.Join(append([]string{string(d)}, elem...)...)
}

// Sessions returns the directory for all sessions.
func (d Dir) Sessions() string { return d.join("sessions") }

// Session returns the directory for a session. It has a valid ID.
func (d Dir) Session(id string) string { return d.join("sessions", event.FoldID(id)) }

// Checkpoints returns the directory for all checkpoints. It has a subdirectory for each workspace.
func (d Dir) Checkpoints() string { return d.join("checkpoints") }

// Worktrees returns the directory for all worktrees.
func (d Dir) Worktrees() string { return d.join("worktrees") }

// Audit returns the audit log's path.
func (d Dir) Audit() string { return d.join("audit", "audit.jsonl") }

// Trust returns the directory that records which projects the user trusts.
func (d Dir) Trust() string { return d.join("trust") }

// Memory returns the directory for project notes.
func (d Dir) Memory() string { return d.join("memory") }

// Input returns the directory for the messages and drafts that the user typed in a workspace. The workspace
// is identified by its real path.
func (d Dir) Input(workspace string) (string, error) {
	name, err := nameOf(workspace)
	if err != nil {
		return "", err
	}
	return d.join("input", name), nil
}

// MCPLogs returns the directory for MCP server logs.
func (d Dir) MCPLogs() string { return d.join("mcp") }

// MCPGrants returns the directory for tokens from MCP server sign-ins.
func (d Dir) MCPGrants() string { return d.join("mcp", "grants") }

// MCPServers returns the directory for data that is remembered about each project's MCP servers.
func (d Dir) MCPServers() string { return d.join("mcp", "servers") }

// MCPLog returns the path of an MCP server's log. The previous log's name ends in .old.
func (d Dir) MCPLog(server string) string { return d.join("mcp", url.PathEscape(server)+".log") }

// MCPServer returns the file with saved facts about a project's MCP server. The project is identified by its root.
func (d Dir) MCPServer(root, server string) string {
	sum := sha256.Sum256([]byte(root + "\x00" + server))
	return filepath.Join(d.MCPServers(), hex.EncodeToString(sum[:16])+".json")
}

// Plans returns the directory for subscription sign-ins.
func (d Dir) Plans() string { return d.join("chatgpt") }

// Models returns the imported model list's path.
func (d Dir) Models() string { return d.join("models.json") }

// Cache returns the directory for sandbox caches in a workspace. Each workspace has its own, so that a project cannot
// use files that another project put into a cache.
func (d Dir) Cache(workspace string) string {
	abs, err := filepath.Abs(workspace)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(abs))
	return d.join("sandbox", hex.EncodeToString(sum[:8]))
}

// Protected returns the paths that neither commands nor file tools may change.
func (d Dir) Protected() []string {
	return []string{
		d.Sessions(),
		d.Checkpoints(),
		d.Trust(),
		filepath.Dir(d.Audit()),
		d.join("input"),
		d.MCPLogs(),
		d.Plans(),
		d.Models(),
	}
}

// Reserve creates the protected directories if the state directory is inside a workspace, where commands could
// otherwise create them first.
func (d Dir) Reserve(workspace string) error {
	workspace, err := filepath.Abs(workspace)
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(workspace, string(d)); err != nil || !filepath.IsLocal(rel) {
		return nil
	}
	for _, path := range d.Protected() {
		if path == d.Models() {
			continue
		}
		if err := os.MkdirAll(path, 0o700); err != nil {
			return err
		}
	}
	return nil
}

// OpenSessions returns the session store. It does not create the directory. waiting, if not nil, is called with a
// session ID when opening that session has to wait for commands of a killed process to stop.
func (d Dir) OpenSessions(waiting func(id string)) (*filestore.Store, error) {
	return filestore.New(filestore.Config{Dir: d.Sessions(), Waiting: waiting})
}

// keptCheckpoints limits the checkpoints per workspace, over all its sessions.
const keptCheckpoints = 200

// OpenCheckpoints opens a workspace's checkpoint store. Checkpoints never include sessions, checkpoints or the audit
// log, even if the state directory is inside the workspace: restoring them would destroy newer data.
func (d Dir) OpenCheckpoints(workspace string) (*checkpoint.Store, error) {
	place, err := d.checkpointsOf(workspace)
	if err != nil {
		return nil, err
	}
	return checkpoint.Open(checkpoint.Config{
		Dir:     workspace,
		Store:   place,
		Exclude: []string{d.Sessions(), d.Checkpoints(), filepath.Dir(d.Audit())},
		Keep:    keptCheckpoints,
	})
}

// checkpointsOf returns the checkpoint directory for a workspace, which is identified by its real path.
func (d Dir) checkpointsOf(workspace string) (string, error) {
	name, err := nameOf(workspace)
	if err != nil {
		return "", err
	}
	return filepath.Join(d.Checkpoints(), name), nil
}

// nameOf returns a workspace directory's name.
func nameOf(workspace string) (string, error) {
	real, err := realpath.Dir(workspace)
	if err != nil {
		return "", fmt.Errorf("cannot find directory %s: %w", workspace, err)
	}
	sum := sha256.Sum256([]byte(real))
	return plainName(filepath.Base(real)) + "-" + hex.EncodeToString(sum[:6]), nil
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
