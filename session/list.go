package session

import (
	"context"
	"iter"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/realpath"
)

// Filter selects sessions. The zero value selects all.
type Filter struct {
	Dir    string    `json:"dir,omitempty"`   // sessions in this directory
	Tag    string    `json:"tag,omitempty"`   // sessions with this tag
	Since  time.Time `json:"since,omitzero"`  // used at this time or later
	Before time.Time `json:"before,omitzero"` // last used before this time
	Limit  int       `json:"limit,omitempty"` // maximum number of sessions; 0 means all
}

// Listing is the result of [Manager.List].
type Listing struct {
	Sessions []event.Meta `json:"sessions"`       // most recently used first
	More     int          `json:"more,omitempty"` // how many sessions Filter.Limit left out

	// Damaged lists the sessions that cannot be read, whether or not the filter would select them.
	Damaged []Damaged `json:"damaged,omitempty"`
}

// Damaged is a session that cannot be read.
type Damaged struct {
	ID    string `json:"id"`
	Error string `json:"error"`
}

// List returns the sessions that match f, most recently used first. A session that cannot be read is not an error: it is
// listed in Damaged.
func (m *Manager) List(ctx context.Context, f Filter) (Listing, error) {
	list := Listing{Sessions: []event.Meta{}}
	matches, err := f.matcher()
	if err != nil {
		return list, err
	}
	for s, err := range m.Store.List(ctx) {
		switch {
		case ctx.Err() != nil:
			return list, context.Cause(ctx)
		case err != nil && s.ID == "":
			return list, err
		case err != nil:
			list.Damaged = append(list.Damaged, Damaged{s.ID, err.Error()})
		case !matches(s):
		case f.Limit > 0 && len(list.Sessions) == f.Limit:
			list.More++
		default:
			list.Sessions = append(list.Sessions, s)
		}
	}
	return list, nil
}

// matcher returns a function that reports whether a session is selected.
func (f Filter) matcher() (func(event.Meta) bool, error) {
	q := event.Query{Tag: f.Tag}
	matches := func(s event.Meta) bool {
		return q.Matches(s) && !s.Updated.Before(f.Since) && (f.Before.IsZero() || s.Updated.Before(f.Before))
	}
	if f.Dir == "" {
		return matches, nil
	}
	want, err := realpath.Dir(f.Dir)
	if err != nil {
		return nil, &DirError{Dir: f.Dir, Err: err}
	}
	return func(s event.Meta) bool { return matches(s) && s.Dir != "" && realpath.Same(s.Dir, want) }, nil
}

// SearchOptions says what to search for.
type SearchOptions struct {
	Text string `json:"text"` // ignoring case

	// Filter selects the sessions to search. Its Limit does not apply.
	Filter

	// Hits and PerSession are the maximum number of hits in total and in one session. 0 means no maximum.
	Hits       int `json:"hits,omitempty"`
	PerSession int `json:"per_session,omitempty"`
}

// Search finds text in the titles, summaries, tags and conversations of sessions, as [event.Search] does. If something
// cannot be read, it yields an error and continues.
func (m *Manager) Search(ctx context.Context, o SearchOptions) iter.Seq2[event.Hit, error] {
	matches, err := o.Filter.matcher()
	if err != nil {
		return func(yield func(event.Hit, error) bool) { yield(event.Hit{}, err) }
	}
	return event.Search(ctx, m.Store, event.Query{Text: o.Text, Only: matches, Limit: o.Hits, PerSession: o.PerSession})
}
