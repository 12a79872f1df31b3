package agent

import (
	"context"
	"iter"
	"sync/atomic"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// Stream is [Session.Submit] as a sequence: it gives the session input, yields the records of the session and its
// subagents while they work, and ends when the work ends. The root's last PROCESSING_END has the outcome. An error from
// Submit is yielded last. Breaking out of the loop interrupts the work.
func (s *Session) Stream(ctx context.Context, input ...llm.Part) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		ctx, interrupt := context.WithCancel(ctx)
		defer interrupt()
		err := s.log.Sync()
		if err == nil {
			err = s.follow(func() error { _, err := s.Submit(ctx, input...); return err }, func(r event.Record) bool {
				if yield(r, nil) {
					return true
				}
				yield = nil
				interrupt()
				return false
			})
		}
		if err != nil && yield != nil {
			yield(event.Record{}, err)
		}
	}
}

// follow calls work and returns its error. Meanwhile it passes all records to pass, until that returns false.
func (s *Session) follow(work func() error, pass func(event.Record) bool) (err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var last, end atomic.Uint64 // the last record that was passed, and the work's last record once it is over
	over := make(chan struct{})
	start := func() {
		err = work()
		close(over)
		end.Store(uint64(s.Last()))
		if last.Load() >= end.Load() {
			cancel() // nothing to wait for
		}
	}
	before := s.Last()
	last.Store(uint64(before))
	started := before == 0
	if started {
		go start()
	}
	for r, failed := range s.Events(ctx, max(before, 1)-1) {
		if !started {
			if r.Seq >= before { // from here on, transient records are seen too
				started = true
				go start()
			}
			continue
		}
		if failed != nil || !pass(r) {
			break
		}
		if r.Seq > 0 {
			last.Store(uint64(r.Seq))
		}
		if n := end.Load(); n > 0 && last.Load() >= n {
			break
		}
	}
	if !started { // the log is closed and has no such record
		return work()
	}
	<-over
	return err
}
