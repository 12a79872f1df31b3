package event

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
)

// Fork creates a session from another session's records up to at, or from all records if at is 0. Records keep their
// numbers and times, and their blobs are copied. The other session may have a writer.
//
// m.ID is the new session's id. Title, Prompt, Summary, Tags, Provider, Model, Dir and Branch are inherited unless m
// sets them. The other fields in m are ignored.
//
// A damaged record or blob is an error. After an error there is no new session.
func Fork(ctx context.Context, s Store, from string, at Seq, m Meta) (Meta, error) {
	return fork(ctx, s, from, at, m, false)
}

// Salvage forks a damaged session. A Warning takes the place of each unreadable record, and unreadable blobs are left
// out.
func Salvage(ctx context.Context, s Store, from string, at Seq, m Meta) (Meta, error) {
	return fork(ctx, s, from, at, m, true)
}

func fork(ctx context.Context, s Store, from string, at Seq, m Meta, salvage bool) (Meta, error) {
	parent, err := s.Meta(ctx, from)
	if err != nil {
		return Meta{}, err
	}
	if at > parent.Last {
		return Meta{}, fmt.Errorf("cannot fork session %s at record %d: its last record is %d", from, at, parent.Last)
	}
	f := forker{
		store:   s,
		from:    from,
		at:      cmp.Or(at, parent.Last),
		salvage: salvage,
		id:      m.ID,
		copied:  make(map[string]bool),
	}
	if f.out, err = s.Create(ctx, m.inherit(parent, f.at)); err != nil {
		return Meta{}, err
	}
	if err = f.copy(ctx); err == nil {
		err = f.describe(ctx, parent)
	}
	err = errors.Join(err, f.out.Close())
	if err == nil {
		return s.Meta(ctx, m.ID)
	}
	err = fmt.Errorf("cannot fork session %s: %w", from, err)
	return Meta{}, errors.Join(err, s.Delete(context.WithoutCancel(ctx), m.ID))
}

// inherit completes a fork's description from its parent's.
func (m Meta) inherit(parent Meta, at Seq) Meta {
	parent = parent.Clone()
	m.Title = cmp.Or(m.Title, parent.Title)
	m.Prompt = cmp.Or(m.Prompt, parent.Prompt)
	if at == parent.Last { // otherwise it covers more than the fork
		m.Summary = cmp.Or(m.Summary, parent.Summary)
	}
	m.Provider = cmp.Or(m.Provider, parent.Provider)
	m.Model = cmp.Or(m.Model, parent.Model)
	m.Dir = cmp.Or(m.Dir, parent.Dir)
	m.Branch = cmp.Or(m.Branch, parent.Branch)
	if m.Tags == nil {
		m.Tags = parent.Tags
	}
	m.Parent = parent.ID
	m.ForkedAt = at
	m.Imported = min(parent.Imported, at+1)
	return m
}

// forkBatch is how many records a fork appends at a time.
const forkBatch = 64

// forker copies a session's records.
type forker struct {
	store   Store
	from    string
	at      Seq
	salvage bool
	id      string
	out     Writer

	batch  []Record
	last   Seq
	copied map[string]bool // by hash
	spent  Spending
}

func (f *forker) copy(ctx context.Context) error {
	var damage error
	for r, err := range f.store.Load(ctx, f.from, 0) {
		var corrupt *CorruptError
		switch {
		case errors.As(err, &corrupt) && f.salvage:
			damage = errors.Join(damage, corrupt)
			continue
		case err != nil:
			return err
		case r.Seq > f.at:
			return f.flush(ctx)
		}
		if err := f.fill(ctx, r, damage); err != nil {
			return err
		}
		damage = nil
		if err := f.blobs(ctx, r); err != nil {
			return err
		}
		f.spent.Add(r)
		if err := f.add(ctx, r); err != nil {
			return err
		}
		if r.Seq == f.at {
			break
		}
	}
	return f.flush(ctx)
}

// fill adds warnings in place of the records missing before r.
func (f *forker) fill(ctx context.Context, r Record, damage error) error {
	for f.last+1 < r.Seq {
		if !f.salvage {
			return fmt.Errorf("record %d is missing", f.last+1)
		}
		text := fmt.Sprintf("record %d of session %s could not be read", f.last+1, f.from)
		if damage != nil {
			text += ": " + damage.Error()
			damage = nil // the first warning reports it
		}
		if err := f.add(ctx, Record{Seq: f.last + 1, Time: r.Time, Data: Warning{Message: text}}); err != nil {
			return err
		}
	}
	return nil
}

func (f *forker) add(ctx context.Context, r Record) error {
	r.Session = f.id
	f.last = r.Seq
	f.batch = append(f.batch, r)
	if len(f.batch) < forkBatch {
		return nil
	}
	return f.flush(ctx)
}

func (f *forker) flush(ctx context.Context) error {
	if len(f.batch) == 0 {
		return nil
	}
	err := f.out.Append(ctx, f.batch...)
	f.batch = nil
	return err
}

// blobs copies the blobs that a record refers to.
func (f *forker) blobs(ctx context.Context, r Record) error {
	for _, b := range Blobs(r) {
		if f.copied[b.Hash] {
			continue
		}
		f.copied[b.Hash] = true
		lost, err := f.blob(ctx, b.Hash)
		if err == nil && !f.salvage {
			err = lost
		}
		if err != nil {
			return fmt.Errorf("record %d: %w", r.Seq, err)
		}
	}
	return nil
}

// blob copies a blob. lost is why it cannot be read, and err why it cannot be written.
func (f *forker) blob(ctx context.Context, hash string) (lost, err error) {
	in, err := f.store.OpenBlob(ctx, f.from, hash)
	if err != nil {
		return err, context.Cause(ctx)
	}
	defer in.Close()
	source := &errorReader{Reader: in}
	got, _, err := f.out.PutBlob(ctx, source)
	switch {
	case source.err != nil:
		return source.err, context.Cause(ctx)
	case err != nil:
		return nil, err
	case got != hash:
		return fmt.Errorf("blob %s is damaged: its hash is %s", hash, got), nil
	}
	return nil, nil
}

// errorReader remembers why reading failed.
type errorReader struct {
	io.Reader
	err error
}

func (r *errorReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

// describe completes the fork's description.
func (f *forker) describe(ctx context.Context, parent Meta) error {
	m, err := f.store.Meta(ctx, f.id)
	if err != nil {
		return err
	}
	m.ForkedAt = f.last
	if f.at == parent.Last {
		parent = parent.Clone()
		m.Turns = parent.Turns
		m.Usage = parent.Usage
		m.Cost = parent.Cost
	} else {
		m.Turns = f.spent.Turns
		m.Usage = f.spent.Total.Usage
		m.Cost = f.spent.Total.Cost().Pointer()
	}
	return f.out.SetMeta(ctx, m)
}
