package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/event/filestore"
	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/internal/realpath"
	"github.com/reins-agent/reins/internal/suggest"
)

// stateDir returns the directory for sessions and checkpoints. It may not exist yet.
func stateDir(h Host) (home.Dir, error) {
	dir, err := home.Find(h.Getenv)
	if err != nil {
		return "", usageError{err}
	}
	return dir, nil
}

// openStore returns the session store. It creates nothing.
func openStore(h Host) (*filestore.Store, error) {
	dir, err := stateDir(h)
	if err != nil {
		return nil, err
	}
	return dir.OpenSessions(func(id string) {
		notef(h, "waiting for commands of a killed run of session %s to end", id)
	})
}

// latest stands for the session that was used last.
const latest = "latest"

// findSession finds a session by its ID or a unique prefix, ignoring case. "latest" is the last session
// used here, unless a session has that ID. If the session exists but cannot be read, the result has
// its ID in addition to the error.
func findSession(ctx context.Context, s event.Store, name string) (event.Meta, error) {
	m, err := s.Meta(ctx, name)
	if err == nil {
		return m, nil
	}
	if !errors.Is(err, event.ErrNotFound) && !errors.Is(err, event.ErrBadID) {
		return event.Meta{ID: name}, err
	}
	type candidate struct {
		meta event.Meta
		err  error
	}
	var all, matching []string
	var found candidate
	for m, err := range s.List(ctx) {
		if ctx.Err() != nil {
			return event.Meta{}, context.Cause(ctx)
		}
		if m.ID == "" {
			return event.Meta{}, err
		}
		all = append(all, m.ID)
		if event.FoldID(m.ID) == event.FoldID(name) {
			return m, err
		}
		if name != "" && strings.HasPrefix(event.FoldID(m.ID), event.FoldID(name)) {
			matching, found = append(matching, m.ID), candidate{m, err}
		}
	}
	switch {
	case name == latest:
		return lastUsed(ctx, s)
	case len(matching) == 1:
		return found.meta, found.err
	case len(matching) > 1:
		return event.Meta{}, ambiguous(name, matching)
	}
	return event.Meta{}, notFound(name, all)
}

func lastUsed(ctx context.Context, s event.Store) (event.Meta, error) {
	m, err := event.Latest(ctx, s, func(m event.Meta) bool { return !m.Foreign() && !unusedFork(m) })
	if errors.Is(err, event.ErrNotFound) {
		m, err = event.Latest(ctx, s, func(m event.Meta) bool { return !m.Foreign() })
	}
	if errors.Is(err, event.ErrNotFound) {
		return m, usagef("no saved sessions")
	}
	return m, err
}

// unusedFork reports whether a session is a fork that nobody has continued.
func unusedFork(m event.Meta) bool { return m.Parent != "" && m.Last <= m.ForkedAt }

func ambiguous(prefix string, ids []string) error {
	const maximum = 8
	more := ""
	if n := len(ids) - maximum; n > 0 {
		ids, more = ids[:maximum], fmt.Sprintf(" and %d more", n)
	}
	return usagef("session ID %q is ambiguous: it matches %s%s", prefix, strings.Join(ids, ", "), more)
}

func notFound(name string, all []string) error {
	if len(all) == 0 {
		return usagef("session %q not found: no saved sessions", name)
	}
	if near := nearIDs(name, all); len(near) > 0 {
		return usagef("session %q not found; did you mean %s?", name, strings.Join(near, " or "))
	}
	return usagef("session %q not found; run \"reins sessions list\" to list sessions", name)
}

// nearIDs returns up to three IDs that contain a name or start almost like it.
func nearIDs(name string, all []string) []string {
	name = event.FoldID(name)
	return suggest.Nearest(all, 3, func(id string) (int, bool) {
		head := event.FoldID(id)
		if len(name) >= 3 && strings.Contains(head, name) {
			return 0, true
		}
		wrong := suggest.Distance(name, head[:min(len(head), len(name))])
		return wrong, wrong <= min(2, len(name)/3)
	})
}

// findSessions finds the sessions with these names, without duplicates. It includes sessions that
// cannot be read; they have only an ID.
func findSessions(ctx context.Context, s event.Store, names []string) ([]event.Meta, error) {
	var found []event.Meta
	for _, name := range names {
		m, err := findSession(ctx, s, name)
		if err != nil && m.ID == "" {
			return nil, err
		}
		if !slices.ContainsFunc(found, func(f event.Meta) bool { return f.ID == m.ID }) {
			found = append(found, m)
		}
	}
	return found, nil
}

