package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Config says what to take checkpoints of and where to keep them.
type Config struct {
	// Dir is the workspace.
	Dir string

	// Store is the directory for the data, made if it is missing. It serves one workspace. It is
	// best outside the workspace; inside, it is not recorded.
	Store string

	// Exclude lists more directories that are not recorded and that Restore leaves alone, such as
	// the place of a session's log, which must never be set back. They need not exist yet, and those
	// outside the workspace do not matter.
	Exclude []string

	// MaxBytes and MaxFiles bound the workspaces that are accepted: the sum of the sizes of the
	// recorded files, and the number of recorded files, links and directories. Zero is
	// [DefaultMaxBytes] and [DefaultMaxFiles]; a negative number is no limit.
	MaxBytes int64
	MaxFiles int

	// Keep is how many checkpoints are kept at most; zero is all. When there are more, the oldest
	// are removed, an eighth of them at a time.
	Keep int
}

// The limits of a Config that does not set them.
const (
	DefaultMaxBytes = 2 << 30
	DefaultMaxFiles = 200_000
)

// Store keeps the checkpoints of a workspace. Its methods may be called concurrently.
type Store struct {
	workspace string   // absolute, without symbolic links
	dir       string   // of the data, likewise
	excluded  []string // directories that are not recorded, relative to the workspace
	maxBytes  int64
	maxFiles  int
	keep      int

	// step is called before each change to a disk, and can make it fail. Tests set it.
	step func(what string) error
}

// Open prepares a store. Nothing is recorded yet.
func Open(c Config) (*Store, error) {
	if c.Dir == "" || c.Store == "" {
		return nil, errors.New("open a checkpoint store: Dir and Store must be set")
	}
	workspace, err := place(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("open a checkpoint store: workspace: %w", err)
	}
	if err := os.MkdirAll(c.Store, 0o700); err != nil {
		return nil, fmt.Errorf("open a checkpoint store: %w", err)
	}
	dir, err := place(c.Store)
	if err != nil {
		return nil, fmt.Errorf("open a checkpoint store: %w", err)
	}
	s := &Store{workspace: workspace, dir: dir, maxBytes: c.MaxBytes, maxFiles: c.MaxFiles, keep: c.Keep, step: func(string) error { return nil }}
	if s.maxBytes == 0 {
		s.maxBytes = DefaultMaxBytes
	}
	if s.maxFiles == 0 {
		s.maxFiles = DefaultMaxFiles
	}
	if dir == workspace {
		return nil, fmt.Errorf("open a checkpoint store: %s is the workspace itself; name another directory", c.Store)
	}
	if err := s.exclude(append([]string{dir}, c.Exclude...)); err != nil {
		return nil, fmt.Errorf("open a checkpoint store: %w", err)
	}
	for _, sub := range []string{s.packs(), s.records()} {
		if err := os.MkdirAll(sub, 0o700); err != nil {
			return nil, fmt.Errorf("open a checkpoint store: %w", err)
		}
	}
	return s, nil
}

// exclude leaves directories out of all checkpoints.
func (s *Store) exclude(dirs []string) error {
	for _, d := range dirs {
		real, err := futurePlace(d)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(s.workspace, real)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		if rel == "." {
			return fmt.Errorf("%s is the workspace itself, of which nothing would be left", d)
		}
		s.excluded = append(s.excluded, filepath.ToSlash(rel))
	}
	return nil
}

// futurePlace is the place that a directory has, or will have once it is made.
func futurePlace(dir string) (string, error) {
	real, err := place(dir)
	if up := filepath.Dir(dir); errors.Is(err, fs.ErrNotExist) && up != dir {
		real, err = futurePlace(up)
		return filepath.Join(real, filepath.Base(dir)), err
	}
	return real, err
}

