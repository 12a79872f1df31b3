package session

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/suggest"
)

// Latest stands for the session that was used last, unless a session has this ID. A fork counts once it was continued,
// and so does an imported session.
const Latest = "latest"

// Find finds a session. If there is none, the error is a *[NotFoundError] or an *[AmbiguousError]. If the session exists
// but cannot be read, the result has its ID in addition to the error.
func (m *Manager) Find(ctx context.Context, name string) (event.Meta, error) {
	found, err := m.Store.Meta(ctx, name)
	if err == nil {
		return found, nil
	}
	exists := !errors.Is(err, event.ErrNotFound) && !errors.Is(err, event.ErrBadID)
	type candidate struct {
		meta event.Meta
		err  error
	}
	var all, matching []string
	var last candidate
	for s, err := range m.Store.List(ctx) { // also to find the ID in its own case
		if ctx.Err() != nil {
			return event.Meta{}, context.Cause(ctx)
		}
		if s.ID == "" {
			return event.Meta{}, err
		}
		all = append(all, s.ID)
		if event.FoldID(s.ID) == event.FoldID(name) {
			return s, err
		}
		if name != "" && strings.HasPrefix(event.FoldID(s.ID), event.FoldID(name)) {
			matching, last = append(matching, s.ID), candidate{s, err}
		}
	}
	switch {
	case exists:
		return event.Meta{ID: name}, err
	case name == Latest:
		return m.latest(ctx)
	case len(matching) == 1:
		return last.meta, last.err
	case len(matching) > 1:
		return event.Meta{}, &AmbiguousError{Name: name, IDs: matching}
	}
	return event.Meta{}, &NotFoundError{Name: name, Near: nearIDs(name, all), Empty: len(all) == 0}
}

// latest returns the session that was used last.
func (m *Manager) latest(ctx context.Context) (event.Meta, error) {
	s, err := event.Latest(ctx, m.Store, func(s event.Meta) bool { return !s.Foreign() && !unusedFork(s) })
	if errors.Is(err, event.ErrNotFound) {
		s, err = event.Latest(ctx, m.Store, func(s event.Meta) bool { return !s.Foreign() })
	}
	if errors.Is(err, event.ErrNotFound) {
		return s, &NotFoundError{Name: Latest, Empty: true}
	}
	return s, err
}

// unusedFork reports whether a session is a fork that was never continued.
func unusedFork(s event.Meta) bool { return s.Parent != "" && s.Last <= s.ForkedAt }

// nearIDs returns up to three IDs that contain a name or start almost like it.
func nearIDs(name string, all []string) []string {
	if name = event.FoldID(name); name == "" {
		return nil
	}
	return suggest.Nearest(all, 3, func(id string) (int, bool) {
		head := event.FoldID(id)
		if len(name) >= 3 && strings.Contains(head, name) {
			return 0, true
		}
		wrong := suggest.Distance(name, head[:min(len(head), len(name))])
		return wrong, wrong <= min(2, len(name)/3)
	})
}

// FindAll finds several sessions, without duplicates. It includes sessions that cannot be read; they have only an ID.
func (m *Manager) FindAll(ctx context.Context, names ...string) ([]event.Meta, error) {
	var found []event.Meta
	for _, name := range names {
		s, err := m.Find(ctx, name)
		if err != nil && s.ID == "" {
			return nil, err
		}
		if !slices.ContainsFunc(found, func(f event.Meta) bool { return f.ID == s.ID }) {
			found = append(found, s)
		}
	}
	return found, nil
}

// findRecord finds the session and the record of a reference, which is a name or NAME@SEQ. Without SEQ the record is 0.
func (m *Manager) findRecord(ctx context.Context, ref string) (event.Meta, event.Seq, error) {
	at := strings.LastIndexByte(ref, '@')
	if at < 0 {
		s, err := m.Find(ctx, ref)
		return s, 0, err
	}
	if s, err := m.Store.Meta(ctx, ref); err == nil {
		return s, 0, nil // IDs may contain @
	}
	seq, err := strconv.ParseUint(ref[at+1:], 10, 64)
	if err != nil || seq == 0 {
		return event.Meta{}, 0, &RefError{Ref: ref}
	}
	s, err := m.Find(ctx, ref[:at])
	if err != nil {
		return s, 0, err
	}
	if event.Seq(seq) > s.Last {
		return s, 0, &RefError{Ref: ref, Session: s.ID, Seq: event.Seq(seq), Last: s.Last}
	}
	return s, event.Seq(seq), nil
}
