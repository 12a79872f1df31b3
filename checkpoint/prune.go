package checkpoint

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
)

// Packs smaller than smallPack are merged when there are more than manyPacks.
const (
	manyPacks = 32
	smallPack = 1 << 20
)

// makeRoom removes the oldest checkpoints if there are more than the maximum, but not the named ones. Errors are
// ignored: the next call tries again, and Verify reports damage.
func (s *Store) makeRoom(ctx context.Context, named ...ID) {
	if s.keep <= 0 {
		return
	}
	if list, err := s.ids(); err == nil && len(list) > s.keep {
		s.prune(ctx, s.keep-s.keep/8, named)
	}
}

// prune removes all checkpoints except the newest keep and the named ones, and the objects that only they used. The
// newest always stays. If a remaining checkpoint is damaged, no objects are removed, because it is unknown which are
// needed, and the error wraps a [DamagedError] for each problem.
func (s *Store) prune(ctx context.Context, keep int, named []ID) (removed []ID, err error) {
	list, err := s.ids()
	if err != nil {
		return nil, err
	}
	o, err := openObjects(s.packs())
	if err != nil {
		return nil, err
	}
	defer o.close()
	old := list[:max(0, len(list)-max(1, keep))]
	kept := slices.Clone(list[len(old):])
	for _, id := range old {
		if slices.Contains(named, id) {
			kept = append(kept, id)
		} else {
			removed = append(removed, id)
		}
	}
	// Find the needed objects before removing anything, so that an error changes nothing.
	m := &marker{objects: o, live: map[hash]bool{}}
	faults, err := s.mark(ctx, m, kept)
	if err != nil {
		return nil, err
	}
	if removed, err = s.removeRecords(removed); err != nil {
		return removed, err
	}
	if faults = append(faults, o.damaged...); len(faults) > 0 {
		return removed, errors.Join(faults...)
	}
	return removed, s.collect(ctx, o, m.live)
}

// mark marks the objects in checkpoints and returns the damage that it finds.
func (s *Store) mark(ctx context.Context, m *marker, kept []ID) (faults []error, err error) {
	for _, id := range kept {
		c, err := s.readRecord(id)
		if err == nil {
			err = m.tree(ctx, c.root)
		}
		if isDamage(err) {
			faults = append(faults, err)
		} else if err != nil {
			return nil, err
		}
	}
	return faults, nil
}

// removeRecords removes checkpoints and returns the ones it has removed.
func (s *Store) removeRecords(list []ID) ([]ID, error) {
	for i, id := range list {
		err := s.do("remove record", func() error { return os.Remove(filepath.Join(s.records(), string(id))) })
		if err != nil {
			return list[:i], err
		}
	}
	return list, s.do("sync directory", func() error { return syncDir(s.records()) })
}

// marker marks the objects that checkpoints need.
type marker struct {
	objects *objects
	live    map[hash]bool
}

func (m *marker) tree(ctx context.Context, tree hash) error {
	if m.live[tree] {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	m.live[tree] = true
	entries, err := m.objects.tree(tree)
	if err != nil {
		return err
	}
	for i := range entries {
		if err := m.entry(ctx, &entries[i]); err != nil {
			return err
		}
	}
	return nil
}

func (m *marker) entry(ctx context.Context, e *entry) error {
	if e.isDir() {
		return m.tree(ctx, e.hash)
	}
	if !e.isFile() {
		return nil
	}
	pieces, err := m.objects.pieces(e)
	if err != nil {
		return err
	}
	m.live[e.hash] = true
	for _, h := range pieces {
		m.live[h] = true
	}
	return nil
}

// collect removes packs with mostly unused objects and merges small packs, after moving used objects to a new pack.
func (s *Store) collect(ctx context.Context, o *objects, live map[hash]bool) error {
	used := map[*pack]int64{}
	for h, at := range o.where {
		if live[h] {
			used[at.pack] += int64(at.stored)
		}
	}
	small := 0
	for _, p := range o.packs {
		if p.size < smallPack {
			small++
		}
	}
	doomed := map[*pack]bool{}
	for _, p := range o.packs {
		if used[p] == 0 || used[p] < p.size/2 && p.size >= smallPack || p.size < smallPack && small > manyPacks {
			doomed[p] = true
		}
	}
	if err := s.move(ctx, o, doomed, live); err != nil {
		return err
	}
	o.close()
	for p := range doomed {
		if err := s.do("remove pack", func() error { return os.Remove(p.path) }); err != nil {
			return err
		}
	}
	return nil
}

// move writes the used objects in some packs to a new pack.
func (s *Store) move(ctx context.Context, o *objects, from map[*pack]bool, live map[hash]bool) error {
	w := newPackWriter(s, func(hash) bool { return false })
	defer w.abort()
	for h, at := range o.where {
		if !live[h] || !from[at.pack] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		data, err := o.read(h)
		if err != nil {
			return err
		}
		if _, err := w.add(data); err != nil {
			return err
		}
	}
	return w.finish()
}
