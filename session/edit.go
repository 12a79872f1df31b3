package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/hidden"
)

// Rename sets a session's title, on one line, or clears it with "".
func (m *Manager) Rename(ctx context.Context, name, title string) (event.Meta, error) {
	title = strings.Join(strings.Fields(title), " ")
	return m.edit(ctx, name, func(s *event.Meta) { s.Title = title })
}

// Tag adds tags to a session. A tag is one word without commas; otherwise the error is a *[TagError].
func (m *Manager) Tag(ctx context.Context, name string, tags ...string) (event.Meta, error) {
	for _, t := range tags {
		if !validTag(t) {
			return event.Meta{}, &TagError{t}
		}
	}
	return m.edit(ctx, name, func(s *event.Meta) {
		for _, t := range tags {
			if !slices.Contains(s.Tags, t) {
				s.Tags = append(s.Tags, t)
			}
		}
	})
}

// Untag removes tags from a session.
func (m *Manager) Untag(ctx context.Context, name string, tags ...string) (event.Meta, error) {
	return m.edit(ctx, name, func(s *event.Meta) {
		s.Tags = slices.DeleteFunc(s.Tags, func(t string) bool { return slices.Contains(tags, t) })
	})
}

// validTag reports whether a tag can be listed and typed.
func validTag(tag string) bool {
	bad := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r == ',' || r == '\uFEFF' }
	hides, _ := hidden.Index(tag, 0)
	return tag != "" && utf8.ValidString(tag) && hides < 0 && !strings.ContainsFunc(tag, bad)
}

// edit changes a session's description and returns it.
func (m *Manager) edit(ctx context.Context, name string, change func(*event.Meta)) (event.Meta, error) {
	s, err := m.Find(ctx, name)
	if err != nil {
		return s, err
	}
	w, err := m.Store.Open(ctx, s.ID)
	if err != nil {
		return s, err
	}
	s, err = m.Store.Meta(ctx, s.ID) // again, now that the session is locked
	if err == nil {
		change(&s)
		err = w.SetMeta(ctx, s)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		return s, err
	}
	return m.Store.Meta(ctx, s.ID)
}

// ForkOptions says what to copy.
type ForkOptions struct {
	From    string `json:"from"`              // a session, or SESSION@SEQ to copy only the records up to SEQ
	ID      string `json:"id,omitempty"`      // copy's ID; random if empty
	Title   string `json:"title,omitempty"`   // copy's title; the same if empty
	Damaged bool   `json:"damaged,omitempty"` // copy the readable part of a damaged session
}

// Fork copies a session. The session may be open. Its files are not copied: the copy works in the same directory.
//
// The error is an [*event.CorruptError] if the session is damaged, a *[RefError] if it has no such record, and wraps
// [event.ErrExists] or [event.ErrBadID] if the ID cannot be used.
func (m *Manager) Fork(ctx context.Context, o ForkOptions) (event.Meta, error) {
	from, at, err := m.findRecord(ctx, o.From)
	if err != nil {
		return event.Meta{}, err
	}
	to := event.Meta{ID: cmp.Or(o.ID, rand.Text()), Title: strings.Join(strings.Fields(o.Title), " ")}
	if o.Damaged {
		return event.Salvage(ctx, m.Store, from.ID, at, to)
	}
	return event.Fork(ctx, m.Store, from.ID, at, to)
}

// Delete removes a session permanently. It needs the whole ID. Checkpoints belong to the directory and stay.
func (m *Manager) Delete(ctx context.Context, id string) error { return m.Store.Delete(ctx, id) }
