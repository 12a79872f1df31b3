package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	defaultTimeout = 2 * time.Minute
	// progressFactor times the timeout is the maximum duration for a call that reports progress.
	progressFactor = 10
	// After maxProgress reports, a call shows one per progressPause.
	maxProgress   = 100
	progressPause = time.Second
)

// errTimeout is the cause when a deadline cancels a context.
var errTimeout = errors.New("timeout")

// deadline cancels a request when the server has not reported progress for too long. Time that the server spends
// waiting for the host does not count.
type deadline struct {
	conn    *conn
	ctx     context.Context // request context
	token   string          // progress token
	timeout time.Duration
	output  func([]byte) // shows progress; may be nil
	cancel  context.CancelCauseFunc

	mu    sync.Mutex
	timer *time.Timer
	end   time.Time // the request is cancelled then despite progress
	shown int
	last  time.Time // last time that progress was shown
	over  bool
}

// begin returns the deadline for a new request.
func (c *conn) begin(ctx context.Context, output func([]byte)) *deadline {
	d := &deadline{conn: c, timeout: c.srv.Timeout, output: output, token: fmt.Sprintf("reins-%d", c.tokens.Add(1))}
	if d.timeout <= 0 {
		d.timeout = defaultTimeout
	}
	d.ctx, d.cancel = context.WithCancelCause(ctx)
	d.end = time.Now().Add(progressFactor * d.timeout)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.timer = time.AfterFunc(d.timeout, d.expire)
	c.calls.Add(1)
	c.progress.Store(d.token, d)
	return d
}

func (d *deadline) expire() {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.over:
	case d.conn.asking.Load() > 0:
		d.end = d.end.Add(d.timeout)
		d.timer.Reset(d.timeout)
	default:
		d.cancel(errTimeout)
	}
}

// progress extends the deadline, and shows the server's report.
func (d *deadline) progress(p *sdk.ProgressNotificationParams) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over {
		return
	}
	d.timer.Reset(max(0, min(d.timeout, time.Until(d.end))))
	if d.output == nil || d.shown >= maxProgress && time.Since(d.last) < progressPause {
		return
	}
	d.shown, d.last = d.shown+1, time.Now()
	line := fmt.Sprintf("%g", p.Progress)
	if p.Total > 0 {
		line += fmt.Sprintf("/%g", p.Total)
	}
	if p.Message != "" {
		line += " " + clip(p.Message)
	}
	d.output([]byte(line + "\n"))
}

// stop ends the request. Later progress is not shown.
func (d *deadline) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over = true
	d.timer.Stop()
	d.conn.calls.Add(-1)
	d.conn.progress.Delete(d.token)
	d.cancel(nil)
}
