package llm

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"time"
)

// RetryPolicy repeats calls that failed in a way that may pass. It is the one place where calls
// are retried; every retry is announced by a [Retry] event. The limits are for the failures of one
// call: a call that succeeds leaves the next one all of its retries.
type RetryPolicy struct {
	Retries int           // after the first attempt; 0 is 2, negative is none
	Base    time.Duration // the wait before the first retry, doubled each time; 0 is 1 s
	Cap     time.Duration // the longest wait; 0 is 60 s
	// Budget limits the waiting of one call altogether; 0 is no limit.
	Budget time.Duration
	// Restart also retries after content has reached the consumer, who is told to discard it by
	// Retry.Discard. Without it such a failure is final.
	Restart bool
	// Jitter gives a number in [0,1) to spread the waits; nil is random.
	Jitter func() float64
}

// SessionRetries returns the policy for work that should survive a bad hour of its provider: ten
// retries with the default waits, about five minutes in all, and a new start for an answer that was
// cut off. Consumers of the stream must obey Retry.Discard; those of [Client.Complete] need not care.
func SessionRetries() RetryPolicy { return RetryPolicy{Retries: 10, Restart: true} }

// IsZero reports whether nothing is set.
func (p RetryPolicy) IsZero() bool {
	return p.Retries == 0 && p.Base == 0 && p.Cap == 0 && p.Budget == 0 && !p.Restart && p.Jitter == nil
}

// Middleware is the policy as middleware for a client.
func (p RetryPolicy) Middleware() Middleware {
	p = p.withDefaults()
	return func(next StreamFunc) StreamFunc {
		return func(ctx context.Context, r *Request) iter.Seq2[StreamEvent, error] {
			return func(yield func(StreamEvent, error) bool) { p.run(ctx, r, next, yield) }
		}
	}
}

func (p RetryPolicy) withDefaults() RetryPolicy {
	switch {
	case p.Retries == 0:
		p.Retries = 2
	case p.Retries < 0:
		p.Retries = 0
	}
	if p.Base == 0 {
		p.Base = time.Second
	}
	if p.Cap == 0 {
		p.Cap = time.Minute
	}
	if p.Jitter == nil {
		p.Jitter = rand.Float64
	}
	return p
}

func (p RetryPolicy) run(ctx context.Context, r *Request, next StreamFunc, yield func(StreamEvent, error) bool) {
	var waited time.Duration
	for attempt := 1; ; attempt++ {
		content, err := relay(next(ctx, r), yield)
		if err == nil {
			return
		}
		delay, again := p.next(attempt, err)
		if !again || ctx.Err() != nil || (content && !p.Restart) || (p.Budget > 0 && waited+delay > p.Budget) {
			yield(nil, err)
			return
		}
		if !yield(Retry{Attempt: attempt + 1, Max: p.Retries + 1, Delay: delay, Discard: content, Err: err}, nil) {
			return
		}
		if !wait(ctx, delay) {
			yield(nil, &Error{Kind: ErrCancelled, Message: "cancelled while waiting to retry", Err: errors.Join(context.Cause(ctx), err), UsageComplete: true})
			return
		}
		waited += delay
	}
}

// relay passes a stream on to its consumer. It returns the error that ended the stream instead of
// passing that on, and whether any content reached the consumer before it. A consumer that has
// had enough ends the stream without an error.
func relay(stream iter.Seq2[StreamEvent, error], yield func(StreamEvent, error) bool) (content bool, _ error) {
	for ev, err := range stream {
		if err != nil {
			return content, err
		}
		switch ev.(type) {
		case Start, Raw, Retry:
		default:
			content = true
		}
		if !yield(ev, nil) {
			return content, nil
		}
	}
	return content, nil
}

// next says how long to wait before another attempt, and whether there is one. A wait that the
// provider asks for is honoured up to the cap; a longer one is the caller's to decide on.
func (p RetryPolicy) next(attempt int, err error) (time.Duration, bool) {
	var e *Error
	if !errors.As(err, &e) || !e.Retryable() || attempt > p.Retries || e.RetryAfter > p.Cap {
		return 0, false
	}
	if e.RetryAfter > 0 {
		return e.RetryAfter, true
	}
	delay := min(p.Base, p.Cap)
	for range attempt - 1 {
		delay = min(2*delay, p.Cap)
	}
	return delay/2 + time.Duration(p.Jitter()*float64(delay/2)), true
}

func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
