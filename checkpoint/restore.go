package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// Restored says what Restore did.
type Restored struct {
	Before  ID       // the checkpoint of the state before; restoring it is redo
	Changes []Change // what is different in the workspace now, in path order
}

// RestoreOptions say what to restore. The zero value restores everything.
type RestoreOptions struct {
	// Paths are the only files and directories to restore, relative to the workspace or absolute.
	Paths []string

	// Begin, if it is not nil, is told the checkpoint of the present before anything is changed. An
	// error stops everything.
	Begin func(before ID) error

	// Left are states that the caller left the workspace in. A file that would be changed, and that
	// is as in none of them, was changed later by others; Later says what becomes of it. Without a
	// state that is known, all files may be such. Allowed lists, relative to the workspace and with
	// slashes, those that [Refuse] lets pass.
	Left    []ID
	Later   Later
	Allowed []string
}

// Restore brings the workspace back to a checkpoint. It takes a checkpoint of the present first,
// which the result names even if Restore fails after that. A Restore that was cut short can be
// repeated.
//
// Where something could not be restored, because it changed meanwhile or an ignored file is in the
// way, the error is an [IncompleteError].
func (s *Store) Restore(ctx context.Context, id ID, o RestoreOptions) (Restored, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return Restored{}, err
	}
	defer unlock()
	r := &restoring{store: s, modes: map[string]fs.FileMode{}}
	defer r.close()
	changes, err := r.prepare(ctx, id, o)
	if err == nil && o.Begin != nil {
		err = o.Begin(r.Before)
	}
	if err == nil {
		err = r.apply(ctx, changes)
	}
	s.makeRoom(ctx, id, r.Before)
	if err != nil {
		return r.Restored, fmt.Errorf("restore checkpoint %s: %w", id, err)
	}
	if len(r.failed) > 0 {
		return r.Restored, &IncompleteError{ID: id, Before: r.Before, Failed: r.failed}
	}
	return r.Restored, nil
}

// restoring is a Restore under way. It needs the lock.
type restoring struct {
	Restored
	store   *Store
	target  hash // the tree to restore
	root    *os.Root
	objects *objects
	present *snapshot              // what is in the checkpoint Before
	modes   map[string]fs.FileMode // of directories, to be set when all else is done
	failed  []PathError
}

func (r *restoring) close() {
	if r.root != nil {
		r.root.Close()
	}
	if r.objects != nil {
		r.objects.close()
	}
}

// prepare takes the checkpoint of the present and finds what has to change.
func (r *restoring) prepare(ctx context.Context, id ID, o RestoreOptions) ([]Change, error) {
	c, err := r.store.readRecord(id)
	if err != nil {
		return nil, err
	}
	r.target = c.root
	if err := r.keepPresent(ctx, id, o); err != nil {
		return nil, err
	}
	if r.root, err = os.OpenRoot(r.store.workspace); err != nil {
		return nil, err
	}
	if r.objects, err = openObjects(r.store.packs()); err != nil {
		return nil, err
	}
	how := comparison{list: r.objects.tree, unknownNew: c.unreadable}
	changes, err := r.store.compare(ctx, how, r.present.root, r.target, o.Paths)
	if err != nil {
		return nil, err
	}
	changes = slices.DeleteFunc(changes, func(c Change) bool { return c.new == nil && r.present.find(c.Path).ignored })
	for i := range changes {
		if e := changes[i].new; e != nil && (e.kind == fileKind || e.kind == largeKind) && !r.objects.holds(e) {
			return nil, fmt.Errorf("%w: content of %s; nothing was restored", &DamagedError{"packs", "objects are missing"}, changes[i].Path)
		}
	}
	return r.spare(ctx, changes, o)
}

// keepPresent takes the checkpoint of the present. It has what the states at hand have, ignored or
// not.
func (r *restoring) keepPresent(ctx context.Context, id ID, o RestoreOptions) error {
	t, err := r.store.begin(ctx)
	if err != nil {
		return err
	}
	defer t.close()
	if err := t.scan.include("", r.target, false); err != nil {
		return err
	}
	for _, left := range o.Left {
		if c, err := r.store.readRecord(left); err == nil && t.objects.has(c.root) {
			if err := t.scan.include("", c.root, true); err != nil {
				return err
			}
		}
	}
	if err := r.store.exist(t, r.target, o.Paths); err != nil {
		return err
	}
	if r.Before, _, err = t.take(ctx, "before restoring "+string(id)); err != nil {
		return fmt.Errorf("save the present first: %w", err)
	}
	r.present = t.scan.snap
	return nil
}