// findRecord finds the session and the record of a reference, which is ID or ID@SEQ. Without SEQ the
// record is 0.
func findRecord(ctx context.Context, s event.Store, ref string) (event.Meta, event.Seq, error) {
	at := strings.LastIndexByte(ref, '@')
	if at < 0 {
		m, err := findSession(ctx, s, ref)
		return m, 0, err
	}
	if m, err := s.Meta(ctx, ref); err == nil {
		return m, 0, nil // IDs may contain @
	}
	seq, err := strconv.ParseUint(ref[at+1:], 10, 64)
	if err != nil || seq == 0 {
		return event.Meta{}, 0, usagef("invalid reference %q: use ID or ID@SEQ; \"reins sessions show ID --events\" lists record numbers", ref)
	}
	m, err := findSession(ctx, s, ref[:at])
	if err != nil {
		return m, 0, err
	}
	if event.Seq(seq) > m.Last {
		return m, 0, usagef("session %s has no record %d; the last is %d", m.ID, seq, m.Last)
	}
	return m, event.Seq(seq), nil
}

// chooseSession returns the session that the arguments name, or the last one of this directory.
// Errors suggest the command, which must accept an ID.
func chooseSession(ctx context.Context, h Host, store event.Store, args []string, command string) (event.Meta, error) {
	if len(args) > 0 {
		return findSession(ctx, store, args[0])
	}
	return latestSession(ctx, h, store, ".", command)
}

// latestSession returns the last session of a directory.
func latestSession(ctx context.Context, h Host, store event.Store, dir, command string) (event.Meta, error) {
	m, above, err := nearestSession(ctx, store, dir)
	if err == nil && above {
		return event.Meta{}, usagef("no session for this directory; for session %s of %s, run \"%s %s\"", m.ID, shortDir(h, m.Dir), command, m.ID)
	}
	return m, err
}

// sessionToShow is chooseSession for commands that change nothing. They also accept the session of a
// parent directory.
func sessionToShow(ctx context.Context, h Host, store event.Store, args []string) (event.Meta, error) {
	if len(args) > 0 {
		return findSession(ctx, store, args[0])
	}
	m, above, err := nearestSession(ctx, store, ".")
	if err == nil && above {
		notef(h, "no session for this directory; showing session %s of %s", m.ID, shortDir(h, m.Dir))
	}
	return m, err
}

// nearestSession returns the last session of a directory, or else of the nearest parent directory that
// has one. It prefers sessions that are not unused forks. It skips sessions that cannot be read, and imported ones
// that were never continued, because their directory comes from the archive.
func nearestSession(ctx context.Context, store event.Store, dir string) (m event.Meta, above bool, err error) {
	real, err := realpath.Dir(dir)
	if err != nil {
		return event.Meta{}, false, usageError{err}
	}
	var nearest, fork event.Meta
	depth := 0
	for m, err := range store.List(ctx) {
		switch {
		case ctx.Err() != nil:
			return event.Meta{}, false, context.Cause(ctx)
		case err != nil && m.ID == "":
			return event.Meta{}, false, err
		case err != nil || m.Dir == "" || m.Foreign():
			continue
		}
		switch there, err := realpath.Dir(m.Dir); {
		case err != nil:
		case unusedFork(m):
			if there == real && fork.ID == "" {
				fork = m
			}
		case there == real:
			return m, false, nil
		case len(there) > depth && isBelow(real, there):
			nearest, depth = m, len(there)
		}
	}
	if fork.ID != "" {
		return fork, false, nil
	}
	if depth == 0 {
		return event.Meta{}, false, usagef("no session for this directory; run \"reins sessions list\" to list sessions")
	}
	return nearest, true, nil
}

// isBelow reports whether a directory is inside another. Both must be real paths.
func isBelow(dir, parent string) bool {
	rel, err := filepath.Rel(parent, dir)
	return err == nil && rel != "." && filepath.IsLocal(rel)
}

// sameDir reports whether a directory is the one with this real path.
func sameDir(dir, real string) bool {
	if dir == real {
		return true
	}
	d, err := realpath.Dir(dir)
	return err == nil && d == real
}

// shortDir abbreviates the home directory in a path to ~.
func shortDir(h Host, dir string) string {
	home := h.Getenv("HOME")
	if runtime.GOOS == "windows" {
		home = cmp.Or(h.Getenv("USERPROFILE"), home)
	}
	if home == "" {
		return dir
	}
	switch rel, err := filepath.Rel(home, dir); {
	case err != nil || !filepath.IsLocal(rel):
		return dir
	case rel == ".":
		return "~"
	default:
		return fmt.Sprintf("~%c%s", filepath.Separator, rel)
	}
}

// explainOpen adds advice to an error of opening a session.
func explainOpen(id string, err error) error {
	var damage *event.CorruptError
	switch {
	case errors.As(err, &damage):
		return fmt.Errorf("%w; run \"reins sessions verify\" for details, or \"reins sessions fork %s --damaged\" to copy what is readable", err, id)
	case errors.Is(err, event.ErrLocked):
		return fmt.Errorf("session %s is open in another process; close it or try again later", id)
	}
	return err
}

// explainExists adds advice to an error about the ID of a new session, which a flag sets.
func explainExists(id, flag string, err error) error {
	switch {
	case errors.Is(err, event.ErrExists):
		return usagef("session %s already exists; choose another ID with %s", id, flag)
	case errors.Is(err, event.ErrBadID):
		return usageError{err}
	}
	return err
}
