package search

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/reins-agent/reins/internal/gitdir"
)

// lookAhead is the number of sibling directories to list ahead.
const lookAhead = 8

// listRoom is the buffer size for listing a directory.
const listRoom = 32 << 10

// walker visits a tree in path order. It reads the next directories in the background.
type walker struct {
	layer    layer
	filter   *filter
	noIgnore bool
	hide     func(path string) bool
	tree     *treeWalk // set if directories and symbolic links are visited too
	root     string    // absolute
	place    string    // root without symbolic links, for ignore rules
	globals  rules
	failed   atomic.Int64
	loaders  sync.WaitGroup
	rooms    sync.Pool // of *[]byte, for list
}

// node is a directory in the walk. It stays open until its last holder releases it.
type node struct {
	parent  *node
	abs     string // path to open
	at      string // path for ignore rules
	dir     directory
	ignores *ignores
	entries []entry // admitted by the filter, in order
	err     error   // why it could not be read
	loaded  chan struct{}
	holders atomic.Int32
}

func (n *node) retain() { n.holders.Add(1) }

func (n *node) release() {
	if n.holders.Add(-1) == 0 && n.dir != nil {
		n.dir.close()
	}
}

// walk calls visit for each admitted file below the root, in path order, until it returns false. n is the file's
// directory. visit must retain n to use it later.
func (w *walker) walk(ctx context.Context, visit func(n *node, e *entry) bool) error {
	w.place = w.layer.real(w.root)
	ig := &ignores{}
	if !w.noIgnore {
		w.globals = w.layer.globals()
		ig = w.ancestors(ctx)
	}
	if w.tree != nil {
		ig.inRepo = true // .gitignore files apply without a repository too
	}
	root := &node{abs: w.root, at: w.place, ignores: ig}
	dir, err := w.layer.openDir(ctx, w.root)
	if err != nil {
		return err
	}
	root.dir = dir
	root.holders.Store(1)
	if err := w.load(ctx, root); err != nil {
		root.release()
		return err
	}
	w.visit(ctx, root, visit)
	w.loaders.Wait()
	return nil
}

// visit visits a loaded directory and releases it.
func (w *walker) visit(ctx context.Context, n *node, visit func(*node, *entry) bool) bool {
	var children []*node
	for i := range n.entries {
		if e := &n.entries[i]; e.kind == dirKind {
			children = append(children, w.child(n, e))
		}
	}
	next, started := 0, 0
	defer func() {
		for ; next < started; next++ {
			<-children[next].loaded
			children[next].release()
		}
		n.release()
	}()
	for i := range n.entries {
		e := &n.entries[i]
		if (e.kind != dirKind || w.tree != nil) && !visit(n, e) {
			return false
		}
		if e.kind != dirKind {
			continue
		}
		if ctx.Err() != nil {
			return false
		}
		child := children[next]
		if next == started {
			started++
			child.holders.Store(1)
			w.enter(ctx, child)
		} else {
			<-child.loaded
		}
		next++
		if child.err != nil && w.tree != nil {
			w.tree.fail(child, child.err)
		}
		if started-next < lookAhead/2 && started < len(children) {
			batch := children[started:min(started+lookAhead, len(children))]
			started += len(batch)
			w.prefetch(ctx, batch)
		}
		if !w.visit(ctx, child, visit) {
			return false
		}
	}
	return true
}

func (w *walker) child(n *node, e *entry) *node {
	c := &node{parent: n, abs: n.abs + "/" + e.name, ignores: n.ignores}
	c.at = c.abs
	if n.at != n.abs {
		c.at = n.at + "/" + e.name
	}
	return c
}

// prefetch loads directories in the background.
func (w *walker) prefetch(ctx context.Context, batch []*node) {
	for _, n := range batch {
		n.holders.Store(1)
		n.loaded = make(chan struct{})
	}
	w.loaders.Go(func() {
		for _, n := range batch {
			w.enter(ctx, n)
			close(n.loaded)
		}
	})
}

