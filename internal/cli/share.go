package cli

import (
	"sync"

	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/session/remote"
)

// shared is a session of this process that other processes of the user can reach.
type shared struct {
	*session.Local
	sharing chan struct{} // closed when owner and err are set
	owner   *remote.Owner // nil if it cannot be reached
	err     error
	close   func() error
}

// share makes a session reachable, in the background. A session that is not saved cannot be reached.
func share(s *session.Local, state home.Dir, saved bool) *shared {
	k := &shared{Local: s, sharing: make(chan struct{})}
	k.close = sync.OnceValue(k.end)
	if !saved {
		close(k.sharing)
		return k
	}
	go func() {
		defer close(k.sharing)
		k.owner, k.err = remote.Share(s, state)
	}()
	return k
}

// reachable waits until the session can be reached, and returns why it cannot.
func (k *shared) reachable() error {
	<-k.sharing
	return k.err
}

// Close ends the session. Clients see its last records.
func (k *shared) Close() error { return k.close() }

func (k *shared) end() error {
	<-k.sharing
	if k.owner == nil {
		return k.Local.Close()
	}
	return k.owner.Close()
}
