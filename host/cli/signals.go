package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// errInterrupted ends the work because of a signal.
var errInterrupted = errors.New("interrupted")

// watchSignals makes a context that the first interruption ends, so that the work can end in
// order. The second closes quit, for those who do not want to wait for that; the third is left to
// the system.
func watchSignals(parent context.Context) (ctx context.Context, quit <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	quitting, done := make(chan struct{}), make(chan struct{})
	go func() {
		for _, react := range []func(){func() { cancel(errInterrupted) }, func() { close(quitting) }} {
			select {
			case <-signals:
				react()
			case <-done:
				return
			}
		}
		signal.Stop(signals)
	}()
	return ctx, quitting, func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}

// surviveBrokenPipe keeps a reader of our output that goes away from killing us before we have
// cleaned up: writing to it fails, and that ends the work. It returns what undoes that.
func surviveBrokenPipe() (undo func()) {
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	return func() { signal.Stop(broken) }
}