// enter opens and loads a directory. An unreadable directory is counted and left empty.
func (w *walker) enter(ctx context.Context, n *node) {
	dir, err := n.parent.dir.open(ctx, path.Base(n.abs))
	if err == nil {
		n.dir = dir
		err = w.load(ctx, n)
	}
	if err == nil {
		return
	}
	n.entries, n.err = nil, err
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		w.failed.Add(1)
	}
}

// load lists a directory and filters its entries.
func (w *walker) load(ctx context.Context, n *node) error {
	room, _ := w.rooms.Get().(*[]byte)
	if room == nil {
		room = new(make([]byte, listRoom))
	}
	entries, err := n.dir.list(ctx, *room)
	w.rooms.Put(room)
	if err != nil {
		return err
	}
	if !w.noIgnore {
		n.ignores = n.ignores.enter(w.found(ctx, n, entries), w.globals)
	}
	kept := entries[:0]
	c := candidate{dir: n.at, skip: len(w.place) + 1}
	for _, e := range entries {
		if e.kind == otherKind || e.kind == linkKind && w.tree == nil {
			continue
		}
		if w.hide != nil && w.hide(strings.TrimSuffix(n.abs, "/")+"/"+e.name) {
			continue
		}
		c.base, c.full = e.name, ""
		if w.filter.admits(n.ignores, &c, e.kind == dirKind) && !w.tree.skips(n, &e) {
			kept = append(kept, e)
		}
	}
	if w.tree != nil {
		kept = w.tree.look(ctx, n, kept)
	}
	slices.SortFunc(kept, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	n.entries = kept
	return nil
}

// found reads a directory's ignore files.
func (w *walker) found(ctx context.Context, n *node, entries []entry) found {
	f := found{dir: n.at}
	for i := range entries {
		switch e := &entries[i]; e.name {
		case ".git":
			f.repo, f.exclude = w.repo(ctx, n.abs)
		case ".gitignore":
			f.gitignore = w.rules(ctx, n.abs+"/.gitignore")
		case ".ignore":
			f.ignore = w.rules(ctx, n.abs+"/.ignore")
		case ".rgignore":
			f.rgignore = w.rules(ctx, n.abs+"/.rgignore")
		}
	}
	return f
}

// ancestors returns the rules from the directories above the root.
func (w *walker) ancestors(ctx context.Context) *ignores {
	ig := &ignores{}
	for i := 0; i < len(w.place); i++ {
		if w.place[i] != '/' {
			continue
		}
		dir := w.place[:i]
		f := found{dir: dir}
		f.repo, f.exclude = w.repo(ctx, dir)
		f.gitignore = w.rules(ctx, dir+"/.gitignore")
		f.ignore = w.rules(ctx, dir+"/.ignore")
		f.rgignore = w.rules(ctx, dir+"/.rgignore")
		ig = ig.enter(f, w.globals)
	}
	return ig
}

// maxIgnoreFile is the maximum size of an ignore file.
const maxIgnoreFile = 1 << 20

func (w *walker) rules(ctx context.Context, p string) rules { return parseIgnore(w.text(ctx, p)) }

// text returns a small file's content, or "" if it cannot be read.
func (w *walker) text(ctx context.Context, p string) string {
	data, err := w.layer.readFile(ctx, p, nil, maxIgnoreFile)
	if err != nil {
		return ""
	}
	return string(data)
}

// repo reports whether a directory is the top of a repository, and reads info/exclude. If git finds no repository, or
// fails, the surrounding repository's rules apply. A repository that cannot be read, such as a worktree's whose files
// are elsewhere, still has its own rules.
func (w *walker) repo(ctx context.Context, dir string) (found bool, exclude rules) {
	r, err := gitdir.At(w.layer.git(ctx), rooted(dir))
	switch {
	case r != gitdir.Repo{}:
		return true, w.rules(ctx, w.layer.paths().ToSlash(r.Common)+"/info/exclude")
	case err == nil, errors.Is(err, gitdir.ErrInvalid):
		return false, nil
	}
	_, err = w.layer.stat(ctx, dir+"/.git")
	return err == nil, nil
}
