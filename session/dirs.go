package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/reins-agent/reins/checkpoint"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/realpath"
)

// Nearest returns the last session in a directory, or else in the nearest parent directory with a session; above is then
// true. It prefers sessions that are not unused forks. It skips sessions that cannot be read, and imported ones that
// were never continued, because their directory comes from the archive. If there is none, the error is a
// *[NotFoundError] with the directory.
func (m *Manager) Nearest(ctx context.Context, dir string) (s event.Meta, above bool, err error) {
	real, err := realpath.Dir(dir)
	if err != nil {
		return event.Meta{}, false, &DirError{Dir: dir, Err: err}
	}
	var nearest, fork event.Meta
	depth := 0
	for s, err := range m.Store.List(ctx) {
		switch {
		case ctx.Err() != nil:
			return event.Meta{}, false, context.Cause(ctx)
		case err != nil && s.ID == "":
			return event.Meta{}, false, err
		case err != nil || s.Dir == "" || s.Foreign():
			continue
		}
		switch there, err := realpath.Dir(s.Dir); {
		case err != nil:
		case unusedFork(s):
			if there == real && fork.ID == "" {
				fork = s
			}
		case there == real:
			return s, false, nil
		case len(there) > depth && isBelow(real, there):
			nearest, depth = s, len(there)
		}
	}
	if fork.ID != "" {
		return fork, false, nil
	}
	if depth == 0 {
		return event.Meta{}, false, &NotFoundError{Dir: real}
	}
	return nearest, true, nil
}

// isBelow reports whether a directory is inside another. Both must be real paths.
func isBelow(dir, parent string) bool {
	rel, err := filepath.Rel(parent, dir)
	return err == nil && rel != "." && filepath.IsLocal(rel)
}

// checkpoints opens the checkpoints for a directory in which a session worked.
func (m *Manager) checkpoints(session, dir string) (*checkpoint.Store, error) {
	if dir == "" {
		return nil, &DirError{Session: session}
	}
	store, err := m.Home.OpenCheckpoints(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, &DirError{Session: session, Dir: dir, Err: err}
	}
	return store, err
}

// resolvePaths returns absolute paths without symbolic links in their directories. Otherwise a link to the workspace
// would make a path look like one outside it.
func resolvePaths(paths []string) ([]string, error) {
	var out []string
	for _, p := range paths {
		abs, err := filepath.Abs(p)
		if err != nil {
			return nil, &DirError{Dir: p, Err: err}
		}
		out = append(out, resolveParent(abs))
	}
	return out, nil
}

// resolveParent resolves symbolic links in a path's directory as far as it exists. The last element stays as it
// is, because it may be a link itself.
func resolveParent(path string) string {
	dir, name := filepath.Split(filepath.Clean(path))
	dir = filepath.Clean(dir)
	if name == "" || dir == path {
		return path
	}
	real, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, os.ErrNotExist) {
		real, err = resolveParent(dir), nil
	}
	if err != nil {
		real = dir
	}
	return filepath.Join(real, name)
}
