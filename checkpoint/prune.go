package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Packs are merged when there are more than manyPacks, those that are smaller than smallPack.
const (
	manyPacks = 32
	smallPack = 1 << 20
)

// Pruned says what Prune removed.
type Pruned struct {
	Removed []ID
	Freed   int64 // bytes of packs
}

// Prune removes all checkpoints but the newest keep and the ones that are named, and the contents
// that only they held. The newest always stays. If something that stays is damaged, the contents stay
// as well, since nobody can tell what is needed, and the error wraps a [DamagedError] for each fault.
func (s *Store) Prune(ctx context.Context, keep int, named ...ID) (Pruned, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return Pruned{}, err
	}
	defer unlock()
	p, err := s.prune(ctx, keep, named)
	if err != nil {
		return p, fmt.Errorf("prune checkpoints: %w", err)
	}
	return p, nil
}

// makeRoom removes the oldest checkpoints if there are more than are kept. What goes wrong goes wrong
// the next time as well; Verify tells.
func (s *Store) makeRoom(ctx context.Context, named ...ID) {
	if s.keep <= 0 {
		return
	}
	if list, err := s.ids(); err == nil && len(list) > s.keep {
		s.prune(ctx, s.keep-s.keep/8, named)
	}
}

func (s *Store) prune(ctx context.Context, keep int, named []ID) (p Pruned, err error) {
	list, err := s.ids()
	if err != nil {
		return p, err
	}
	o, err := openObjects(s.packs())
	if err != nil {
		return p, err
	}
	defer o.close()
	old := list[:max(0, len(list)-max(1, keep))]
	kept := slices.Clone(list[len(old):])
	for _, id := range old {
		if slices.Contains(named, id) {
			kept = append(kept, id)
		} else {
			p.Removed = append(p.Removed, id)
		}
	}
	// What is alive is known before anything is removed, so that a fault leaves all as it was.
	m := &marker{objects: o, live: map[hash]bool{}}
	faults, err := s.mark(ctx, m, kept)
	if err != nil {
		return Pruned{}, err
	}
	if p.Removed, err = s.removeRecords(p.Removed); err != nil {
		return p, err
	}
	if faults = append(faults, o.damaged...); len(faults) > 0 {
		return p, errors.Join(faults...)
	}
	p.Freed, err = s.collect(ctx, o, m.live)
	return p, err
}

// mark finds what checkpoints need. Those that are damaged are listed.
func (s *Store) mark(ctx context.Context, m *marker, kept []ID) (faults []error, err error) {
	for _, id := range kept {
		c, err := s.readRecord(id)
		if err == nil {
			err = m.tree(ctx, c.root)
		}
		if damaged := (*DamagedError)(nil); errors.As(err, &damaged) {
			faults = append(faults, err)
		} else if err != nil {
			return nil, err
		}
	}
	return faults, nil
}

// removeRecords removes checkpoints, and returns those that are gone.
func (s *Store) removeRecords(list []ID) (removed []ID, err error) {
	for i, id := range list {
		err := s.step("remove record")
		if err == nil {
			err = os.Remove(filepath.Join(s.records(), string(id)))
		}
		if err != nil {
			return list[:i], err
		}
	}
	return list, syncDir(s.records())
}

// marker finds the objects that checkpoints need.
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
	switch e.kind {
	case dirKind:
		return m.tree(ctx, e.hash)
	case fileKind:
		m.live[e.hash] = true
	case largeKind:
		pieces, err := m.objects.pieces(e)
		if err != nil {
			return err
		}
		m.live[e.hash] = true
		for _, h := range pieces {
			m.live[h] = true
		}
	}
	return nil
}

// collect removes packs that hold mostly dead objects, after it has moved the live ones to a new
// pack.
func (s *Store) collect(ctx context.Context, o *objects, live map[hash]bool) (freed int64, err error) {
	alive := map[*pack]int64{}
	for h, at := range o.where {
		if live[h] {
			alive[at.pack] += int64(at.stored)
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
		if alive[p] == 0 || alive[p] < p.size/2 && p.size >= smallPack || p.size < smallPack && small > manyPacks {
			doomed[p] = true
			freed += p.size
		}
	}
	if len(doomed) == 0 {
		return 0, nil
	}
	moved, err := s.move(ctx, o, doomed, live)
	if err != nil {
		return 0, err
	}
	for p := range doomed {
		if p.file != nil {
			p.file.Close()
			p.file = nil
		}
		if err := s.step("remove pack"); err != nil {
			return 0, err
		}
		if err := os.Remove(p.path); err != nil {
			return 0, err
		}
	}
	return freed - moved, nil
}

// move writes the live objects of some packs to a new one.
func (s *Store) move(ctx context.Context, o *objects, from map[*pack]bool, live map[hash]bool) (int64, error) {
	w := newPackWriter(s.packs(), func(hash) bool { return false }, s.step)
	defer w.abort()
	for h, at := range o.where {
		if !live[h] || !from[at.pack] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		data, err := o.read(h)
		if err != nil {
			return 0, err
		}
		if _, err := w.add(data); err != nil {
			return 0, err
		}
	}
	return w.offset, w.finish()
}
