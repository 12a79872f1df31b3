package event

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
)

// Fork makes a new session of the first records of another: those up to the number at, or all that
// there are if it is 0. They keep their numbers and times, and the blobs that they refer to come
// with them. The other session is only read, so somebody may be writing to it.
//
// Of m, ID names the new session. What m says beside that goes before what is known of the other
// session: Title, Prompt, Summary, Tags, Provider, Model, Dir and Branch. Parent and ForkedAt say
// where the session comes from; Turns, Usage and Cost are those of the records.
//
// A record or a blob that is damaged is an error, and after an error there is no new session.
// Salvage goes on instead.
func Fork(ctx context.Context, s Store, from string, at Seq, m Meta) (Meta, error) {
	return fork(ctx, s, from, at, m, false)
}

// Salvage is Fork for a session that is damaged. A record that cannot be read leaves a Warning in
// its place, so that the others keep their numbers, and a blob that cannot be read is left out.
func Salvage(ctx context.Context, s Store, from string, at Seq, m Meta) (Meta, error) {
	return fork(ctx, s, from, at, m, true)
}

func fork(ctx context.Context, s Store, from string, at Seq, m Meta, salvage bool) (Meta, error) {
	parent, err := s.Meta(ctx, from)
	if err != nil {
		return Meta{}, err
	}
	if at > parent.Last {
		return Meta{}, fmt.Errorf("session %s cannot be forked at record %d: it has %d", from, at, parent.Last)
	}
	f := forker{store: s, from: from, at: cmp.Or(at, parent.Last), salvage: salvage, id: m.ID, copied: make(map[string]bool)}
	w, err := s.Create(ctx, m.inherit(parent, f.at))
	if err != nil {
		return Meta{}, err
	}
	f.out = w
	if err = f.copy(ctx); err == nil {
		err = f.describe(ctx, parent)
	}
	err = errors.Join(err, w.Close())
	if err == nil {
		return s.Meta(ctx, m.ID)
	}
	err = fmt.Errorf("session %s cannot be forked: %w", from, err)
	return Meta{}, errors.Join(err, s.Delete(context.WithoutCancel(ctx), m.ID))
}

// inherit is what is known of a fork before its records are.
func (m Meta) inherit(parent Meta, at Seq) Meta {
	parent = parent.Clone()
	m.Title = cmp.Or(m.Title, parent.Title)
	m.Prompt = cmp.Or(m.Prompt, parent.Prompt)
	if at == parent.Last { // else it tells of what is not in the fork
		m.Summary = cmp.Or(m.Summary, parent.Summary)
	}
	m.Provider = cmp.Or(m.Provider, parent.Provider)
	m.Model = cmp.Or(m.Model, parent.Model)
	m.Dir = cmp.Or(m.Dir, parent.Dir)
	m.Branch = cmp.Or(m.Branch, parent.Branch)
	if m.Tags == nil {
		m.Tags = parent.Tags
	}
	m.Parent, m.ForkedAt = parent.ID, at
	return m
}

// A fork is written in pieces of so many records or about so many bytes, whichever is less: one
// flush for each record would be slow, and records may be large.
const (
	forkRecords = 256
	forkBytes   = 1 << 20
)

// forker copies the records of a session.
type forker struct {
	store   Store
	from    string
	at      Seq
	salvage bool
	id      string
	out     Writer

	batch  []Record
	size   int64
	last   Record
	copied map[string]bool // the hashes of blobs
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

// fill puts warnings in the place of records that are missing before one.
func (f *forker) fill(ctx context.Context, r Record, damage error) error {
	for f.last.Seq+1 < r.Seq {
		if !f.salvage {
			return fmt.Errorf("record %d is missing", f.last.Seq+1)
		}
		text := fmt.Sprintf("record %d of session %s could not be read", f.last.Seq+1, f.from)
		if damage != nil {
			text += ": " + damage.Error()
			damage = nil // said once
		}
		if err := f.add(ctx, Record{Seq: f.last.Seq + 1, Time: r.Time, Data: Warning{Message: text}}); err != nil {
			return err
		}
	}
	return nil
}

func (f *forker) add(ctx context.Context, r Record) error {
	r.Session = f.id
	f.last = r
	f.batch = append(f.batch, r)
	f.size += weight(r.Data)
	if len(f.batch) < forkRecords && f.size < forkBytes {
		return nil
	}
	return f.flush(ctx)
}

func (f *forker) flush(ctx context.Context) error {
	if len(f.batch) == 0 {
		return nil
	}
	err := f.out.Append(ctx, f.batch...)
	clear(f.batch)
	f.batch, f.size = f.batch[:0], 0
	return err
}

// blobs copies what a record refers to.
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

// blob copies a blob. That it cannot be read is one thing, and that it cannot be written another.
func (f *forker) blob(ctx context.Context, hash string) (lost, err error) {
	in, err := f.store.OpenBlob(ctx, f.from, hash)
	if err != nil {
		return err, context.Cause(ctx)
	}
	defer in.Close()
	source := &noting{Reader: in}
	got, _, err := f.out.PutBlob(ctx, source)
	switch {
	case source.err != nil:
		return source.err, context.Cause(ctx)
	case err != nil:
		return nil, err
	case got != hash:
		return fmt.Errorf("the blob %s is damaged: its hash is %s", hash, got), nil
	}
	return nil, nil
}

// noting notes why reading failed.
type noting struct {
	io.Reader
	err error
}

func (n *noting) Read(p []byte) (int, error) {
	c, err := n.Reader.Read(p)
	if err != nil && err != io.EOF {
		n.err = err
	}
	return c, err
}

// describe adds to what is known of the fork what only its records tell.
func (f *forker) describe(ctx context.Context, parent Meta) error {
	m, err := f.store.Meta(ctx, f.id)
	if err != nil {
		return err
	}
	m.ForkedAt = f.last.Seq
	if f.at == parent.Last {
		parent = parent.Clone()
		m.Turns, m.Usage, m.Cost = parent.Turns, parent.Usage, parent.Cost
	} else {
		m.Turns, m.Usage, m.Cost = f.spent.Turns, f.spent.Total.Usage, f.spent.Total.Cost().Pointer()
	}
	return f.out.SetMeta(ctx, m)
}
