package checkpoint

import (
	"context"
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
// that only they held. The newest always stays. A damaged store is not pruned.
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

func (s *Store) prune(ctx context.Context, keep int, named []ID) (Pruned, error) {
	list, err := s.list()
	if err != nil {
		return Pruned{}, err
	}
	o, err := openObjects(s.packs())
	if err != nil {
		return Pruned{}, err
	}
	defer o.close()
	if len(o.damaged) > 0 {
		return Pruned{}, o.damaged[0]
	}
	old := list[:max(0, len(list)-max(1, keep))]
	kept := list[len(old):]
	var p Pruned
	for _, c := range old {
		if slices.Contains(named, c.ID) {
			kept = append(kept, c)
		} else {
			p.Removed = append(p.Removed, c.ID)
		}
	}
	// What is alive is known before anything is removed, so that a fault leaves all as it was.
	m := &marker{objects: o, live: map[hash]bool{}}
	for _, c := range kept {
		if err := m.tree(ctx, c.root); err != nil {
			return Pruned{}, err
		}
	}
	for i, id := range p.Removed {
		err := s.step("remove record")
		if err == nil {
			err = os.Remove(filepath.Join(s.records(), string(id)))
		}
		if err != nil {
			p.Removed = p.Removed[:i]
			return p, err
		}
	}
	if err := syncDir(s.records()); err != nil {
		return p, err
	}
	p.Freed, err = s.collect(ctx, o, m.live)
	return p, err
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
