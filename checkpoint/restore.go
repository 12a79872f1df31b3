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

// Restored is the result of Restore.
type Restored struct {
	Before  ID       // the state before the restore; restore this checkpoint to undo it
	Changes []Change // changes made in the workspace, in path order
	// Kept are differences from the checkpoint that stay, because others made them: files and links, in path order.
	Kept []Change
}

// RestoreOptions control what to restore. The zero value restores everything.
type RestoreOptions struct {
	// Paths limits the restore to these files and directories, relative to the workspace or absolute.
	Paths []string

	// Begin, if not nil, is called before any change, with a checkpoint of the current state and the paths
	// that will change. An error stops the restore. Begin must not use the store, whose lock is held.
	Begin func(before ID, touched []string) error

	// Traced means that the caller knows its own changes: Wrote or, to revert a restore, the paths in Touched, which it
	// left in a state that Left lists. Files that only others changed are kept or, if Ask is set, treated like files
	// that both changed; Later controls what to do with these.
	Traced  bool
	Wrote   map[string]Write
	Touched []string
	Ask     bool

	// Left lists the states in which the caller left the workspace. Without Traced, a file to be restored that differs
	// from all these states was changed later by others; Later controls what to do with it. If no state can
	// be read, that applies to all files. Allowed lists files, relative to the workspace and with slashes, that
	// [Refuse] does not apply to.
	Left    []ID
	Later   Later
	Allowed []string
}

// Later controls what happens to files that others changed after the caller left them.
type Later int

// Values of [RestoreOptions].Later.
const (
	Overwrite Later = iota // restore them like all others
	Refuse                 // restore nothing and return a [LaterError]
	Keep                   // keep them and restore the others
)

// Restore restores a checkpoint. It first takes a checkpoint of the current state, which the result contains even if
// Restore fails after that. An interrupted Restore can be repeated.
//
// If a file could not be restored, because it changed meanwhile or an ignored file is in the way, the error is an
// [IncompleteError].
func (s *Store) Restore(ctx context.Context, id ID, o RestoreOptions) (Restored, error) {
	r := &restoring{store: s, modes: map[string]fs.FileMode{}}
	err := s.locked(ctx, "restore checkpoint "+string(id), func() error {
		defer r.close()
		changes, err := r.prepare(ctx, id, o)
		if err == nil && o.Begin != nil {
			err = o.Begin(r.Before, pathsOf(changes))
		}
		if err == nil {
			err = r.apply(ctx, changes)
		}
		s.makeRoom(ctx, id, r.Before)
		return err
	})
	if err == nil && len(r.failed) > 0 {
		err = &IncompleteError{ID: id, Before: r.Before, Failed: r.failed}
	}
	return r.Restored, err
}

