package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// work is an input that is being worked on.
type work struct {
	cancel context.CancelCauseFunc
	over   chan struct{} // closed when the session does nothing any more
	before State         // of the session
}

// begin makes the caller the one who works.
func (s *Session) begin(ctx context.Context) (context.Context, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closing:
		return nil, ErrClosed
	case s.work != nil:
		return nil, ErrBusy
	}
	ctx, cancel := context.WithCancelCause(ctx)
	s.work = &work{cancel, make(chan struct{}), s.state}
	s.state = Processing
	s.tree.enter()
	return ctx, nil
}

// proceed ends the work on one input: either there is more to work on, which it returns, or the
// session is left in the state that follows from the outcome. It is one step, so that no message
// that comes at this moment is left lying.
func (s *Session) proceed(out Outcome, err error) (next llm.Message, followUp, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := stateAfter(out, err)
	if out.Status == StatusDone && err == nil && !s.closing {
		if next, followUp, more = s.waiting(); more {
			state = Processing
		}
	}
	if s.closing {
		state = Closed
	}
	s.record(event.ProcessingEnd{Outcome: string(out.Status), State: string(state), Rounds: out.Rounds, Question: out.Question})
	if !more && state != Closed {
		s.leave(state)
	}
	return next, followUp, more
}

// leave ends the caller's work; s.mu is held.
func (s *Session) leave(state State) {
	s.state = state
	s.work.cancel(nil)
	close(s.work.over)
	s.work = nil
	s.tree.exit()
}

// stateAfter is the state that an outcome leads to.
func stateAfter(out Outcome, err error) State {
	switch {
	case fatal(err):
		return Closed
	case out.Status == StatusAwaitingInput, out.Status == StatusDone && out.Question != "":
		return AwaitingInput
	}
	return Idle
}

// fatal reports whether an error ends the session: calling again cannot help.
func fatal(err error) bool {
	if err == nil {
		return false
	}
	switch llm.KindOf(err) {
	case llm.ErrAuthentication, llm.ErrAccessDenied, llm.ErrContextLength:
		return true
	}
	var save *SaveError
	return errors.As(err, &save)
}

// release ends the caller's work if proceed has not: after an error that ends the session, while it
// is being closed, or if something in it panicked.
func (s *Session) release(err error) {
	if fatal(err) {
		s.mu.Lock()
		s.closing = true
		s.mu.Unlock()
		s.shutdown("error: " + err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.work == nil {
		return
	}
	state := Idle
	if s.closing {
		state = s.state // shutdown says when it is closed
	}
	s.leave(state)
}

// withdraw ends the caller's work when it was not on an input: what the session waited for before it
// waits for again.
func (s *Session) withdraw(err error) {
	if fatal(err) {
		s.release(err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave(s.work.before)
}

// Close ends the session. The model call at hand is cancelled, running tools are interrupted and
// their processes ended, subagents closed; then the log comes to its end, and Close returns when
// all of this is over. It may be called at any time, also more than once and by several at a time,
// but not from inside a tool, a hook or whatever else the session itself calls: it would wait for
// itself. What Config.Owned lists is closed too; its errors are Close's.
func (s *Session) Close() error {
	s.mu.Lock()
	s.closing = true
	work := s.work
	s.mu.Unlock()
	if work != nil {
		work.cancel(ErrClosed)
		<-work.over
	}
	return s.shutdown("closed")
}

// shutdown closes what the session holds, once; whoever comes later waits for that.
func (s *Session) shutdown(reason string) error {
	s.ending.Do(func() {
		s.agents.close()
		owned := s.closeOwned()
		s.end(reason)
		if s.depth == 0 {
			s.endErr = errors.Join(owned, s.log.Close())
		}
	})
	return s.endErr
}

// end records the end of the session.
func (s *Session) end(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	undelivered := append(s.steering, s.followUp...)
	s.steering, s.followUp = nil, nil
	s.state = Closed
	s.record(event.SessionEnd{Reason: reason, State: string(Closed), Undelivered: undelivered})
}

func (s *Session) closeOwned() error {
	if s.depth > 0 {
		return nil
	}
	var errs []error
	for _, c := range s.config.Owned {
		if err := guarded("a closer", c.Close); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("not everything that the session owns could be closed: %w", err)
	}
	return nil
}
