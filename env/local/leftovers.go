package local

import (
	"context"
	"sync"
	"time"
)

// sweepDelay gathers the commands of contexts that end one after another into one look at the
// process table.
const sweepDelay = 50 * time.Millisecond

// leftovers remembers the commands that ended without a sign of descendants. Looking for
// descendants that left no sign (a daemon that closed its files and changed its session) means
// reading the whole process table, which is too much after every command. It is done when the
// context of the command ends, and at Close.
type leftovers struct {
	env string

	mu      sync.Mutex
	stopped bool
	cohorts map[<-chan struct{}]*cohort // by the channel that says that the context has ended
	doomed  map[int]bool
	sweep   *time.Timer
	busy    sync.WaitGroup
}

// cohort is the commands that end with one context.
type cohort struct {
	jobs   []int
	detach func() bool
}

// add has the descendants of a command looked for when ctx ends.
func (l *leftovers) add(ctx context.Context, job int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return
	}
	if l.cohorts == nil {
		l.cohorts = make(map[<-chan struct{}]*cohort)
	}
	done := ctx.Done()
	c := l.cohorts[done]
	if c == nil {
		c = new(cohort)
		l.cohorts[done] = c
		c.detach = context.AfterFunc(ctx, func() { l.condemn(done) })
	}
	c.jobs = append(c.jobs, job)
}

// condemn has the commands of a context that ended swept soon.
func (l *leftovers) condemn(done <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.cohorts[done]
	if c == nil || l.stopped {
		return
	}
	delete(l.cohorts, done)
	if l.doomed == nil {
		l.doomed = make(map[int]bool)
		l.busy.Add(1)
		l.sweep = time.AfterFunc(sweepDelay, l.run)
	}
	for _, job := range c.jobs {
		l.doomed[job] = true
	}
}

// run ends the descendants of the condemned commands.
func (l *leftovers) run() {
	defer l.busy.Done()
	l.mu.Lock()
	jobs := l.doomed
	l.doomed = nil
	l.mu.Unlock()
	endMarked(marks{l.env, jobs}, grace)
}

// stop ends the sweeping; Close looks for everything itself.
func (l *leftovers) stop() {
	l.mu.Lock()
	l.stopped = true
	for _, c := range l.cohorts {
		c.detach()
	}
	l.cohorts = nil
	if l.doomed != nil && l.sweep.Stop() {
		l.busy.Done()
	}
	l.mu.Unlock()
	l.busy.Wait()
}