// restoring is a Restore in progress. It requires the lock.
type restoring struct {
	Restored
	store   *Store
	target  hash // tree to restore
	root    *os.Root
	objects *objects
	present *snapshot              // what the checkpoint Before contains
	modes   map[string]fs.FileMode // directory modes, to be set at the end
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

// prepare checkpoints the current state and returns the changes to make.
func (r *restoring) prepare(ctx context.Context, id ID, o RestoreOptions) ([]Change, error) {
	c, err := r.store.readRecord(id)
	if err != nil {
		return nil, err
	}
	r.target = c.root
	if err := r.savePresent(ctx, id, o.Paths); err != nil {
		return nil, err
	}
	if r.root, err = os.OpenRoot(r.store.workspace); err != nil {
		return nil, err
	}
	if r.objects, err = openObjects(r.store.packs()); err != nil {
		return nil, err
	}
	changes, err := r.store.compare(ctx, r.objects, Checkpoint{root: r.present.root}, c, o.Paths)
	if err != nil {
		return nil, err
	}
	changes = slices.DeleteFunc(changes, func(c Change) bool { return c.new == nil && r.present.find(c.Path).ignored })
	for _, c := range changes {
		if c.new != nil && c.new.isFile() && !r.objects.holds(c.new) {
			return nil, fmt.Errorf("nothing restored: content of %s: %w", c.Path, missing(c.new.hash))
		}
	}
	return r.spare(ctx, changes, o)
}

// savePresent checkpoints the current state. It includes ignored files that would be restored.
func (r *restoring) savePresent(ctx context.Context, id ID, paths []string) error {
	t, err := r.store.begin(ctx)
	if err != nil {
		return err
	}
	defer t.close()
	if err := t.scan.include("", r.target); err != nil {
		return err
	}
	if err := r.exist(t, paths); err != nil {
		return err
	}
	if r.Before, _, err = t.take(ctx, "before restoring "+string(id)); err != nil {
		return fmt.Errorf("save the current state: %w", err)
	}
	r.present = t.scan.snap
	return nil
}

// exist fails for a path that is neither in the tree to restore nor in the workspace.
func (r *restoring) exist(t *taking, paths []string) error {
	paths, err := r.store.relative(paths)
	if err != nil {
		return err
	}
	for _, p := range paths {
		if p == "" || t.scan.snap.find(p) != nil {
			continue
		}
		e, err := t.objects.find(r.target, p)
		if err != nil {
			return err
		}
		if e == nil {
			return fmt.Errorf("%s: %w, neither in the checkpoint nor in the workspace, or it is ignored", p, fs.ErrNotExist)
		}
	}
	return nil
}

// spare returns the changes without files that the options say to keep.
func (r *restoring) spare(ctx context.Context, changes []Change, o RestoreOptions) ([]Change, error) {
	if o.Traced {
		return r.own(ctx, changes, o)
	}
	if o.Later == Overwrite {
		return changes, nil
	}
	later, known, err := r.later(ctx, o)
	if err != nil {
		return nil, err
	}
	touched := func(c Change) bool { return !known || later[c.Path] }
	if o.Later == Keep && known {
		return slices.DeleteFunc(changes, touched), nil
	}
	e := &LaterError{Unknown: !known}
	for _, c := range changes {
		if !c.Dir() && touched(c) && !slices.Contains(o.Allowed, c.Path) {
			e.Changes = append(e.Changes, c)
		}
	}
	if len(e.Changes) > 0 {
		return nil, e
	}
	return changes, nil
}

// later returns the paths that differ from all states in which the caller left the workspace. known is false if no such
// state can be read.
func (r *restoring) later(ctx context.Context, o RestoreOptions) (later map[string]bool, known bool, err error) {
	for _, id := range o.Left {
		left, err := r.store.readRecord(id)
		if err != nil {
			continue // pruned or damaged
		}
		changes, err := r.store.compare(ctx, r.objects, left, Checkpoint{root: r.present.root}, o.Paths)
		if err != nil {
			return nil, false, err
		}
		differs := make(map[string]bool, len(changes))
		for _, c := range changes {
			if !known || later[c.Path] {
				differs[c.Path] = true
			}
		}
		later, known = differs, true
	}
	return later, known, nil
}

func pathsOf(changes []Change) (paths []string) {
	for i := range changes {
		paths = append(paths, changes[i].Path)
	}
	return paths
}

// apply makes the changes. It first removes files that are in the way of other files. Other removals come last, when
// the checkpoint's ignore files are in place and tell what it would have recorded.
func (r *restoring) apply(ctx context.Context, changes []Change) error {
	early, late := deletions(changes)
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

// deletions returns the changes that remove something. Some must come early: ignore files, the contents of directories
// that become files, and names that differ only in case from a file to be written, which some file systems do not
// tell apart.
func deletions(changes []Change) (early, late []*Change) {
	written := map[string]bool{}
	var replaced []string
	for i := range changes {
		if c := &changes[i]; c.new != nil {
			written[strings.ToLower(c.Path)] = true
			if c.old.isDir() && !c.new.isDir() {
				replaced = append(replaced, c.Path)
			}
		}
	}
	for i := range changes {
		c := &changes[i]
		switch {
		case c.new != nil:
		case ruleFile(c.Path) || written[strings.ToLower(c.Path)] || under(replaced, c.Path):
			early = append(early, c)
		default:
			late = append(late, c)
		}
	}
	return early, late
}

// ruleFile reports whether a file contains ignore rules.
func ruleFile(p string) bool {
	switch path.Base(p) {
	case ".gitignore", ".ignore", ".rgignore":
		return true
	}
	return false
}

// recorded returns the deletions of files that a checkpoint would record now.
func (r *restoring) recorded(ctx context.Context, changes []*Change) ([]*Change, error) {
	sc, err := r.store.scan(ctx, r.root, r.objects, r.present)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(changes, func(c *Change) bool { return sc.snap.find(c.Path) == nil }), nil
}

// removeAll removes the contents of directories before the directories.
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

// note records a change's result.
func (r *restoring) note(c *Change, err error) {
	if err != nil {
		r.failed = append(r.failed, PathError{c.Path, reason(err)})
		return
	}
	r.Changes = append(r.Changes, *c)
}
