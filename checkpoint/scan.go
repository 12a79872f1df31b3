package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/search"
)

// tempName starts the names of temporary files that Restore writes to the workspace. They are never recorded.
const tempName = ".reins-checkpoint-"

// scan walks the workspace. Files that are unchanged since the old snapshot are known; the others are pending.
type scan struct {
	store      *Store
	root       *os.Root
	objects    *objects // nil if no content is to be saved
	old        *snapshot
	snap       *snapshot
	bytes      int64
	leftovers  []string // temporary files left by an interrupted Restore
	unreadable []PathError
	at         *folder // folder of the last entry
	before     *folder // same folder in the old snapshot
}

func (s *Store) scan(ctx context.Context, root *os.Root, o *objects, old *snapshot) (*scan, error) {
	sc := &scan{
		store:   s,
		root:    root,
		objects: o,
		old:     old,
		snap:    newSnapshot(),
	}
	sc.enter("")
	q := search.TreeQuery{
		SkipDir: func(p string) bool { return slices.Contains(s.excluded, p) || !validName(filepath.Base(p)) },
		Failed:  sc.failed,
	}
	local := &search.Local{Dir: s.workspace}
	if err := local.Tree(ctx, q, sc.visit); err != nil {
		return nil, err
	}
	if err := sc.tracked(); err != nil {
		return nil, err
	}
	if sc.bytes > s.maxBytes {
		return nil, fmt.Errorf("%w: %s has %d bytes, more than %d; add files to .gitignore or .ignore",
			ErrTooLarge, s.workspace, sc.bytes, s.maxBytes)
	}
	return sc, nil
}

func (sc *scan) failed(path string, err error) {
	sc.unreadable = append(sc.unreadable, PathError{path, reason(err)})
}

// reason returns an error without its path, which is reported separately.
func reason(err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func (sc *scan) enter(dir string) {
	sc.at, sc.before = sc.snap.byPath[dir], sc.old.byPath[dir]
}

func (sc *scan) visit(e *search.TreeEntry) error {
	if sc.at == nil || sc.at.path != e.Dir {
		sc.enter(e.Dir)
	}
	if sc.at == nil {
		return nil // the directory was replaced during the walk
	}
	if strings.HasPrefix(e.Name, tempName) && !e.Stat.Mode.IsDir() {
		sc.leftovers = append(sc.leftovers, join(e.Dir, e.Name))
		return nil
	}
	if !validName(e.Name) {
		return nil
	}
	if n, ok := sc.node(e.Name, e.Stat); ok {
		sc.at.nodes = append(sc.at.nodes, n)
	}
	return sc.count(e.Stat)
}

// count counts a file, and fails above MaxFiles.
func (sc *scan) count(st search.TreeStat) error {
	sc.snap.entries++
	if limit := sc.store.maxFiles; sc.snap.entries > limit {
		return fmt.Errorf("%w: %s has more than %d files; add files to .gitignore or .ignore", ErrTooLarge, sc.store.workspace, limit)
	}
	if st.Mode.IsRegular() {
		sc.bytes += st.Size
	}
	return nil
}

// node returns the node for a file in the current folder. For a directory it also adds a folder.
func (sc *scan) node(name string, st search.TreeStat) (node, bool) {
	n := node{entry: entry{name: name, mode: entryMode(st.Mode)}, id: identityOf(st)}
	switch st.Mode.Type() {
	case 0:
		n.kind, n.size = fileKind, st.Size
		old := sc.before.find(name)
		if old == nil || !old.settled || old.id != n.id || sc.objects != nil && !sc.objects.holds(&old.entry) {
			n.pending = true
			return n, true
		}
		n.kind = old.kind
		n.hash = old.hash
		n.settled = true
	case fs.ModeDir:
		n.kind = dirKind
		f := sc.snap.add(join(sc.at.path, name))
		if old := sc.old.byPath[f.path]; old != nil {
			f.nodes = make([]node, 0, len(old.nodes)+4)
		}
	case fs.ModeSymlink:
		n.kind = linkKind
		path := join(sc.at.path, name)
		target, err := sc.root.Readlink(filepath.FromSlash(path))
		if err != nil {
			sc.failed(path, err)
			return node{}, false
		}
		n.target = target
	default:
		return node{}, false
	}
	return n, true
}

// include adds existing files that are in a tree but not in the scan, because they are ignored now. Restoring the tree
// may overwrite them.
func (sc *scan) include(dir string, tree hash) error {
	entries, err := sc.objects.tree(tree)
	if err != nil {
		return err
	}
	for i := range entries {
		e := &entries[i]
		sc.enter(dir)
		path := join(dir, e.name)
		n := sc.at.find(e.name)
		if n == nil {
			info, err := sc.root.Lstat(filepath.FromSlash(path))
			if err != nil {
				continue
			}
			added, ok := sc.node(e.name, search.TreeStatOf(info))
			if !ok {
				continue
			}
			sc.at.insert(added)
			n = &added
		}
		if e.isDir() && n.isDir() {
			if err := sc.include(path, e.hash); err != nil {
				return err
			}
		}
	}
	return nil
}
