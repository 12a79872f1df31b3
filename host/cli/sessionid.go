package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/host/show"
)

// latest stands for the session that was written last.
const latest = "latest"

// findSession finds a session by its id, or by the beginning of one, whatever its case; "latest" is
// the last one, unless that is an id. Of a session that is there but cannot be read it gives the id
// beside the error.
func findSession(ctx context.Context, s event.Store, name string) (event.Meta, error) {
	m, err := s.Meta(ctx, name)
	if err == nil {
		return m, nil
	}
	if !errors.Is(err, event.ErrNotFound) && !errors.Is(err, event.ErrBadID) {
		return event.Meta{ID: name}, err
	}
	var all []string
	var found []candidate
	for m, err := range s.List(ctx) {
		if ctx.Err() != nil {
			return event.Meta{}, context.Cause(ctx)
		}
		if m.ID == "" {
			return event.Meta{}, err // there is nothing to look at
		}
		all = append(all, m.ID)
		if event.FoldID(m.ID) == event.FoldID(name) {
			return m, err
		}
		if name != "" && strings.HasPrefix(event.FoldID(m.ID), event.FoldID(name)) {
			found = append(found, candidate{m, err})
		}
	}
	if name == latest {
		return latestOfAll(ctx, s)
	}
	switch len(found) {
	case 1:
		return found[0].meta, found[0].err
	case 0:
		return event.Meta{}, unknownSession(name, all)
	}
	return event.Meta{}, ambiguous(name, found)
}

func latestOfAll(ctx context.Context, s event.Store) (event.Meta, error) {
	m, err := event.Latest(ctx, s, nil)
	if errors.Is(err, event.ErrNotFound) {
		return m, usagef("there are no sessions yet")
	}
	return m, err
}

// candidate is a session that may be meant.
type candidate struct {
	meta event.Meta
	err  error // why nothing is known about it
}

func ambiguous(name string, found []candidate) error {
	const most = 8
	var ids []string
	for _, c := range found[:min(len(found), most)] {
		ids = append(ids, c.meta.ID)
	}
	more := ""
	if n := len(found) - most; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return usagef("%q may be any of %s: %s%s; give more of the id", name, show.Plural(len(found), "session"), strings.Join(ids, ", "), more)
}

// unknownSession says that there is no such session, and which ones may have been meant.
func unknownSession(name string, all []string) error {
	if len(all) == 0 {
		return usagef("there is no session %q; there are none at all", name)
	}
	if near := nearIDs(name, all); len(near) > 0 {
		return usagef("there is no session %q; did you mean %s?", name, strings.Join(near, " or "))
	}
	return usagef("there is no session %q; \"reins sessions list\" shows them", name)
}

// nearIDs are the ids, at most three, that begin almost like a name or have it in them.
func nearIDs(name string, all []string) []string {
	type near struct {
		id    string
		wrong int
	}
	var found []near
	folded := event.FoldID(name)
	for _, id := range all {
		head := event.FoldID(id)
		if len(folded) >= 3 && strings.Contains(head, folded) {
			found = append(found, near{id, 0})
			continue
		}
		if len(head) > len(folded) {
			head = head[:len(folded)]
		}
		if wrong := distance(folded, head); wrong <= min(2, len(folded)/3) {
			found = append(found, near{id, wrong})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return cmp.Compare(a.wrong, b.wrong) })
	var ids []string
	for _, n := range found[:min(len(found), 3)] {
		ids = append(ids, n.id)
	}
	return ids
}

// distance returns how many bytes have to be changed, added, removed or swapped with their neighbour to
// make one text of another.
func distance(a, b string) int {
	above, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			change := row[j]
			if a[i] != b[j] {
				change++
			}
			next[j+1] = min(change, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], above[j-1]+1)
			}
		}
		above, row = row, next
	}
	return row[len(b)]
}

// findPoint finds a session and a record in it from ID or ID@SEQ. Without a record it is 0.
func findPoint(ctx context.Context, s event.Store, point string) (event.Meta, event.Seq, error) {
	at := strings.LastIndexByte(point, '@')
	if at < 0 {
		m, err := findSession(ctx, s, point)
		return m, 0, err
	}
	if m, err := s.Meta(ctx, point); err == nil {
		return m, 0, nil // ids may have an @ in them
	}
	seq, err := strconv.ParseUint(point[at+1:], 10, 64)
	if err != nil || seq == 0 {
		return event.Meta{}, 0, usagef("invalid reference %q: use ID or ID@SEQ, where SEQ is the number of a record (\"reins sessions show ID --events\" lists them)", point)
	}
	m, err := findSession(ctx, s, point[:at])
	if err != nil {
		return m, 0, err
	}
	if event.Seq(seq) > m.Last {
		return m, 0, usagef("session %s has no record %d; its last one is %d", m.ID, seq, m.Last)
	}
	return m, event.Seq(seq), nil
}
