package session

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// CostOptions selects model calls.
type CostOptions struct {
	Sessions []string  `json:"sessions,omitempty"` // default: all that Filter selects
	Filter   Filter    `json:"filter,omitzero"`
	Since    time.Time `json:"since,omitzero"` // only calls at this time or later
}

// Cost is what the model calls of sessions used. Calls that a fork shares with its original are counted once.
type Cost struct {
	Sessions []string           `json:"sessions"`         // their IDs
	Models   []event.ModelSpent `json:"models"`           // the most expensive first
	Agents   []event.AgentSpent `json:"agents,omitempty"` // of a single session only
	Calls    int                `json:"calls"`
	Unpriced int                `json:"unpriced,omitempty"` // how many calls have no known price
	Usage    llm.Usage          `json:"usage"`
	Cost     *float64           `json:"cost"`      // in US dollars; null if a price is unknown
	CacheHit float64            `json:"cache_hit"` // the share of the input that was read from caches

	// Unread lists the sessions with records that cannot be read, so that the cost may be incomplete, and Damaged the
	// sessions that cannot be read at all.
	Unread  []Unread  `json:"unread,omitempty"`
	Damaged []Damaged `json:"damaged,omitempty"`
}

// Unread tells how many records of a session cannot be read.
type Unread struct {
	Session string `json:"session"`
	Records int    `json:"records"`
}

// Cost sums up what model calls used.
func (m *Manager) Cost(ctx context.Context, o CostOptions) (Cost, error) {
	b := bill{seen: make(map[callKey]bool), since: o.Since, total: Cost{Sessions: []string{}, Models: []event.ModelSpent{}}}
	chosen, err := m.toCharge(ctx, o, &b.total)
	if err != nil {
		return Cost{}, err
	}
	for _, s := range chosen {
		if err := b.add(ctx, m.Store, s.ID); err != nil {
			return Cost{}, err
		}
	}
	return b.sum(), nil
}

// toCharge returns the sessions whose calls are summed up.
func (m *Manager) toCharge(ctx context.Context, o CostOptions, c *Cost) ([]event.Meta, error) {
	if len(o.Sessions) > 0 {
		return m.FindAll(ctx, o.Sessions...)
	}
	if o.Since.After(o.Filter.Since) {
		o.Filter.Since = o.Since
	}
	list, err := m.List(ctx, o.Filter)
	c.Damaged = list.Damaged
	return list.Sessions, err
}

// callKey identifies a model call. It is the same in a fork of the session.
type callKey struct {
	seq   event.Seq
	agent string
	time  int64
}

// bill sums up the cost of sessions.
type bill struct {
	total Cost
	spent event.Spending
	since time.Time
	seen  map[callKey]bool
}

// add adds a session.
func (b *bill) add(ctx context.Context, store event.Store, id string) error {
	lost := 0
	for r, err := range store.Load(ctx, id, 0) {
		if _, damaged := errors.AsType[*event.CorruptError](err); damaged {
			lost++
			continue
		}
		if err != nil {
			return err
		}
		if b.counts(r) {
			b.spent.Add(r)
		}
	}
	b.total.Sessions = append(b.total.Sessions, id)
	if lost > 0 {
		b.total.Unread = append(b.total.Unread, Unread{id, lost})
	}
	return nil
}

// counts reports whether a record is new and not too old.
func (b *bill) counts(r event.Record) bool {
	if _, ok := r.Data.(event.ModelCallEnd); !ok {
		return true
	}
	key := callKey{r.Seq, r.Agent, r.Time.UnixNano()}
	if b.seen[key] || r.Time.Before(b.since) {
		return false
	}
	b.seen[key] = true
	return true
}

func (b *bill) sum() Cost {
	c, spent := b.total, b.spent.Total
	slices.SortStableFunc(b.spent.Models, func(a, b event.ModelSpent) int { return cmp.Compare(b.Dollars, a.Dollars) })
	c.Models = append(c.Models, b.spent.Models...)
	c.Calls, c.Usage, c.Unpriced = spent.Calls, spent.Usage, spent.Unpriced
	c.Cost = spent.Cost().Pointer()
	if len(c.Sessions) == 1 {
		c.Agents = b.spent.Agents
	}
	if spent.Usage.Input > 0 {
		c.CacheHit = float64(spent.Usage.CacheRead) / float64(spent.Usage.Input)
	}
	return c
}
