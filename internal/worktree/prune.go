package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Finding is one worktree in a store. Why is the reason that it cannot be removed: ErrLocked, ErrDirty or another
// error. It is nil if nothing would be lost.
type Finding struct {
	Info
	Why error
}

// Check reports which worktrees can be removed.
func (s Store) Check(ctx context.Context) ([]Finding, error) { return s.each(ctx, (*Tree).Clean) }

// Prune removes the worktrees that are not in use and have no changes, and the remains of incomplete worktrees. It
// returns all worktrees; those with a nil Why were removed.
func (s Store) Prune(ctx context.Context) ([]Finding, error) {
	s.sweep(ctx)
	return s.each(ctx, (*Tree).Remove)
}

func (s Store) each(ctx context.Context, f func(*Tree, context.Context) error) (all []Finding, err error) {
	list, err := s.List()
	for _, i := range list {
		if ctx.Err() != nil {
			return all, ctx.Err()
		}
		t, why := s.Open(ctx, i.ID)
		if why == nil {
			why = errors.Join(f(t, ctx), t.Close())
		}
		all = append(all, Finding{i, why})
	}
	return all, err
}

// sweep removes directories without a description file: creating or removing their worktree was interrupted.
func (s Store) sweep(ctx context.Context) {
	places, _ := filepath.Glob(filepath.Join(s.Dir, "*", "*"))
	for _, place := range places {
		id := filepath.Base(filepath.Dir(place)) + "/" + filepath.Base(place)
		if _, err := os.Lstat(filepath.Join(place, infoFile)); !errors.Is(err, fs.ErrNotExist) || !validID().MatchString(id) {
			continue
		}
		t := &Tree{Info: Info{ID: id}, store: s, place: place}
		t.store.Wait = 0
		if t.acquire(ctx) != nil {
			continue
		}
		if _, err := os.Lstat(filepath.Join(place, infoFile)); errors.Is(err, fs.ErrNotExist) { // still incomplete
			_ = os.RemoveAll(place)
			_ = os.Remove(filepath.Dir(place))
		}
		_ = t.Close()
	}
}
