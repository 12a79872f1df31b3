package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/reins-agent/reins/checkpoint"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/secret"
	"github.com/reins-agent/reins/session"
)

// stateDir returns the directory for sessions and checkpoints. It may not exist yet.
func stateDir(h Host) (home.Dir, error) { return h.machine().State() }

// openSessions returns the saved sessions. It creates nothing.
func openSessions(h Host) (*session.Manager, error) {
	dir, err := stateDir(h)
	if err != nil {
		return nil, err
	}
	store, err := dir.OpenSessions(func(id string) {
		notef(h, "waiting for commands of a killed run of session %s to end", id)
	})
	if err != nil {
		return nil, err
	}
	secrets := func(ctx context.Context, dir string) (*secret.Redactor, error) { return sessionSecrets(ctx, h, dir) }
	return &session.Manager{Store: store, Home: dir, Secrets: secrets}, nil
}

// chooseSession returns the session that the arguments name, or the last one of this directory.
// Errors suggest the command, which must accept an ID.
func chooseSession(ctx context.Context, h Host, sessions *session.Manager, args []string, command string) (event.Meta, error) {
	if len(args) > 0 {
		m, err := sessions.Find(ctx, args[0])
		return m, explain(err)
	}
	return latestSession(ctx, h, sessions, ".", command)
}

// latestSession returns the last session of a directory.
func latestSession(ctx context.Context, h Host, sessions *session.Manager, dir, command string) (event.Meta, error) {
	m, above, err := sessions.Nearest(ctx, dir)
	if err == nil && above {
		return event.Meta{}, usagef(
			"no session for this directory; for session %s of %s, run \"%s %s\"",
			m.ID, shortDir(h, m.Dir), command, m.ID,
		)
	}
	return m, explain(err)
}

// sessionToShow is chooseSession for commands that change nothing. They also accept the session of a
// parent directory.
func sessionToShow(ctx context.Context, h Host, sessions *session.Manager, args []string) (event.Meta, error) {
	if len(args) > 0 {
		m, err := sessions.Find(ctx, args[0])
		return m, explain(err)
	}
	m, above, err := sessions.Nearest(ctx, ".")
	if err == nil && above {
		notef(h, "no session for this directory; showing session %s of %s", m.ID, shortDir(h, m.Dir))
	}
	return m, explain(err)
}

// shortDir abbreviates the home directory in a path to ~.
func shortDir(h Host, dir string) string { return h.machine().Short(dir) }

// explain adds advice to an error about saved sessions. Mistakes in arguments become usage errors.
func explain(err error) error {
	var missing *session.NotFoundError
	var ref *session.RefError
	var state *session.StateError
	switch {
	case errors.As(err, &missing) && missing.Dir != "":
		return usagef("no session for this directory; run \"reins sessions list\" to list sessions")
	case errors.As(err, &missing) && !missing.Empty && len(missing.Near) == 0:
		return usagef("%w; run \"reins sessions list\" to list sessions", err)
	case errors.As(err, &ref) && ref.Session == "":
		return usagef("%w; \"reins sessions show ID --events\" lists record numbers", err)
	case errors.As(err, &state) && state.Prompt, errors.Is(err, checkpoint.ErrNotFound):
		return usagef("%w; run \"reins diff --list\" to list checkpoints", err)
	case errors.As(err, &state):
		return usagef("%w; run \"reins diff --list\" to list prompts", err)
	case missing != nil || ref != nil || isMistake(err):
		return usageError{err}
	}
	return err
}

// isMistake reports whether an error is about an argument that can never be right.
func isMistake(err error) bool {
	var ambiguous *session.AmbiguousError
	var dir *session.DirError
	var tag *session.TagError
	return errors.As(err, &ambiguous) || errors.As(err, &dir) || errors.As(err, &tag)
}

// explainOpen adds advice to an error of opening a session.
func explainOpen(id string, err error) error {
	var damage *event.CorruptError
	switch {
	case errors.As(err, &damage):
		return fmt.Errorf(
			"%w; run \"reins sessions verify\" for details, or \"reins sessions fork %s --damaged\" to copy what is readable",
			err,
			id,
		)
	case errors.Is(err, event.ErrLocked):
		return fmt.Errorf("session %s is open in another process; close it or try again later", id)
	}
	return explain(err)
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
