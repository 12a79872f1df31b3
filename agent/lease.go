package agent

import (
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/event"
)

// lease keeps the session locked, after this process was killed, until the environment has ended its
// commands. Nothing of the killed work happens after a resume then.
func lease(w event.Writer, e env.Environment) error {
	l, ok := w.(event.Leaser)
	if !ok {
		return nil
	}
	for {
		if h, ok := e.(event.Holder); ok {
			return l.Lease(h)
		}
		wrapper, ok := e.(env.Wrapper)
		if !ok {
			return nil
		}
		e = wrapper.Unwrap()
	}
}
