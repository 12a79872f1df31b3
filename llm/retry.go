package llm

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"time"
)

// RetryPolicy retries calls that failed temporarily, and emits a [Retry] event for each retry. Nothing else
// in Reins retries calls. The limits are per call.
type RetryPolicy struct {
	Retries int           // maximum retries; 0 means 2, a negative value none
	Base    time.Duration // delay before the first retry, doubled each time; 0 means 1 s
	Cap     time.Duration // maximum delay; 0 means 60 s
	Budget  time.Duration // maximum sum of a call's delays; 0 means no limit
	// Loading is how long a call waits for a server that is still loading the model; 0 means 15 min, a negative value
	// not at all. These retries do not count towards Retries.
	Loading time.Duration
	// Restart also retries after content has reached the consumer. The event then has Discard set. Without
	// Restart, such an error is final.
	Restart bool
	Jitter  func() float64 // returns a number in [0,1) to vary the delays; nil means random
}

// SessionRetries returns the policy for long sessions: ten retries with default delays, about five minutes in all, and
// a restart for interrupted answers. Stream consumers must obey Retry.Discard; [Client.Complete] does.
func SessionRetries() RetryPolicy { return RetryPolicy{Retries: 10, Restart: true} }

// IsZero reports whether no field is set.
func (p RetryPolicy) IsZero() bool {
	return p.Retries == 0 && p.Base == 0 && p.Cap == 0 && p.Budget == 0 && p.Loading == 0 && !p.Restart && p.Jitter == nil
}

// Middleware returns client middleware that applies the policy.
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
		p.Retries, p.Loading = 0, cmp.Or(p.Loading, -1)
	}
	if p.Base == 0 {
		p.Base = time.Second
	}
	if p.Cap == 0 {
		p.Cap = time.Minute
	}
	if p.Loading == 0 {
		p.Loading = 15 * time.Minute
	}
	if p.Jitter == nil {
		p.Jitter = rand.Float64
	}
	return p
}

func (p RetryPolicy) run(ctx context.Context, r *Request, next StreamFunc, yield func(StreamEvent, error) bool) {
	var waited, loading time.Duration
	loads := 0 // attempts while the server was loading
	for attempt := 1; ; attempt++ {
		content, err := relay(next(ctx, r), yield)
		if err == nil {
			return
		}
		delay, again := p.next(attempt-loads, err)
		most := p.Retries + 1 + loads
		if r.Attempts > 0 {
			again = again && attempt-loads < r.Attempts && delay <= maxHurriedDelay && KindOf(err) != ErrTimeout
			most = min(most, r.Attempts+loads)
		}
		if KindOf(err) == ErrLoading {
			delay = min(max(time.Second, loading), 5*time.Second)
			loading += delay
			loads++
			again, most = loading <= p.Loading, 0
		}
		if !again || ctx.Err() != nil || (content && !p.Restart) || (p.Budget > 0 && waited+delay > p.Budget) {
			yield(nil, err)
			return
		}
		if !yield(Retry{
			Attempt: attempt + 1,
			Max:     most,
			Delay:   delay,
			Discard: content,
			Err:     err,
		}, nil) {
			return
		}
		if !wait(ctx, delay) {
			yield(
				nil,
				&Error{Kind: ErrCancelled, Message: "cancelled while waiting to retry", Err: errors.Join(context.Cause(ctx), err), UsageComplete: true},
			)
			return
		}
		waited += delay
	}
}

// maxHurriedDelay is the maximum delay for a call with Request.Attempts.
const maxHurriedDelay = 10 * time.Second

// relay forwards a stream to its consumer, except for the error, which it returns. It also reports whether content was
// forwarded. If the consumer stops, the error is nil.
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

// next returns the delay before the next attempt, and whether to make it. If the provider asks for a delay above the
// cap, it reports false: the caller must decide.
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
