package agent

import (
	"fmt"
	"runtime/debug"
)

// panicError is a panic in a callback.
type panicError struct {
	who   string
	value any
	stack string
}

func (e *panicError) Error() string { return fmt.Sprintf("%s panicked: %v", e.who, e.value) }

// guarded calls f and turns a panic into an error.
func guarded(who string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{who, v, string(debug.Stack())}
		}
	}()
	return f()
}
