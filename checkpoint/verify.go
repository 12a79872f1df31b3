package checkpoint

import (
	"context"
	"errors"
	"fmt"
)

// Verify checks the store in a directory as [Store.Verify] does. Its workspace need not exist.
func Verify(ctx context.Context, dir string) ([]error, error) {
	s := &Store{dir: dir, step: func(string) error { return nil }}
	return s.Verify(ctx)
}

// Verify reads the whole store and returns what is wrong with it: a [DamagedError] for each pack,
// object or record that is not what was written, and for each checkpoint that lacks something. The
// second result is an error that kept Verify from finding out.
func (s *Store) Verify(ctx context.Context) ([]error, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	o, err := openObjects(s.packs())
	if err != nil {
		return nil, fmt.Errorf("verify checkpoints: %w", err)
	}
	defer o.close()
	v := &verifier{objects: o, faults: o.damaged}
	if err := v.contents(ctx); err != nil {
		return nil, fmt.Errorf("verify checkpoints: %w", err)
	}
	list, err := s.list()
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		v.faults = append(v.faults, joined.Unwrap()...)
	} else if err != nil {
		return nil, err
	}
	for _, c := range list {
		if err := v.checkpoint(ctx, c); err != nil {
			return nil, fmt.Errorf("verify checkpoints: %w", err)
		}
	}
	return v.faults, nil
}

type verifier struct {
	objects *objects
	faults  []error
}

// fault keeps an error that is about damage, and returns others.
func (v *verifier) fault(err error) error {
	if damaged := (*DamagedError)(nil); errors.As(err, &damaged) {
		v.faults = append(v.faults, err)
		return nil
	}
	return err
}

// contents checks each object against its hash. Those that fail count as missing from then on.
func (v *verifier) contents(ctx context.Context) error {
	for h := range v.objects.where {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := v.objects.read(h); err != nil {
			if err := v.fault(err); err != nil {
				return err
			}
			delete(v.objects.where, h)
		}
	}
	return nil
}

// checkpoint checks that everything a checkpoint needs is there.
func (v *verifier) checkpoint(ctx context.Context, c Checkpoint) error {
	m := &marker{objects: v.objects, live: map[hash]bool{}}
	err := m.tree(ctx, c.root)
	for h := range m.live {
		if err == nil && !v.objects.has(h) {
			err = &DamagedError{"packs", "object " + h.String() + " is missing"}
		}
	}
	if err == nil {
		return nil
	}
	return v.fault(fmt.Errorf("checkpoint %s is not complete: %w", c.ID, err))
}
