package event

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// The rules below are for those who write a store.

// Compare puts the session that was written last first.
func (m Meta) Compare(other Meta) int {
	return cmp.Or(other.Updated.Compare(m.Updated), cmp.Compare(m.ID, other.ID))
}

// Advance takes note of a record behind the last one. One that does not go on where the log ends
// is an ErrOrder. Updated never goes back, whatever the clock does.
func (m *Meta) Advance(r Record) error {
	if r.Seq != m.Last+1 {
		return fmt.Errorf("%w: record %d of session %s cannot follow record %d", ErrOrder, r.Seq, m.ID, m.Last)
	}
	m.Last = r.Seq
	m.touch(r.Time)
	return nil
}

// Replace is what is to be told of the session when its writer sets n. What the store itself keeps
// track of stays: the id, the time of creation, and number and time of the last record. A new title
// does not make a session one that was used last.
func (m Meta) Replace(n Meta) Meta {
	n = n.Clone()
	n.ID, n.Created, n.Last, n.Updated = m.ID, m.Created, m.Last, m.Updated
	return n
}

func (m *Meta) touch(t time.Time) {
	if t.After(m.Updated) {
		m.Updated = t
	}
}

// Clone shares nothing with m.
func (m Meta) Clone() Meta {
	m.Tags = slices.Clone(m.Tags)
	m.Usage.Raw = slices.Clone(m.Usage.Raw)
	if m.Cost != nil {
		cost := *m.Cost
		m.Cost = &cost
	}
	return m
}
