package remote

import (
	"context"
	"time"
)

// retry waits between attempts to reach a server.
type retry struct {
	client *client
	since  time.Time // the first of the failures in a row; zero without failures
	pause  time.Duration
}

func (c *client) retry() *retry { return &retry{client: c} }

// reached records that the server was reached.
func (r *retry) reached() { r.since, r.pause = time.Time{}, 0 }

// wait waits before the next attempt after a failure. It reports false if there should be none.
func (r *retry) wait(ctx context.Context, err error) bool {
	const (
		first, longest = 10 * time.Millisecond, time.Second
		succession     = 500 * time.Millisecond // until another process has opened the session
	)
	now := time.Now()
	if r.since.IsZero() {
		r.since, r.pause = now, first
		if f := r.client.config.Lost; f != nil && ctx.Err() == nil {
			f(err)
		}
	}
	patience := r.client.config.Patience
	if r.client.ended(err) {
		patience = min(patience, succession)
	}
	if now.Sub(r.since) >= patience {
		return false
	}
	timer := time.NewTimer(r.pause)
	defer timer.Stop()
	r.pause = min(2*r.pause, longest)
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
