package checkpoint

import (
	"context"
	"slices"
	"strings"
)

// ChangeKind is the kind of change to a path.
type ChangeKind string

// Kinds of changes. A file that became a link or a directory is modified.
const (
	Added    ChangeKind = "added"
	Modified ChangeKind = "modified"
	Deleted  ChangeKind = "deleted"
)

// Change is a difference between two workspace states. Directories that were created or removed, or whose mode changed,
// are included.
type Change struct {
	Path string // relative to the workspace, with slashes
	Kind ChangeKind

	old, new *entry
}

// Dir reports whether the change concerns only a directory, not a file or link.
func (c *Change) Dir() bool {
	return (c.old == nil || c.old.isDir()) && (c.new == nil || c.new.isDir())
}

func newChange(path string, old, new *entry) Change {
	kind := Modified
	if old == nil {
		kind = Added
	} else if new == nil {
		kind = Deleted
	}
	return Change{path, kind, old, new}
}

// Diff lists the changes between two checkpoints in path order. If paths are given, it compares only these and what is
// inside them. [Store.Unified] shows a change as text.
func (s *Store) Diff(ctx context.Context, from, to ID, paths ...string) (changes []Change, err error) {
	err = s.locked(ctx, "compare checkpoints", func() error {
		old, err := s.readRecord(from)
		if err != nil {
			return err
		}
		new, err := s.readRecord(to)
		if err != nil {
			return err
		}
		o, err := openObjects(s.packs())
		if err != nil {
			return err
		}
		defer o.close()
		changes, err = s.compare(ctx, o, old, new, paths)
		return err
	})
	return changes, err
}

// compare lists the changes from old to new, using only their root and unreadable fields.
func (s *Store) compare(ctx context.Context, o *objects, old, new Checkpoint, paths []string) ([]Change, error) {
	paths, err := s.relative(paths)
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		paths = []string{""}
	}
	c := comparison{
		objects:    o,
		paths:      paths,
		excluded:   s.excluded,
		unknownOld: old.unreadable,
		unknownNew: new.unreadable,
	}
	err = c.trees(ctx, "", &entry{kind: dirKind, hash: old.root}, &entry{kind: dirKind, hash: new.root})
	return c.changes, err
}

// comparison walks two trees side by side and skips shared subtrees.
type comparison struct {
	objects  *objects
	paths    []string // what to compare
	excluded []string // what not to compare
	changes  []Change

	unknownOld, unknownNew []string // unreadable rather than missing
}

// trees compares two directories. One may be another kind of entry, or missing.
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
	return c.objects.tree(e.hash)
}

func (c *comparison) entry(ctx context.Context, path string, old, new *entry) error {
	if under(c.excluded, path) {
		return nil
	}
	same := old != nil && new != nil && old.kind == new.kind && old.mode == new.mode && (old.isDir() || old.sameContent(new))
	unknown := !old.isDir() && under(c.unknownOld, path) || !new.isDir() && under(c.unknownNew, path)
	if !same && !unknown && under(c.paths, path) {
		c.changes = append(c.changes, newChange(path, old, new))
	}
	if !old.isDir() && !new.isDir() || !c.reaches(path) {
		return nil
	}
	return c.trees(ctx, path, old, new)
}

// reaches reports whether to compare anything inside a directory.
func (c *comparison) reaches(dir string) bool {
	return under(c.paths, dir) || slices.ContainsFunc(c.paths, func(p string) bool { return strings.HasPrefix(p, dir+"/") })
}
