package cli

import (
	"context"
	"path/filepath"

	"github.com/reins-agent/reins/event"
)

// chooseSession is the session that the arguments name, or the last one of this directory. The
// command is what would take an ID, if there is only a session further up.
func chooseSession(ctx context.Context, h Host, store event.Store, args []string, command string) (event.Meta, error) {
	if len(args) > 0 {
		return findSession(ctx, store, args[0])
	}
	return latestSession(ctx, h, store, ".", command)
}

// latestSession is the session that was written last in a directory.
func latestSession(ctx context.Context, h Host, store event.Store, dir, command string) (event.Meta, error) {
	m, above, err := nearestSession(ctx, store, dir)
	if err == nil && above {
		return event.Meta{}, usagef("no session for this directory; the last one of %s is %s: \"%s %s\"",
			shortDir(h, m.Dir), m.ID, command, m.ID)
	}
	return m, err
}

// sessionToShow is chooseSession for commands that only look: for them it may as well be the last
// session of a directory further up, which is said.
func sessionToShow(ctx context.Context, h Host, store event.Store, args []string) (event.Meta, error) {
	if len(args) > 0 {
		return findSession(ctx, store, args[0])
	}
	m, above, err := nearestSession(ctx, store, ".")
	if err == nil && above {
		aside(h, "no session for this directory; this is %s of %s", m.ID, shortDir(h, m.Dir))
	}
	return m, err
}

// nearestSession is the session that was written last in a directory, or else in the nearest one
// above it that has any. What cannot be described is passed over.
func nearestSession(ctx context.Context, store event.Store, dir string) (m event.Meta, above bool, err error) {
	real, err := realDir(dir)
	if err != nil {
		return event.Meta{}, false, usageError{err}
	}
	var nearest event.Meta
	depth := 0
	for m, err := range store.List(ctx) {
		switch {
		case ctx.Err() != nil:
			return event.Meta{}, false, context.Cause(ctx)
		case err != nil && m.ID == "":
			return event.Meta{}, false, err
		case err != nil || m.Dir == "":
			continue
		}
		switch there, err := realDir(m.Dir); {
		case err != nil:
		case there == real:
			return m, false, nil
		case len(there) > depth && isBelow(real, there):
			nearest, depth = m, len(there)
		}
	}
	if depth == 0 {
		return event.Meta{}, false, usagef("no session for this directory; \"reins sessions list\" shows those of others")
	}
	return nearest, true, nil
}

// isBelow reports whether a directory is in another, both as they really are.
func isBelow(dir, above string) bool {
	rel, err := filepath.Rel(above, dir)
	return err == nil && rel != "." && filepath.IsLocal(rel)
}

func sameDir(dir, real string) bool {
	if dir == real {
		return true
	}
	d, err := realDir(dir)
	return err == nil && d == real
}
