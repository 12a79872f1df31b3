package checkpoint

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// ChangeKind says what happened to a path.
type ChangeKind string

// The kinds of changes. A file that became a link or a directory is modified.
const (
	Added    ChangeKind = "added"
	Modified ChangeKind = "modified"
	Deleted  ChangeKind = "deleted"
)

// Change is a difference between two states of a workspace. Directories have changes of their own:
// they come into being, go away or change their mode.
type Change struct {
	Path             string // relative to the workspace, with slashes
	Kind             ChangeKind
	OldMode, NewMode fs.FileMode // 0 on the side where there is no such file
	OldSize, NewSize int64

	old, new *entry
}

// Dir reports whether the change is only about a directory, not about a file or link.
func (c *Change) Dir() bool {
	return (c.old == nil || c.old.isDir()) && (c.new == nil || c.new.isDir())
}

func newChange(path string, old, new *entry) Change {
	c := Change{Path: path, Kind: Modified, old: old, new: new}
	if old == nil {
		c.Kind = Added
	} else {
		c.OldMode, c.OldSize = old.fileMode(), old.size
	}
	if new == nil {
		c.Kind = Deleted
	} else {
		c.NewMode, c.NewSize = new.fileMode(), new.size
	}
	return c
}

// Diff lists what changed from one checkpoint to another, in path order. If paths are given, only
// those and what is inside them is compared. [Store.Unified] shows a change as text.
func (s *Store) Diff(ctx context.Context, from, to ID, paths ...string) ([]Change, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var sides [2]Checkpoint
	for i, id := range []ID{from, to} {
		if sides[i], err = s.readRecord(id); err != nil {
			return nil, fmt.Errorf("compare checkpoints: %w", err)
		}
	}
	o, err := openObjects(s.packs())
	if err != nil {
		return nil, fmt.Errorf("compare checkpoints: %w", err)
	}
	defer o.close()
	c := comparison{list: o.tree, unknownOld: sides[0].unreadable, unknownNew: sides[1].unreadable}
	return s.compare(ctx, c, sides[0].root, sides[1].root, paths)
}

// Status lists what changed in the workspace since a checkpoint, as Diff does. It records nothing.
func (s *Store) Status(ctx context.Context, since ID, paths ...string) ([]Change, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	c, err := s.readRecord(since)
	if err != nil {
		return nil, fmt.Errorf("compare with a checkpoint: %w", err)
	}
	t, err := s.begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("compare with a checkpoint: %w", err)
	}
	defer t.close()
	if err := t.scan.include("", c.root, false); err != nil {
		return nil, fmt.Errorf("compare with a checkpoint: %w", err)
	}
	snap := t.scan.snap
	r := &recorder{root: t.root, sink: discard}
	if err := r.record(ctx, snap); err != nil {
		return nil, fmt.Errorf("compare with a checkpoint: %w", err)
	}
	trees := map[hash][]byte{}
	snap.finish(func(data []byte) (hash, error) {
		h, _ := discard(data)
		if !t.objects.has(h) {
			trees[h] = slices.Clone(data)
		}
		return h, nil
	})
	list := func(h hash) ([]entry, error) {
		if data, ok := trees[h]; ok {
			return decodeTree(data)
		}
		return t.objects.tree(h)
	}
	now := comparison{list: list, unknownOld: c.unreadable}
	for _, u := range append(t.scan.unreadable, r.unreadable...) {
		now.unknownNew = append(now.unknownNew, u.Path)
	}
	return s.compare(ctx, now, c.root, snap.root, paths)
}

func (s *Store) compare(ctx context.Context, c comparison, from, to hash, paths []string) ([]Change, error) {
	c.excluded = s.excluded
	for _, p := range paths {
		rel, err := s.clean(p)
		if err != nil {
			return nil, fmt.Errorf("compare checkpoints: %w", err)
		}
		c.paths = append(c.paths, rel)
	}
	if err := c.trees(ctx, "", &entry{kind: dirKind, hash: from}, &entry{kind: dirKind, hash: to}); err != nil {
		return nil, fmt.Errorf("compare checkpoints: %w", err)
	}
	return c.changes, nil
}

// comparison walks two trees side by side, past what they share.
type comparison struct {
	list    func(hash) ([]entry, error)
	paths   []string // what to compare
	changes []Change

	excluded               []string // what is never compared
	unknownOld, unknownNew []string // what could not be read, so that it only seems to be missing
}

// trees compares two directories, of which one may be no directory or missing.
func (c *comparison) trees(ctx context.Context, dir string, old, new *entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if old.isDir() && new.isDir() && old.hash == new.hash {
		return nil
	}
	a, err := c.entries(old)
	if err != nil {
		return err
	}
	b, err := c.entries(new)
	if err != nil {
		return err
	}
	for len(a) > 0 || len(b) > 0 {
		var from, to *entry
		if len(b) == 0 || len(a) > 0 && a[0].name <= b[0].name {
			from = &a[0]
		}
		if len(a) == 0 || len(b) > 0 && b[0].name <= a[0].name {
			to = &b[0]
		}
		name := ""
		if from != nil {
			name, a = from.name, a[1:]
		}
		if to != nil {
			name, b = to.name, b[1:]
		}
		if err := c.entry(ctx, join(dir, name), from, to); err != nil {
			return err
		}
	}
	return nil
}

func (c *comparison) entries(e *entry) ([]entry, error) {
	if !e.isDir() {
		return nil, nil
	}
	return c.list(e.hash)
}

func (c *comparison) entry(ctx context.Context, path string, old, new *entry) error {
	if len(c.excluded) > 0 && under(c.excluded, path) {
		return nil
	}
	same := old != nil && new != nil && old.kind == new.kind && old.mode == new.mode && (old.isDir() || old.sameContent(new))
	if !same && under(c.paths, path) && !c.unknown(path, old, new) {
		c.changes = append(c.changes, newChange(path, old, new))
	}
	if !old.isDir() && !new.isDir() || !c.reaches(path) {
		return nil
	}
	return c.trees(ctx, path, old, new)
}

// unknown reports whether one of the sides does not tell what was there.
func (c *comparison) unknown(path string, old, new *entry) bool {
	return len(c.unknownOld) > 0 && !old.isDir() && under(c.unknownOld, path) ||
		len(c.unknownNew) > 0 && !new.isDir() && under(c.unknownNew, path)
}

// reaches reports whether something inside a directory is to be compared.
func (c *comparison) reaches(dir string) bool {
	return under(c.paths, dir) || slices.ContainsFunc(c.paths, func(p string) bool { return strings.HasPrefix(p, dir+"/") })
}
