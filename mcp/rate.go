package mcp

import (
	"context"
	"io"
	"time"
)

const (
	burst     = 10_000 // messages that are handled at once
	perSecond = 1000   // messages that are handled per second after that
)

// rate slows down a server that sends more messages than any useful one. The SDK queues messages without a limit, so
// they must not be read faster than they are handled.
type rate struct {
	left int
	last time.Time
}

func newRate() *rate { return &rate{burst, time.Now()} }

// wait waits until another message may be handled.
func (r *rate) wait(ctx context.Context, closed <-chan struct{}) error {
	for r.left <= 0 {
		now := time.Now()
		r.left = min(burst, int(now.Sub(r.last).Seconds()*perSecond))
		if r.left > 0 {
			r.last = now
			break
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-closed:
			return io.EOF
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r.left--
	return nil
}
