package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reins-agent/reins/llm"
)

func withDefaults(l llm.Limits) llm.Limits {
	const never = time.Duration(1<<62 - 1)
	l.Connect = standard(l.Connect, 30*time.Second, never)
	l.FirstByte = standard(l.FirstByte, 5*time.Minute, never)
	l.Unary = standard(l.Unary, 15*time.Minute, never)
	l.Idle = standard(l.Idle, 2*time.Minute, never)
	l.Call = standard(l.Call, time.Hour, never)
	l.MaxEvent = standard(l.MaxEvent, 8<<20, math.MaxInt/2)
	l.MaxTotal = standard(l.MaxTotal, 8<<20, math.MaxInt/2)
	return l
}

func standard[T int | time.Duration](v, otherwise, unlimited T) T {
	switch {
	case v == 0:
		return otherwise
	case v < 0:
		return unlimited
	}
	return v
}

// watch cancels a call that exceeds a time limit. All phases share one timer.
type watch struct {
	ctx    context.Context
	parent context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	whole  *time.Timer // for the whole call
	mu     sync.Mutex  // for entering a phase
	phase  atomic.Pointer[phase]
	dial   *phase
	first  *phase
	idle   *phase
	reused atomic.Bool // the connection was used before
}

type phase struct {
	limit time.Duration
	what  string
}

func newWatch(parent context.Context, l llm.Limits, stream bool) *watch {
	w := &watch{parent: parent, idle: &phase{l.Idle, "no data arrived for %v"}}
	w.first = &phase{l.FirstByte, "no response within %v"}
	if !stream {
		w.first = &phase{l.Unary, "no response within %v"}
	}
	w.dial = &phase{l.Connect, "no connection within %v"}
	ctx, cancel := context.WithCancelCause(parent)
	w.cancel = cancel
	w.phase.Store(w.dial)
	w.timer = time.AfterFunc(w.dial.limit, func() {
		p := w.phase.Load()
		cancel(&llm.Error{Kind: llm.ErrTimeout, Message: fmt.Sprintf(p.what, p.limit)})
	})
	w.whole = time.AfterFunc(l.Call, func() {
		cancel(&llm.Error{Kind: llm.ErrTimeout, Final: true, Message: fmt.Sprintf("the response was not complete within %v", l.Call)})
	})
	w.ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(c httptrace.GotConnInfo) {
			w.reused.Store(c.Reused)
			w.enter(w.first)
		},
		WroteRequest: func(httptrace.WroteRequestInfo) { w.enter(w.first) },
	})
	return w
}

// enter begins a phase. It never leaves the last one, because the transport may report that a request was
// written while its answer is already being read.
func (w *watch) enter(p *phase) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p != w.idle && w.phase.Load() == w.idle {
		return
	}
	w.phase.Store(p)
	w.timer.Reset(p.limit)
}

// connected reports whether there was a connection: something may have been sent.
func (w *watch) connected() bool { return w.phase.Load() != w.dial }

func (w *watch) stop() {
	w.timer.Stop()
	w.whole.Stop()
	w.cancel(nil)
}

// cause returns why the call was cancelled, or nil if it was not.
func (w *watch) cause() error {
	if err := w.parent.Err(); err != nil {
		kind := llm.ErrCancelled
		if errors.Is(err, context.DeadlineExceeded) {
			kind = llm.ErrTimeout
		}
		cause := context.Cause(w.parent)
		return &llm.Error{Kind: kind, Message: cause.Error(), Err: cause}
	}
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	return nil
}

// reader returns r with the idle limit. Every read resets the timer.
func (w *watch) reader(r io.Reader) io.Reader {
	w.enter(w.idle)
	return &watched{r, w}
}

// drain reads the remaining body after a complete answer, so that the connection can be reused. It does not wait long,
// because a new connection costs less.
func (w *watch) drain(body io.Reader) {
	w.timer.Reset(50 * time.Millisecond)
	_, _ = io.CopyN(io.Discard, body, 64<<10)
}

type watched struct {
	r io.Reader
	w *watch
}

func (r *watched) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	r.w.timer.Reset(r.w.idle.limit)
	return n, err
}
