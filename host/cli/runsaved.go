package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/event/filestore"
)

// saved is where a run is saved, and what it goes on from.
type saved struct {
	store *filestore.Store // nil saves nothing
	meta  event.Meta       // of the session that is resumed; its ID is "" for a new one
	fresh bool             // it is a fork that was made for this run
}

func (s saved) resumes() bool { return s.meta.ID != "" }

// resumes reports whether the flags name a session to go on with.
func (o run) resumes() bool { return o.resume != "" || o.continueLast || o.fork != "" }

// checkSaved refuses flags that contradict each other.
func (o run) checkSaved() error {
	ways := 0
	for _, given := range []bool{o.resume != "", o.continueLast, o.fork != ""} {
		if given {
			ways++
		}
	}
	switch {
	case ways > 1:
		return usagef("--resume, --continue and --fork exclude each other")
	case ways > 0 && o.noSave:
		return usagef("--no-save cannot be combined with --resume, --continue or --fork")
	case o.id != "" && (o.resume != "" || o.continueLast):
		return usagef("--session-id names a new session; leave it out to go on with one")
	}
	return nil
}

// place finds out where the run is saved and which session it goes on with. Forking makes the fork.
// The command is what would take an ID instead.
func (o run) place(ctx context.Context, h Host, dir, command string) (saved, error) {
	if o.noSave {
		return saved{}, nil
	}
	store, err := openStore(h)
	if errors.Is(err, coding.ErrNoStateDir) && !o.resumes() {
		return saved{}, usagef("%w, or use --no-save", err)
	}
	if err != nil {
		return saved{}, err
	}
	s := saved{store: store}
	switch {
	case o.resume != "":
		s.meta, err = findSession(ctx, store, o.resume)
	case o.continueLast:
		s.meta, err = o.lastSession(ctx, h, store, dir, command)
	case o.fork != "":
		s.meta, err = o.forked(ctx, store)
		s.fresh = err == nil
	}
	return s, err
}

// lastSession returns the last session of a directory. A run may as well continue one of a directory
// above, where it then works; other commands only name it.
func (o run) lastSession(ctx context.Context, h Host, store event.Store, dir, command string) (event.Meta, error) {
	if o.dir != "" || command != runCommand {
		return latestSession(ctx, h, store, dir, command)
	}
	m, above, err := nearestSession(ctx, store, dir)
	if err == nil && above {
		aside(h, "continuing session %s of %s", m.ID, shortDir(h, m.Dir))
	}
	return m, err
}

// discard removes a fork that nothing was done with, because the run could not begin.
func (s saved) discard(ctx context.Context) error {
	if !s.fresh {
		return nil
	}
	return s.store.Delete(context.WithoutCancel(ctx), s.meta.ID)
}

// forked makes the session that is a copy of another.
func (o run) forked(ctx context.Context, store event.Store) (event.Meta, error) {
	from, at, err := findPoint(ctx, store, o.fork)
	if err != nil {
		return event.Meta{}, err
	}
	id, fork := cmp.Or(o.id, rand.Text()), event.Fork
	if o.skipDamaged {
		fork = event.Salvage
	}
	m, err := fork(ctx, store, from.ID, at, event.Meta{ID: id})
	return m, explain(id, whyNotResumed(from.ID, err))
}

// dir is the directory to work in: the one given, or else that of the session.
func (s saved) dir(given string) (string, error) {
	if given != "" || s.meta.Dir == "" {
		return given, nil
	}
	if _, err := os.Stat(s.meta.Dir); errors.Is(err, os.ErrNotExist) {
		return "", usagef("the directory of session %s is gone: %s; name another one with --cwd", s.meta.ID, s.meta.Dir)
	}
	return s.meta.Dir, nil
}

// whyNotResumed says what to do if a session cannot be resumed.
func whyNotResumed(id string, err error) error {
	var damage *event.CorruptError
	switch {
	case errors.As(err, &damage):
		return usagef("%w; \"reins sessions verify\" tells more, and --skip-damaged goes on without what cannot be read", err)
	case errors.Is(err, event.ErrLocked):
		return fmt.Errorf("session %s is open elsewhere: end that first, or continue a copy with --fork", id)
	}
	return err
}

// notSavable says what to do if the place for sessions cannot be written.
func notSavable(err error) error {
	var bad *os.PathError
	if errors.As(err, &bad) {
		return usagef("%w; use --no-save to work without saving, or set REINS_HOME to another directory", err)
	}
	return err
}
