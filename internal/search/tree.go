package search

import (
	"context"
	"errors"
	"io/fs"
)

// TreeQuery is a query for [Local.Tree].
type TreeQuery struct {
	// SkipDir, if set, reports whether to skip a directory. The path is relative to the root, with
	// slashes. It may be called concurrently.
	SkipDir func(path string) bool

	// Failed, if set, is called for directories that could not be read completely.
	Failed func(path string, err error)
}

// TreeEntry is a regular file, a directory or a symbolic link.
type TreeEntry struct {
	Dir  string // relative to the root, with slashes; "" is the root
	Name string
	Stat TreeStat
}

// TreeStat distinguishes a file's versions without reading it. For a symbolic link it describes the link. Times are
// nanoseconds since 1970. ChangeTime and Inode are 0 where unavailable.
type TreeStat struct {
	Size       int64
	Mode       fs.FileMode
	ModTime    int64
	ChangeTime int64
	Inode      uint64
}

// TreeStatOf converts a FileInfo.
func TreeStatOf(info fs.FileInfo) TreeStat { return statEntry(info).details.stat() }

func (d *details) stat() TreeStat {
	return TreeStat{d.size, d.mode, d.modTime.UnixNano(), d.changed, d.inode}
}

// Tree calls visit for every regular file, directory and symbolic link below Dir, including hidden ones, but not for
// .git and ignored files. .gitignore files apply even without a repository. A directory comes before its entries, which
// are sorted by name. The entry is valid only during the call. If visit returns an error, Tree returns it.
func (l *Local) Tree(ctx context.Context, q TreeQuery, visit func(*TreeEntry) error) error {
	layer := localLayer{l}
	root := layer.abs("")
	t := &treeWalk{TreeQuery: q, skip: len(root) + 1}
	w := &walker{layer: layer, filter: &filter{hidden: true}, root: root, tree: t}
	var failed error
	var te TreeEntry
	err := w.walk(ctx, func(n *node, e *entry) bool {
		te = TreeEntry{Dir: t.rel(n), Name: e.name, Stat: e.details.stat()}
		failed = visit(&te)
		return failed == nil
	})
	return errors.Join(failed, err, ctx.Err())
}

// treeWalk walks a whole tree.
type treeWalk struct {
	TreeQuery
	skip int // length of the root path and a slash
}

// rel returns a directory's path relative to the root.
func (t *treeWalk) rel(n *node) string {
	if len(n.abs) < t.skip {
		return ""
	}
	return n.abs[t.skip:]
}

// skips reports whether the query skips an entry.
func (t *treeWalk) skips(n *node, e *entry) bool {
	if t == nil || e.kind != dirKind || t.SkipDir == nil {
		return false
	}
	if dir := t.rel(n); dir != "" {
		return t.SkipDir(dir + "/" + e.name)
	}
	return t.SkipDir(e.name)
}

// look adds details to a directory's entries, and drops entries that were removed or replaced.
func (t *treeWalk) look(ctx context.Context, n *node, entries []entry) []entry {
	kept := entries[:0]
	for _, e := range entries {
		st, err := n.dir.stat(ctx, e.name)
		switch {
		case err == nil && st.kind == e.kind:
			kept = append(kept, st)
		case err != nil && !isMissing(err):
			n.err = err
		}
	}
	return kept
}

// fail reports a directory that could not be read, unless it was removed.
func (t *treeWalk) fail(n *node, err error) {
	if t.Failed != nil && !isMissing(err) {
		t.Failed(t.rel(n), err)
	}
}
