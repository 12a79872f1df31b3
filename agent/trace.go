package agent

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/tool"
)

// traced is what a call wrote. Middleware may run the tool several times.
type traced struct {
	mu       sync.Mutex
	wrote    []tool.Wrote
	untraced tool.Untraced
}

type tracedKey struct{}

// tracing returns the innermost middleware, which records what a call writes.
func (s *Session) tracing(tools *tool.Registry) tool.Middleware {
	tracer, ok := s.config.Checkpoints.(Tracer)
	return func(ctx context.Context, c tool.Call, next func(context.Context) (tool.Result, error)) (res tool.Result, err error) {
		sum, _ := ctx.Value(tracedKey{}).(*traced)
		if spec, known := tools.Spec(c.Name); !ok || sum == nil || known && !changes(spec) {
			return next(ctx)
		}
		end := tracer.Trace(ctx, c)
		defer func() { // also if the tool panics
			sum.add(end(context.WithoutCancel(ctx), res))
		}()
		return next(ctx)
	}
}

func (t *traced) add(wrote []tool.Wrote, why tool.Untraced) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wrote = append(t.wrote, wrote...)
	t.untraced = cmp.Or(why, t.untraced)
}

// claim adds what a call wrote to its result.
func (t *traced) claim(a *tool.Artifacts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a.Wrote, a.Untraced = t.wrote, t.untraced
}

// recorded returns a record's time.
func (s *Session) recorded(seq event.Seq) time.Time {
	for _, r := range s.log.Records(seq - 1) {
		if r.Seq == seq {
			return r.Time
		}
	}
	return time.Time{}
}
