package coding

import (
	"context"
	"time"

	"github.com/reins-agent/reins/tool"
)

// fileTimeout bounds the reading of one file.
const fileTimeout = 30 * time.Second

var errStuck = &tool.Error{Code: tool.IOError, Message: "The file system did not answer in time. A file there may be one that waits for data, such as a log of the kernel; look at it with a command and a timeout."}

// within runs f, but does not wait for it once ctx has ended or the limit has passed. Some reads
// cannot be interrupted: of a file that the kernel fills, or on a network that is gone. They must
// not keep the call.
func within[T any](ctx context.Context, limit time.Duration, f func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errStuck)
	defer cancel()
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		v, err := f(ctx)
		done <- outcome{v, err}
	}()
	select {
	case o := <-done:
		if o.err == nil || ctx.Err() == nil {
			return o.value, o.err
		}
	case <-ctx.Done():
	}
	var none T
	return none, context.Cause(ctx)
}
