package checkpoint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/reins-agent/reins/internal/search"
)

// Write is a change to a file, link or directory in a workspace. Before and After identify the old and new state, by
// kind, mode and content; "" means that nothing was there.
type Write struct {
	Path          string // relative to the workspace, with slashes
	Before, After string
	// Shared means that others changed the path in between, and Unsure that others may have made the change.
	Shared, Unsure bool
}

// identity identifies an entry by kind, mode and content.
func (e *entry) identity() string {
	switch {
	case e == nil:
		return ""
	case e.kind == dirKind:
		return fmt.Sprintf("d%o", e.mode)
	case e.kind == linkKind:
		sum := sha256.Sum256([]byte(e.target))
		return "l:" + hex.EncodeToString(sum[:16])
	}
	return fmt.Sprintf("f%o:%s", e.mode, hex.EncodeToString(e.hash[:16]))
}

// View is the workspace state at some time. Only its difference from other views is of use.
type View struct{ snap *snapshot }

// View returns the current workspace state without saving it, and without a lock. It reads only files that changed
// since an earlier view or, if that is nil, since the newest checkpoint. The [Config] limits apply.
func (s *Store) View(ctx context.Context, earlier *View) (v *View, err error) {
	t := &taking{store: s, pack: newPackWriter(s, func(hash) bool { return true })}
	defer t.close()
	if t.root, err = os.OpenRoot(s.workspace); err != nil {
		return nil, fmt.Errorf("view workspace: %w", err)
	}
	old := new(snapshot)
	if earlier == nil {
		old = s.loadIndex()
	} else {
		old = earlier.snap
	}
	if t.scan, err = s.scan(ctx, t.root, nil, old); err == nil {
		err = t.readPending(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("view workspace: %w", err)
	}
	for _, f := range t.scan.snap.folders {
		f.nodes = slices.DeleteFunc(f.nodes, func(n node) bool { return n.gone })
	}
	return &View{t.scan.snap}, nil
}

// Writes lists the changes from one view to a later view, directories included, in path order.
func (v *View) Writes(later *View) (list []Write) {
	add := func(path string, old, new *node) {
		w := Write{Path: path}
		if old != nil {
			w.Before = old.identity()
		}
		if new != nil {
			w.After = new.identity()
		}
		list = append(list, w)
	}
	for dir, f := range v.snap.byPath {
		to := later.snap.byPath[dir]
		for i := range f.nodes {
			old := &f.nodes[i]
			new := to.find(old.name)
			if new == nil || old.kind != new.kind || old.mode != new.mode || !old.isDir() && !old.sameContent(&new.entry) {
				add(join(dir, old.name), old, new)
			}
		}
	}
	for dir, f := range later.snap.byPath {
		from := v.snap.byPath[dir]
		for i := range f.nodes {
			if new := &f.nodes[i]; from.find(new.name) == nil {
				add(join(dir, new.name), nil, new)
			}
		}
	}
	slices.SortFunc(list, func(a, b Write) int { return strings.Compare(a.Path, b.Path) })
	return list
}

// Identify returns identifiers for the current content of paths, which are relative to the workspace or absolute. Paths
// outside the workspace are left out, and "" means that nothing is there. It reads only these files.
func (s *Store) Identify(ctx context.Context, paths ...string) (map[string]string, error) {
	root, err := os.OpenRoot(s.workspace)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	t := &taking{store: s, root: root, scan: &scan{root: root}, pack: newPackWriter(s, func(hash) bool { return true })}
	found := make(map[string]string, len(paths))
	for _, p := range paths {
		rel, err := s.relative([]string{p})
		if err != nil || rel[0] == "" || under(s.excluded, rel[0]) {
			continue
		}
		if found[rel[0]], err = t.identify(ctx, rel[0]); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (t *taking) identify(ctx context.Context, path string) (string, error) {
	info, err := t.root.Lstat(filepath.FromSlash(path))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	n := node{entry: entry{mode: entryMode(info.Mode())}, id: identityOf(search.TreeStatOf(info))}
	switch info.Mode().Type() {
	case fs.ModeDir:
		n.kind = dirKind
	case fs.ModeSymlink:
		n.kind = linkKind
		n.target, err = t.root.Readlink(filepath.FromSlash(path))
	case 0:
		var buf []byte
		err = t.file(ctx, path, &n, &buf)
		if err == nil && n.gone {
			err = fmt.Errorf("%s cannot be read", path)
		}
	default:
		return "", nil // not recorded
	}
	return n.identity(), err
}
