package agent

import (
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/event"
)

// lease has the environment, if it ends the commands of a killed host, keep the session from being
// opened until it has. Then nothing of the killed work happens after a resume.
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