// place is the absolute path of a directory without symbolic links.
func place(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

func (s *Store) packs() string   { return filepath.Join(s.dir, "packs") }
func (s *Store) records() string { return filepath.Join(s.dir, "checkpoints") }

// Stats says what a checkpoint holds and what it cost.
type Stats struct {
	Files int   // regular files in the checkpoint
	Bytes int64 // their sizes
	Read  int   // files that had to be read, because they are new or may have changed
	Added int64 // bytes by which the store grew, the record and the index not counted

	// Unreadable lists what could not be read. It is not in the checkpoint, which remembers that:
	// restoring the checkpoint leaves it alone, also when it can be read by then.
	Unreadable []PathError
}

// Take records the workspace. The label is for people to read. If nothing changed since the newest
// checkpoint, it is that one. It fails with a [TooLargeError] if the workspace is above the limits.
func (s *Store) Take(ctx context.Context, label string) (ID, Stats, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return "", Stats{}, err
	}
	defer unlock()
	t, err := s.begin(ctx)
	if err != nil {
		return "", Stats{}, takeError(err)
	}
	defer t.close()
	id, stats, err := t.take(ctx, label)
	if err != nil {
		return "", Stats{}, takeError(err)
	}
	s.makeRoom(ctx)
	return id, stats, nil
}

func takeError(err error) error {
	if large := (*TooLargeError)(nil); errors.As(err, &large) {
		return large
	}
	return fmt.Errorf("take a checkpoint: %w", err)
}

// taking is a checkpoint in the making. It needs the lock.
type taking struct {
	store   *Store
	root    *os.Root
	objects *objects
	scan    *scan
}

// begin looks at the workspace.
func (s *Store) begin(ctx context.Context) (_ *taking, err error) {
	t := &taking{store: s}
	defer func() {
		if err != nil {
			t.close()
		}
	}()
	if t.root, err = os.OpenRoot(s.workspace); err != nil {
		return nil, err
	}
	if t.objects, err = openObjects(s.packs()); err != nil {
		return nil, err
	}
	t.scan, err = s.scan(ctx, t.root, t.objects, s.loadIndex())
	return t, err
}

func (t *taking) close() {
	if t.root != nil {
		t.root.Close()
	}
	if t.objects != nil {
		t.objects.close()
	}
}

// take records what begin has seen.
func (t *taking) take(ctx context.Context, label string) (ID, Stats, error) {
	s, snap := t.store, t.scan.snap
	for _, p := range t.scan.leftovers {
		t.root.Remove(filepath.FromSlash(p))
	}
	pack := newPackWriter(s.packs(), t.objects.has, s.step)
	defer pack.abort()
	r := &recorder{root: t.root, sink: pack.add}
	if err := r.record(ctx, snap); err != nil {
		return "", Stats{}, err
	}
	if err := snap.finish(pack.add); err != nil {
		return "", Stats{}, err
	}
	if err := pack.finish(); err != nil {
		return "", Stats{}, err
	}
	stats := Stats{Files: snap.files, Bytes: snap.bytes, Read: r.read, Added: pack.offset,
		Unreadable: append(t.scan.unreadable, r.unreadable...)}
	c := Checkpoint{Label: label, Time: time.Now(), Files: snap.files, Bytes: snap.bytes, root: snap.root}
	for _, u := range stats.Unreadable {
		c.unreadable = append(c.unreadable, u.Path)
	}
	id, err := s.record(c)
	if err != nil {
		return "", Stats{}, err
	}
	// The checkpoint exists now; without an index the next one takes longer.
	if r.read > 0 || t.scan.old.files != snap.settled() {
		s.saveIndex(snap)
	}
	return id, stats, nil
}

// clean makes a path that a caller gave relative to the workspace, with slashes.
func (s *Store) clean(path string) (string, error) {
	if filepath.IsAbs(path) {
		rel, err := filepath.Rel(s.workspace, path)
		if err != nil {
			return "", err
		}
		path = rel
	}
	if path = filepath.Clean(path); !filepath.IsLocal(path) {
		return "", fmt.Errorf("%s is outside the workspace %s", path, s.workspace)
	}
	if path == "." {
		return "", nil
	}
	return filepath.ToSlash(path), nil
}

// under reports whether a path is one of the given or inside one; without any, all are.
func under(paths []string, path string) bool {
	for _, p := range paths {
		if p == "" || p == path || strings.HasPrefix(path, p) && path[len(p)] == '/' {
			return true
		}
	}
	return len(paths) == 0
}
