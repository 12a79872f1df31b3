package agent

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/reins-agent/reins/event"
)

// restore brings the subagents back, in the state in which they were. Those that were at work are
// interrupted, except those where a call waits for an approval, their own or one below them: they
// are held until the session continues. One that can no longer be set up is left out.
func (a *agents) restore(ctx context.Context) {
	s := a.session
	for _, path := range s.tree.fold.Agents() {
		a.last = max(a.last, childNumber(s.path, path))
	}
	for _, start := range s.state.Spawned() {
		b, err := s.revive(ctx, start)
		if err != nil {
			s.record(event.Warning{Message: fmt.Sprintf("Agent %s could not be restored: %v", start.ID, err)})
			continue
		}
		a.add(b)
	}
}

// childNumber is the number that an agent gave one of its subagents, 0 if it is none of them.
func childNumber(parent, path string) int {
	if parent != "" {
		var ok bool
		if path, ok = strings.CutPrefix(path, parent+"/"); !ok {
			return 0
		}
	}
	n, err := strconv.Atoi(path)
	if err != nil {
		return 0
	}
	return n
}

func (s *Session) revive(ctx context.Context, start event.SubagentStart) (*subagent, error) {
	state := s.tree.fold.Agent(start.ID)
	was := state.Setup()
	kind, known := s.config.Subagents.Types[start.Type]
	if start.Type != "" && !known { // without it, it could do more than it was meant to
		return nil, fmt.Errorf("agent type %q no longer exists", start.Type)
	}
	c, err := s.childConfig(ctx, spawnRequest{dir: start.Dir, model: was.Model, kind: start.Type, maxTurns: start.MaxTurns}, kind)
	if err != nil {
		return nil, err
	}
	if was.Model != "" {
		c.Provider, c.Effort, c.ThinkingBudget, c.Timeouts = was.Provider, was.Effort, was.ThinkingBudget, was.Timeouts
	}
	child, err := build(c, start.ID, s.depth+1, s.log, s.tree)
	if err != nil {
		return nil, err
	}
	child.agents.restore(ctx)
	b := &subagent{
		id: start.ID, kind: start.Type, preface: kind.Preface, dir: start.Dir, maxTurns: start.MaxTurns,
		parent: s, session: child, cancel: func() {}, done: make(chan struct{}),
	}
	close(b.done)
	end, over := s.state.Ended(start.ID)
	b.status, b.outcome = end.Status, Outcome{Text: end.Output}
	switch {
	case len(child.Pending()) > 0 || state.Deferred():
		b.held = true
	case !over || state.Open():
		b.status, b.lost, b.err = failed, true, errCutOff
	}
	return b, nil
}

var errCutOff = errors.New("it was interrupted when the session was cut off")

// giveUp ends work that was cut off.
func (b *subagent) giveUp() {
	b.session.abandon("the work was cut off")
	b.mu.Lock()
	defer b.mu.Unlock()
	b.status, b.held, b.lost, b.err = failed, false, false, errCutOff
}

// abandon gives up what the agent was doing: no call stays without a result.
func (s *Session) abandon(reason string) {
	s.tree.mu.Lock()
	if s.state.Open() || !s.state.Safe() {
		s.note(event.Interrupted{Reason: reason, Abandon: true})
		s.settle()
	}
	open := s.state.Open()
	s.tree.mu.Unlock()
	if open {
		s.next()
	}
}

// takeUp sets those subagents to work again that are held, however far below, and reports whether
// there are any. Work that was cut off is given up.
func (a *agents) takeUp(ctx context.Context) (any bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, b := range a.all {
		b.mu.Lock()
		held, lost := b.held, b.lost
		b.mu.Unlock()
		if lost {
			b.giveUp()
		}
		if held {
			b.start(ctx, nil)
			any = true
		} else if b.session.agents.takeUp(ctx) {
			any = true
		}
	}
	return any
}
