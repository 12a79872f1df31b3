// Package checkpoint takes snapshots of a workspace and restores them. It does not need git and never changes a
// repository: nothing named .git is recorded, written or removed.
//
// # What is recorded
//
// [Store.Take] records every regular file, symbolic link and directory in the workspace, tracked or not, except files
// excluded by ignore files. Package search respects the same ignore files (.gitignore, .ignore, .rgignore, info/exclude
// and the user's global file), and .gitignore also applies outside a repository. Ignored files in the index of the
// workspace's repository are recorded too, but Restore never removes them: they may have existed, ignored, before the
// checkpoint.
//
// Content, permission bits and link targets are exact, and empty directories are included. Owners, times, extended
// attributes and hard links are not recorded. Devices, FIFOs and sockets are skipped.
//
// # How it is stored
//
// As in git, a directory is a list of entries with content hashes, a checkpoint is its root's hash, and checkpoints
// share unchanged objects. New objects are written to one file, a pack. The pack is durable before the record that
// creates the checkpoint is written, so a crash leaves a complete checkpoint or none. Every object is checked against
// its hash when it is read; [Verify] checks all of them.
//
// An index caches size, times and inode for each file, so that unchanged files are not read again. A file that was
// modified very recently is always read, because another change might not change its times. Losing the index only costs
// time.
//
// # How it is restored
//
// [Store.Restore] first takes a checkpoint of the current state, so that a restore can be undone. It overwrites and
// removes only what that checkpoint contains. Each file is replaced atomically. Files created since are removed unless
// the ignore rules before or after the restore exclude them, and directories that are not empty stay. Symbolic links
// are never followed. Failures are listed in an [IncompleteError]; everything else is restored.
//
// Changes that others made can be kept, or reported before anything is restored: with [RestoreOptions].Wrote, the
// caller names its own changes, which [Store.View] and [Store.Identify] find; with Left, it names the states in which
// it left the workspace.
//
// Between calls, a Store keeps nothing in memory and no files open. One lock per store serializes all calls, including
// calls by other processes.
package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/reins-agent/reins/internal/realpath"
)

// Config describes a workspace and where its checkpoints are stored.
type Config struct {
	// Dir is the workspace.
	Dir string

	// Store is the data directory, created if it is missing. It serves one workspace. If it is inside the workspace, it
	// is not recorded.
	Store string

	// Exclude lists more directories to neither record nor restore, such as the session directory. They need not exist
	// yet, and may be outside the workspace.
	Exclude []string

	// MaxBytes limits the total size of recorded files, MaxFiles the number of recorded files, links and directories.
	// Zero means 2 GiB and 200,000.
	MaxBytes int64
	MaxFiles int

	// Keep is the maximum number of checkpoints; zero keeps all. When there are more, the oldest are removed, an eighth
	// of the maximum at a time.
	Keep int
}

// A Store holds a workspace's checkpoints. Its methods may be called concurrently.
type Store struct {
	workspace string   // absolute, without symbolic links
	dir       string   // data directory, likewise
	excluded  []string // directories that are not recorded, relative to the workspace
	maxBytes  int64
	maxFiles  int
	keep      int

	// step, if set, is called before each change to the disk and can make it fail. Tests set it.
	step func(what string) error
}

// Open prepares a store. It records nothing.
func Open(c Config) (*Store, error) {
	s, err := open(c)
	if err != nil {
		return nil, fmt.Errorf("open checkpoint store: %w", err)
	}
	return s, nil
}

func open(c Config) (*Store, error) {
	if c.Dir == "" || c.Store == "" {
		return nil, errors.New("both Dir and Store are required")
	}
	workspace, dir := realpath.Resolve(c.Dir), realpath.Resolve(c.Store)
	if _, err := os.Stat(workspace); err != nil {
		return nil, fmt.Errorf("workspace: %w", err)
	}
	s := &Store{
		workspace: workspace,
		dir:       dir,
		keep:      c.Keep,

		maxBytes: cmp.Or(c.MaxBytes, 2<<30),
		maxFiles: cmp.Or(c.MaxFiles, 200_000),
	}
	if err := s.exclude(append([]string{dir}, c.Exclude...)); err != nil {
		return nil, err
	}
	for _, sub := range []string{s.packs(), s.records()} {
		if err := os.MkdirAll(sub, 0o700); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Store) exclude(dirs []string) error {
	for _, d := range dirs {
		rel, err := filepath.Rel(s.workspace, realpath.Resolve(d))
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		if rel == "." {
			return fmt.Errorf("%s is the workspace itself; use another directory", d)
		}
		s.excluded = append(s.excluded, filepath.ToSlash(rel))
	}
	return nil
}

// Dir returns the workspace's real path, with slashes.
func (s *Store) Dir() string { return filepath.ToSlash(s.workspace) }

// Real returns a path with slashes and without symbolic links in its directory. The path itself may be a link.
func (s *Store) Real(path string) string {
	path = filepath.Clean(path)
	return filepath.ToSlash(filepath.Join(realpath.Resolve(filepath.Dir(path)), filepath.Base(path)))
}

func (s *Store) packs() string   { return filepath.Join(s.dir, "packs") }
func (s *Store) records() string { return filepath.Join(s.dir, "checkpoints") }

// relative returns paths given by a caller relative to the workspace and with slashes; "" is the
// workspace itself.
func (s *Store) relative(paths []string) ([]string, error) {
	var list []string
	for _, p := range paths {
		rel := filepath.Clean(p)
		if filepath.IsAbs(p) {
			var err error
			if rel, err = filepath.Rel(s.workspace, p); err != nil {
				return nil, err
			}
		}
		if !filepath.IsLocal(rel) {
			return nil, fmt.Errorf("%s is outside the workspace %s", p, s.workspace)
		}
		if rel == "." {
			rel = ""
		}
		list = append(list, filepath.ToSlash(rel))
	}
	return list, nil
}

// under reports whether path is in dirs or inside one of them. "" contains every path.
func under(dirs []string, path string) bool {
	for _, d := range dirs {
		if d == "" || d == path || strings.HasPrefix(path, d) && path[len(d)] == '/' {
			return true
		}
	}
	return false
}
