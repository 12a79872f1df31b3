package session

import (
	"context"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/secret"
)

// Manager works with saved sessions. Its methods may be called concurrently, also while sessions are running. Methods
// that change a session return an error that wraps [event.ErrLocked] if it is open, in this process or another.
//
// Where an argument names a session, it is an ID, a unique prefix of one, in upper or lower case, or [Latest].
type Manager struct {
	// Store holds the sessions. Export, Import and Verify need a *filestore.Store.
	Store event.Store

	// Home is the state directory with the checkpoints. Diff, Undo, Redo, Restore and VerifyCheckpoints need it.
	Home home.Dir

	// Secrets returns what [Manager.Export] redacts in a session of a directory. It is called with "" if the session
	// has no directory. Nil means known formats of secrets only.
	Secrets func(ctx context.Context, dir string) (*secret.Redactor, error)
}
