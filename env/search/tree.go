package search

import (
	"context"
	"errors"
	"io/fs"
)

// TreeQuery says what [Local.Tree] walks.
type TreeQuery struct {
	// SkipDir, if set, is asked for each directory whether to leave it out. The path is relative
	// to the walk's root, with slashes. It may be called from several goroutines.
	SkipDir func(path string) bool

	// Failed, if set, is told of directories that could not be read, in whole or in part.
	Failed func(path string, err error)
}

// TreeEntry is a regular file, a directory or a symbolic link of a tree. It is valid during the
// call that it is given to.
type TreeEntry struct {
	Dir  string // relative to the walk's root, with slashes; "" is the root itself
	Name string // in that directory
	Stat TreeStat
}

// TreeStat is what tells two versions of a file apart without reading them. It is about the file or
// link itself, not about what a link leads to. Times are nanoseconds since 1970. ChangeTime and Inode are 0 on platforms that do not have them.
type TreeStat struct {
	Size       int64
	Mode       fs.FileMode
	ModTime    int64
	ChangeTime int64
	Inode      uint64
}

// TreeStatOf gives the stat of a file that was looked at by other means.
func TreeStatOf(info fs.FileInfo) TreeStat { return statEntry(info).details.stat() }

func (d *details) stat() TreeStat {
	return TreeStat{d.size, d.mode, d.modTime.UnixNano(), d.changed, d.inode}
}

// Tree calls visit for every regular file, directory and symbolic link below a directory, hidden
// ones too, but for those that ignore files exclude and for .git. The .gitignore files count
// whether or not there is a repository. A directory comes before what it holds, and entries of one
// directory are in byte order of their names. An error of visit ends the walk and is returned.
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

// treeWalk is a walk of a whole tree.
type treeWalk struct {
	TreeQuery
	skip int // the length of the root's path and the slash after it
}

// rel is the path of a directory relative to the root.
func (t *treeWalk) rel(n *node) string {
	if len(n.abs) < t.skip {
		return ""
	}
	return n.abs[t.skip:]
}

// skips reports whether the query leaves out an entry that the filter admits.
func (t *treeWalk) skips(n *node, e *entry) bool {
	if t == nil || e.kind != dirKind || t.SkipDir == nil {
		return false
	}
	if dir := t.rel(n); dir != "" {
		return t.SkipDir(dir + "/" + e.name)
	}
	return t.SkipDir(e.name)
}

// look completes entries of a directory with what the disk says of them, and drops those that are
// gone or became something else.
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

// fail reports a directory that could not be read. One that is gone is no failure.
func (t *treeWalk) fail(n *node, err error) {
	if t.Failed != nil && !isMissing(err) {
		t.Failed(t.rel(n), err)
	}
}
