package checkpoint

import (
	"context"
	"fmt"
)

// Verify reads the whole store in a directory and returns the damage: a [DamagedError] for each pack, object or record
// that is not as it was written, and for each incomplete checkpoint. The workspace need not exist. The second result is
// an error that stopped Verify.
func Verify(ctx context.Context, dir string) (faults []error, err error) {
	s := &Store{dir: dir}
	err = s.locked(ctx, "verify checkpoints", func() error {
		faults, err = s.verify(ctx)
		return err
	})
	return faults, err
}

func (s *Store) verify(ctx context.Context) ([]error, error) {
	o, err := openObjects(s.packs())
	if err != nil {
		return nil, err
	}
	defer o.close()
	faults := o.damaged
	for h := range o.where {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if _, err := o.read(h); isDamage(err) {
			faults = append(faults, err)
			delete(o.where, h) // counts as missing from now on
		} else if err != nil {
			return nil, err
		}
	}
	list, unreadable, err := s.list()
	if err != nil {
		return nil, err
	}
	faults = append(faults, unreadable...)
	for _, c := range list {
		if err := complete(ctx, o, c.root); isDamage(err) {
			faults = append(faults, fmt.Errorf("checkpoint %s is incomplete: %w", c.ID, err))
		} else if err != nil {
			return nil, err
		}
	}
	return faults, nil
}

// complete fails if any object in a tree is missing.
func complete(ctx context.Context, o *objects, root hash) error {
	m := &marker{objects: o, live: map[hash]bool{}}
	if err := m.tree(ctx, root); err != nil {
		return err
	}
	for h := range m.live {
		if !o.has(h) {
			return missing(h)
		}
	}
	return nil
}
