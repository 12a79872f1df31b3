package remote

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	maxCalls   = 256              // that are remembered
	maxRunning = 64               // at once
	maxCallID  = 64               // bytes
	absence    = 10 * time.Second // after which a call ends whose client is gone
)

// errTooMany means that a client does too much at once.
var errTooMany = errors.New("too many requests at once")

// calls remembers the responses to requests, so that a repeated request changes nothing twice.
type calls struct {
	mu      sync.Mutex
	byID    map[string]*call
	done    []string // IDs, oldest first
	running int
}

// call is a request in progress, or its response.
type call struct {
	response []byte
	done     chan struct{} // closed when there is a response
	cancel   context.CancelFunc

	waiting int         // requests that wait for the response
	gone    *time.Timer // cancels the call when all have been away for some time
}

// do returns the response of f, or of the earlier call with the ID. The call continues for a while if ctx ends before it,
// so that the client can come back, and ends with within.
func (c *calls) do(ctx, within context.Context, id string, f func(context.Context) []byte) ([]byte, error) {
	k, err := c.join(within, id, f)
	if err != nil {
		return nil, err
	}
	defer c.leave(k)
	select {
	case <-k.done:
		return k.response, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (c *calls) join(within context.Context, id string, f func(context.Context) []byte) (*call, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.byID[id]
	switch {
	case id == "" || len(id) > maxCallID:
		return nil, errors.New("the request needs a short " + callID)
	case k == nil && c.running == maxRunning:
		return nil, errTooMany
	case k == nil:
		k = c.start(within, id, f)
	}
	k.waiting++
	if k.gone != nil {
		k.gone.Stop()
		k.gone = nil
	}
	return k, nil
}

// start starts a call; c.mu is held.
func (c *calls) start(within context.Context, id string, f func(context.Context) []byte) *call {
	ctx, cancel := context.WithCancel(within)
	k := &call{done: make(chan struct{}), cancel: cancel}
	if c.byID == nil {
		c.byID = make(map[string]*call)
	}
	c.byID[id] = k
	c.running++
	go func() {
		defer cancel()
		b := f(ctx)
		c.mu.Lock()
		defer c.mu.Unlock()
		k.response = b
		close(k.done)
		c.running--
		if c.done = append(c.done, id); len(c.done) > maxCalls {
			delete(c.byID, c.done[0])
			c.done = c.done[1:]
		}
	}()
	return k
}

func (c *calls) leave(k *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.waiting--; k.waiting == 0 && k.response == nil {
		k.gone = time.AfterFunc(absence, k.cancel)
	}
}
