package mcp

import (
	"context"
	"time"
)

const (
	burst     = 10_000 // messages that are handled at once
	perSecond = 1000   // messages that are handled per second after that
	slowdown  = 10 * time.Millisecond
)

// rate limits messages from a server, because the SDK queues them without limit. No useful server should reach the
// limit.
type rate struct {
	left    int
	last    time.Time
	refused int
}

func newRate() *rate { return &rate{left: burst, last: time.Now()} }

// allow reports whether another message may be handled. It sometimes pauses before it refuses one, so that a flood of
// messages takes little processor time.
func (r *rate) allow(ctx context.Context) bool {
	if r.left <= 0 {
		if n := int(time.Since(r.last).Seconds() * perSecond); n > 0 {
			r.left, r.last = min(burst, n), time.Now()
		}
	}
	if r.left > 0 {
		r.left--
		return true
	}
	if r.refused++; r.refused%100 == 0 {
		r.pause(ctx)
	}
	return false
}

// wait waits until another message may be handled.
func (r *rate) wait(ctx context.Context) {
	for !r.allow(ctx) && ctx.Err() == nil {
		r.pause(ctx)
	}
}

func (r *rate) pause(ctx context.Context) {
	select {
	case <-time.After(slowdown):
	case <-ctx.Done():
	}
}
