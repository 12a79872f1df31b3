package agent

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// agents are the subagents of one session.
type agents struct {
	session *Session

	mu   sync.Mutex
	last int
	all  map[string]*subagent
}

// subagent is a session that another one spawned.
type subagent struct {
	id       string
	kind     string
	preface  string
	dir      string
	maxTurns int
	parent   *Session
	session  *Session

	mu      sync.Mutex
	cancel  context.CancelFunc // of its work
	done    chan struct{}      // closed when that is over
	status  event.SubagentStatus
	outcome Outcome
	err     error
	held    bool // a call of it waits for an approval; it continues with the session
	lost    bool // its work was cut off, and is to be given up
}

const (
	running   = event.SubagentRunning
	completed = event.SubagentCompleted
	failed    = event.SubagentFailed
	waiting   = event.SubagentWaiting
	ended     = event.SubagentClosed
)

type spawnRequest struct {
	task, dir, model, kind string
	maxTurns               int
	call                   string // the tool call that asks for it
}

// spawn makes a subagent and sets it to work.
func (a *agents) spawn(ctx context.Context, r spawnRequest) (*subagent, error) {
	s := a.session
	kind, known := s.config.Subagents.Types[r.kind]
	if r.kind != "" && !known {
		return nil, fmt.Errorf("there is no agent type %q; there are: %s", r.kind, strings.Join(sortedNames(s.config.Subagents.Types), ", "))
	}
	config, err := s.childConfig(ctx, r, kind)
	if err != nil {
		return nil, err
	}
	if n, most := s.Total().Agents, s.config.Subagents.MaxAgents; most > 0 && n >= most {
		return nil, fmt.Errorf("there have been %d agents already, which is the limit", n)
	}
	sub := &subagent{id: a.nextID(), kind: r.kind, preface: kind.Preface, dir: r.dir, maxTurns: r.maxTurns, parent: s, cancel: func() {}, done: make(chan struct{})}
	close(sub.done)
	s.record(event.SubagentStart{ID: sub.id, Call: r.call, Type: r.kind, Task: r.task, Model: config.Model, Dir: r.dir, MaxTurns: r.maxTurns})
	if sub.session, err = newSession(config, sub.id, s.depth+1, s.log, s.tree); err != nil {
		s.record(event.SubagentEnd{ID: sub.id, Status: failed})
		return nil, err
	}
	a.add(sub)
	sub.work(ctx, r.task)
	return sub, nil
}

func (a *agents) add(b *subagent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all == nil {
		a.all = make(map[string]*subagent)
	}
	a.all[b.id] = b
}

// nextID is the path of the next subagent in the tree.
func (a *agents) nextID() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last++
	id := strconv.Itoa(a.last)
	if p := a.session.path; p != "" {
		return p + "/" + id
	}
	return id
}

// work sets the agent to work on a task.
func (b *subagent) work(ctx context.Context, task string) {
	if b.preface != "" {
		task = b.preface + "\n\n" + task
	}
	b.start(ctx, func() bool { return b.session.accept(llm.UserText(task), nil) })
}

