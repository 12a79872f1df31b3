package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/hook"
)

// work is the work on an input.
type work struct {
	cancel context.CancelCauseFunc
	over   chan struct{} // closed at the end
	asked  map[string]bool
	halted string // why a hook stops the work
}

// ErrInterrupted is the cause when Interrupt interrupts work.
var ErrInterrupted = errors.New("interrupted by the host")

// begin starts the caller's work.
func (s *Session) begin(ctx context.Context) (context.Context, error) {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	switch {
	case s.closing:
		return nil, ErrClosed
	case s.work != nil:
		return nil, ErrBusy
	}
	ctx, cancel := context.WithCancelCause(ctx)
	s.work = &work{cancel: cancel, over: make(chan struct{}), asked: make(map[string]bool)}
	s.failure, s.shrinking = nil, false
	return ctx, nil
}

// commit calls f, unless the session is closing, and returns when what it recorded is saved.
func (s *Session) commit(f func() error) error {
	s.tree.mu.Lock()
	err := ErrClosed
	if !s.closing {
		err = f()
	}
	s.tree.mu.Unlock()
	if err != nil {
		return err
	}
	return s.log.Sync()
}

// leave ends the caller's work; tree.mu is held.
func (s *Session) leave(out Outcome, err error) {
	if s.parent != nil {
		s.finish(out, err)
	}
	s.work.cancel(nil)
	close(s.work.over)
	s.work = nil
	s.applyChanges()
}

func fatal(err error) bool { return err != nil && asEvent(err).Fatal() }

// release ends the caller's work if proceed has not: after a fatal error, while the session is closing, or after a
// panic.
func (s *Session) release(out Outcome, err error) {
	if fatal(err) {
		s.tree.mu.Lock()
		s.closing = true
		s.tree.mu.Unlock()
		s.shutdown("error: " + err.Error())
	}
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	if s.work != nil {
		s.leave(out, err)
	}
}

// Interrupt interrupts the current work, if any, as cancelling its context does, and returns when it has stopped. The
// session can be continued. Interrupt must not be called from a tool, a hook or another callback.
func (s *Session) Interrupt() {
	s.tree.mu.Lock()
	work := s.work
	s.tree.mu.Unlock()
	if work != nil {
		work.cancel(ErrInterrupted)
		<-work.over
	}
}

// Close ends the session: it cancels the model call, interrupts running tools and ends their processes, closes
// subagents, then everything in Config.Owned, then the log, and returns when all this is done. Tool calls that wait for
// approval still wait when the session is resumed. Close may be called at any time, more than once and concurrently,
// but not from a tool, a hook or another callback.
func (s *Session) Close() error {
	s.tree.mu.Lock()
	s.closing = true
	work := s.work
	s.tree.mu.Unlock()
	if work != nil {
		work.cancel(ErrClosed)
		<-work.over
	}
	return s.shutdown("closed")
}

// shutdown closes everything once; later callers wait for that.
func (s *Session) shutdown(reason string) error {
	s.ending.Do(func() {
		s.each(func(c *Session) { _ = c.Close() }) // a subagent owns nothing that could fail
		if s.depth > 0 {
			s.end(reason)
			return
		}
		if s.started {
			s.fire(context.Background(), hook.Input{Event: hook.SessionEnd, Reason: "other"})
		}
		s.tree.mu.Lock()
		s.tree.stopping = true
		s.tree.mu.Unlock()
		owned := s.closeOwned()
		s.tree.unwatch()
		s.tree.watches.Wait()
		s.end(reason)
		s.endErr = errors.Join(owned, s.log.Close())
	})
	return s.endErr
}

// end records the end of the session.
func (s *Session) end(reason string) {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	d := event.SessionEnd{Reason: reason, State: Closed}
	for _, q := range s.state.Queue() {
		d.Undelivered = append(d.Undelivered, q.Message)
	}
	s.closed = true
	s.note(d)
}

func (s *Session) closeOwned() (err error) {
	for _, c := range s.config.Owned {
		err = errors.Join(err, guarded("a closer", c.Close))
	}
	if err != nil {
		return fmt.Errorf("close session resources: %w", err)
	}
	return nil
}
