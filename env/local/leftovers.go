package local

import (
	"context"
	"sync"
	"time"
)

// sweepDelay lets one process table scan serve several contexts that end one after another.
const sweepDelay = 50 * time.Millisecond

// leftovers records commands that ended without visible descendants. Finding hidden ones, such as a daemon that closed
// its files and changed its session, means scanning the whole process table. That is too slow after every command, so
// it is done when the command's context is done, and by Close.
type leftovers struct {
	env *Env

	mu      sync.Mutex
	stopped bool
	batches map[<-chan struct{}]*batch // by the context's Done channel
	ended   map[int]bool
	sweep   *time.Timer
	busy    sync.WaitGroup
}

// batch holds the commands in one context.
type batch struct {
	jobs   []int
	detach func() bool
}

// add schedules a command to be swept when ctx is done.
func (l *leftovers) add(ctx context.Context, job int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return
	}
	if l.batches == nil {
		l.batches = make(map[<-chan struct{}]*batch)
	}
	done := ctx.Done()
	c := l.batches[done]
	if c == nil {
		c = new(batch)
		l.batches[done] = c
		c.detach = context.AfterFunc(ctx, func() { l.schedule(done) })
	}
	c.jobs = append(c.jobs, job)
}

// schedule sweeps a context's commands soon.
func (l *leftovers) schedule(done <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.batches[done]
	if c == nil || l.stopped {
		return
	}
	delete(l.batches, done)
	if l.ended == nil {
		l.ended = make(map[int]bool)
		l.busy.Add(1)
		l.sweep = time.AfterFunc(sweepDelay, l.run)
	}
	for _, job := range c.jobs {
		l.ended[job] = true
	}
}

// run kills descendants of the scheduled commands.
func (l *leftovers) run() {
	defer l.busy.Done()
	l.mu.Lock()
	jobs := l.ended
	l.ended = nil
	l.mu.Unlock()
	l.env.endMarked(marks{l.env.id, jobs}, grace)
}

// stop ends sweeping. Close looks for all descendants itself.
func (l *leftovers) stop() {
	l.mu.Lock()
	l.stopped = true
	for _, c := range l.batches {
		c.detach()
	}
	l.batches = nil
	if l.ended != nil && l.sweep.Stop() {
		l.busy.Done()
	}
	l.mu.Unlock()
	l.busy.Wait()
}