// exist fails for a path that is neither in the tree to restore nor in the workspace.
func (s *Store) exist(t *taking, root hash, paths []string) error {
	for _, p := range paths {
		rel, err := s.clean(p)
		if err != nil {
			return err
		}
		if rel == "" || t.scan.snap.find(rel) != nil {
			continue
		}
		e, err := t.objects.find(root, rel)
		if err != nil {
			return err
		}
		if e == nil {
			return fmt.Errorf("%s: %w, neither in the checkpoint nor in the workspace", rel, fs.ErrNotExist)
		}
	}
	return nil
}

// find gives the entry of a path below a tree, or nil.
func (o *objects) find(tree hash, path string) (*entry, error) {
	at := &entry{kind: dirKind, hash: tree}
	for name := range strings.SplitSeq(path, "/") {
		if !at.isDir() {
			return nil, nil
		}
		entries, err := o.tree(at.hash)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(entries, func(e entry) bool { return e.name == name })
		if i < 0 {
			return nil, nil
		}
		at = &entries[i]
	}
	return at, nil
}

// apply makes the changes. What stands in the way of a file goes first, what was added since goes
// last: by then the ignore files are those of the checkpoint and tell what it would have recorded.
func (r *restoring) apply(ctx context.Context, changes []Change) error {
	early, late := r.deletions(changes)
	err := r.removeAll(ctx, early)
	for i := range changes {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			break
		}
		if c := &changes[i]; c.new != nil {
			r.note(c, r.put(c))
		}
	}
	if err == nil && slices.ContainsFunc(changes, func(c Change) bool { return ruleFile(c.Path) }) {
		late, err = r.recorded(ctx, late)
	}
	if err == nil {
		err = r.removeAll(ctx, late)
	}
	r.setModes()
	slices.SortFunc(r.Changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return err
}

// deletions chooses among the changes those that remove something, and which of them must be done
// first: what is inside a directory that becomes a file, ignore files, and names that a file system
// which does not tell cases apart takes for one that is to be written.
func (r *restoring) deletions(changes []Change) (early, late []*Change) {
	written := map[string]bool{}
	var replaced []string
	for i := range changes {
		c := &changes[i]
		if c.new == nil {
			continue
		}
		written[strings.ToLower(c.Path)] = true
		if c.old.isDir() && !c.new.isDir() {
			replaced = append(replaced, c.Path)
		}
	}
	for i := range changes {
		c := &changes[i]
		switch {
		case c.new != nil:
		case ruleFile(c.Path) || written[strings.ToLower(c.Path)] || len(replaced) > 0 && under(replaced, c.Path):
			early = append(early, c)
		default:
			late = append(late, c)
		}
	}
	return early, late
}

// ruleFile reports whether a file says what is ignored.
func ruleFile(p string) bool {
	switch path.Base(p) {
	case ".gitignore", ".ignore", ".rgignore":
		return true
	}
	return false
}

// recorded keeps the deletions of what a checkpoint would record now.
func (r *restoring) recorded(ctx context.Context, changes []*Change) ([]*Change, error) {
	sc, err := r.store.scan(ctx, r.root, r.objects, r.present)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(changes, func(c *Change) bool { return sc.snap.find(c.Path) == nil }), nil
}

// removeAll removes what is in directories before the directories.
func (r *restoring) removeAll(ctx context.Context, changes []*Change) error {
	for _, c := range slices.Backward(changes) {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := r.remove(c)
		if !errors.Is(err, errNotEmpty) || !c.old.isDir() {
			r.note(c, err)
		}
	}
	return nil
}

// note keeps what became of a change.
func (r *restoring) note(c *Change, err error) {
	if err != nil {
		r.failed = append(r.failed, PathError{c.Path, reason(err)})
		return
	}
	r.Changes = append(r.Changes, *c)
}