// start lets the agent work in the background: on what begin records, or, if that is nil, on what was
// interrupted. It continues after the call that asked for it; whoever interrupts the session above interrupts
// it too (see agents.interrupt).
func (b *subagent) start(ctx context.Context, begin func() bool) {
	if begin == nil {
		begin = b.session.resumes
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	b.mu.Lock()
	b.status, b.cancel, b.done, b.held = running, cancel, done, false
	b.mu.Unlock()
	ctx, err := b.session.begin(ctx) // from here on it is busy, and takes messages
	go func() {
		defer close(done)
		defer cancel()
		var out Outcome
		if err == nil {
			err = guarded("agent "+b.id, func() (err error) {
				out, err = b.session.run(ctx, begin)
				return err
			})
		}
		b.finish(out, err)
	}()
}

// resumes records that the work continues.
func (s *Session) resumes() bool {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	d, ok := s.state.Resumption()
	if d != nil {
		s.note(d)
	}
	return ok
}

// finish takes down what came of the agent's work.
func (b *subagent) finish(out Outcome, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.outcome, b.err = out, err
	switch {
	case b.status == ended:
	case err == nil && out.Status == StatusDone:
		b.status = completed
	case len(b.session.Pending()) > 0:
		b.status, b.held = waiting, true
	default:
		b.status = failed
	}
	b.parent.record(event.SubagentEnd{ID: b.id, Status: b.status, Output: out.Text, Turns: b.turns(), Success: b.status == completed})
}

func (b *subagent) turns() int {
	b.session.tree.mu.Lock()
	defer b.session.tree.mu.Unlock()
	return b.session.state.Turns()
}

// send gives the agent a message: between two steps of its work, or as a new task if it has none.
func (b *subagent) send(ctx context.Context, call, message string) error {
	msg := llm.UserText(message)
	switch {
	case empty(msg):
		return ErrNoInput
	case b.session.State() == Closed:
		return ErrClosed
	case b.session.steerIfBusy(msg):
		return nil
	}
	if err := b.wait(ctx); err != nil { // its work is over, but for taking that down
		return err
	}
	b.mu.Lock()
	gone := b.status == ended
	b.mu.Unlock()
	if gone {
		return ErrClosed
	}
	b.parent.record(event.SubagentStart{ID: b.id, Call: call, Type: b.kind, Task: message, Model: b.session.info().Model, Dir: b.dir, MaxTurns: b.maxTurns})
	b.work(ctx, message)
	return nil
}

// wait waits for the agent to be done with its work.
func (b *subagent) wait(ctx context.Context) error {
	b.mu.Lock()
	done := b.done
	b.mu.Unlock()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// interrupt stops the agent's work and waits for its end. It returns what the agent was doing. A call that
// waits for an approval keeps waiting.
func (b *subagent) interrupt(then event.SubagentStatus) (before event.SubagentStatus) {
	b.mu.Lock()
	before = b.status
	if then != "" {
		b.status, b.held, b.lost = then, false, false
	}
	cancel, done := b.cancel, b.done
	b.mu.Unlock()
	cancel()
	<-done
	if then != ended { // closing sees to those below
		b.session.agents.interrupt() // those that it left at work
	}
	return before
}

// close ends the agent for good.
func (b *subagent) close() (before event.SubagentStatus) {
	before = b.interrupt(ended)
	_ = b.session.Close() // a subagent owns nothing that could fail
	return before
}

func (a *agents) find(id string) (*subagent, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if b, ok := a.all[id]; ok {
		return b, nil
	}
	if len(a.all) == 0 {
		return nil, errors.New("there are no agents")
	}
	return nil, fmt.Errorf("there is no agent %q; there are: %s", id, strings.Join(sortedNames(a.all), ", "))
}

// each calls f for all subagents at once and waits.
func (a *agents) each(f func(*subagent)) {
	a.mu.Lock()
	var wg sync.WaitGroup
	for _, b := range a.all {
		wg.Go(func() { f(b) })
	}
	a.mu.Unlock()
	wg.Wait()
}

// wait waits for all subagents to be done with their work, however far below.
func (a *agents) wait(ctx context.Context) error {
	a.each(func(b *subagent) {
		_ = b.wait(ctx)
		_ = b.session.agents.wait(ctx)
	})
	return context.Cause(ctx)
}

// interrupt breaks off the work of all subagents; they can be given more.
func (a *agents) interrupt() { a.each(func(b *subagent) { b.interrupt("") }) }

// abandon interrupts all subagents, and gives up what waits for an approval.
func (a *agents) abandon() {
	a.interrupt()
	a.visit(func(b *subagent) {
		b.mu.Lock()
		held := b.held
		b.mu.Unlock()
		if held {
			b.giveUp()
		}
	})
}

// close ends all subagents.
func (a *agents) close() { a.each(func(b *subagent) { b.close() }) }
