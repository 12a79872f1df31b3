package agent

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// restore brings the subagents back, in the state in which they were. Those that were at work are
// broken off, but for those where a call waits for an approval, their own or one below them: they
// are held until the session goes on. One that can no longer be set up is left out.
func (a *agents) restore(ctx context.Context, h *history) {
	s := a.session
	for path := range h.agents {
		a.last = max(a.last, childNumber(s.path, path))
	}
	for _, start := range h.agent(s.path).spawned {
		b, err := s.revive(ctx, start, h)
		if err != nil {
			s.record(event.Warning{Message: fmt.Sprintf("Agent %s could not be brought back: %v", start.ID, err)})
			continue
		}
		if a.all == nil {
			a.all = make(map[string]*subagent)
		}
		a.all[start.ID] = b
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

func (s *Session) revive(ctx context.Context, start event.SubagentStart, h *history) (*subagent, error) {
	p := h.agent(start.ID)
	kind, known := s.config.Subagents.Types[start.Type]
	if start.Type != "" && !known { // without it, it could do more than it was meant to
		return nil, fmt.Errorf("there is no agent type %q any more", start.Type)
	}
	c, err := s.childConfig(ctx, spawnRequest{dir: start.Dir, model: p.set.model, kind: start.Type, maxTurns: start.MaxTurns}, kind)
	if err != nil {
		return nil, err
	}
	if p.set.model != "" {
		c.Provider, c.Effort, c.ThinkingBudget, c.Timeouts = p.set.provider, p.set.effort, p.set.budget, p.set.timeouts
	}
	child, err := build(c, start.ID, s.depth+1, s.log, s.tree)
	if err != nil {
		return nil, err
	}
	child.restore(p)
	child.reopen(p)
	child.agents.restore(ctx, h)
	b := &subagent{
		id: start.ID, kind: start.Type, preface: kind.Preface, dir: start.Dir, maxTurns: start.MaxTurns,
		parent: s, session: child, cancel: func() {}, done: make(chan struct{}),
	}
	close(b.done)
	end, over := h.agent(s.path).ended[start.ID]
	b.status, b.outcome = subagentStatus(end.Status), Outcome{Text: end.Output}
	switch {
	case over && !p.open:
	case len(child.Pending()) > 0:
		b.held = true
	default:
		b.giveUp()
	}
	return b, nil
}

// giveUp ends work that was cut off.
func (b *subagent) giveUp() {
	b.session.abandon()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.status, b.held, b.err = failed, false, errors.New("it was interrupted when the session was cut off")
}

// takeUp sets those subagents to work again that are held, however far below, and reports whether
// there are any.
func (a *agents) takeUp(ctx context.Context) (any bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, b := range a.all {
		b.mu.Lock()
		held := b.held
		b.mu.Unlock()
		if held {
			b.start(ctx, llm.Message{})
			any = true
		} else if b.session.agents.takeUp(ctx) {
			any = true
		}
	}
	return any
}
