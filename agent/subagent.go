package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// Subagents says which agents a session may spawn. The zero value allows them one level deep.
type Subagents struct {
	MaxDepth  int // levels below the session; 0 is 1, negative is none at all
	MaxAgents int // alive or ended, in the whole tree; 0 is 32
	MaxTurns  int // of one agent, if the call does not say; 0 is 50
	// Outlive lets subagents go on when the turn that spawned them is interrupted. Closing the
	// session ends them all the same.
	Outlive bool
	// Types are kinds of agents beside the built-in ones, by name, and replace those.
	Types map[string]AgentType
}

// AgentType is a kind of subagent.
type AgentType struct {
	Description string   // for the model that chooses
	System      string   // the system prompt; "" is that of the session
	Tools       []string // what it may use; nil is all that the session has
	ReadOnly    bool     // it may use only tools that change nothing
	Model       string   // "" is that of the session
	Effort      string
	MaxTurns    int
}

func (c Subagents) withDefaults() Subagents {
	if c.MaxDepth == 0 {
		c.MaxDepth = 1
	}
	if c.MaxAgents == 0 {
		c.MaxAgents = 32
	}
	if c.MaxTurns == 0 {
		c.MaxTurns = 50
	}
	types := map[string]AgentType{
		"Explore": {Description: "looks around in the code and reports what it found; changes nothing", ReadOnly: true},
		"Plan":    {Description: "works out how to do a task and reports the steps; changes nothing", ReadOnly: true},
	}
	for name, t := range c.Types {
		types[name] = t
	}
	c.Types = types
	return c
}

// agents are the subagents of one session.
type agents struct {
	session *Session

	mu   sync.Mutex
	last int
	all  map[string]*subagent
}

// subagent is a session that another one spawned.
type subagent struct {
	id      string
	kind    string
	parent  *Session
	session *Session
	cancel  context.CancelFunc
	done    chan struct{} // closed when it is not at work

	mu      sync.Mutex
	status  string // running, completed, failed or closed
	outcome Outcome
	err     error
}

type spawnRequest struct {
	task, dir, model, kind string
	maxTurns               int
}

// spawn makes a subagent and sets it to work.
func (a *agents) spawn(ctx context.Context, r spawnRequest) (*subagent, error) {
	s := a.session
	if s.depth >= s.config.Subagents.MaxDepth {
		return nil, fmt.Errorf("agents may not be nested more than %d deep", s.config.Subagents.MaxDepth)
	}
	kind, known := s.config.Subagents.Types[r.kind]
	if r.kind != "" && !known {
		return nil, fmt.Errorf("there is no agent type %q; there are: %s", r.kind, strings.Join(s.agentTypes(), ", "))
	}
	if err := s.tree.enlist(s.config.Subagents.MaxAgents); err != nil {
		return nil, err
	}
	config, err := a.childConfig(r, kind)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	a.last++
	id := strconv.Itoa(a.last)
	a.mu.Unlock()
	path := id
	if s.path != "" {
		path = s.path + "/" + id
	}
	config.ID = s.id
	s.record(event.SubagentStart{ID: path, Type: r.kind, Task: r.task, Model: config.Model})
	child, err := newSession(config, path, s.depth+1, s.log, s.tree)
	if err != nil {
		return nil, err
	}
	ctx, cancel := s.childContext(ctx)
	sub := &subagent{id: path, kind: r.kind, parent: s, session: child, cancel: cancel}
	a.mu.Lock()
	if a.all == nil {
		a.all = make(map[string]*subagent)
	}
	a.all[path] = sub
	a.mu.Unlock()
	sub.work(ctx, llm.Text{Text: r.task})
	return sub, nil
}

// errTurnOver ends the context of an input whose work came to its end by itself.
var errTurnOver = errors.New("the turn is over")

// childContext is the context of a subagent's work. It outlives the call that asked for it, and the
// turn if that ends by itself; an interruption ends it too, unless subagents are to outlive that.
func (s *Session) childContext(ctx context.Context) (context.Context, context.CancelFunc) {
	child, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.mu.Lock()
	turn := s.work
	s.mu.Unlock()
	if turn == nil || s.config.Subagents.Outlive {
		return child, cancel
	}
	detach := context.AfterFunc(turn, func() {
		if !errors.Is(context.Cause(turn), errTurnOver) {
			cancel()
		}
	})
	return child, func() { detach(); cancel() }
}

func (a *agents) childConfig(r spawnRequest, kind AgentType) (Config, error) {
	s := a.session
	c := s.config
	s.mu.Lock()
	c.Provider, c.Model, c.Effort = s.settings.provider, s.settings.model, s.settings.effort
	s.mu.Unlock()
	if kind.Model != "" {
		c.Model = kind.Model
	}
	if r.model != "" {
		c.Model = r.model
	}
	if kind.Effort != "" {
		c.Effort = kind.Effort
	}
	if kind.System != "" {
		c.System = kind.System
	}
	c.Limits.Turns = r.maxTurns
	if c.Limits.Turns <= 0 {
		c.Limits.Turns = kind.MaxTurns
	}
	if c.Limits.Turns <= 0 {
		c.Limits.Turns = c.Subagents.MaxTurns
	}
	if r.dir != "" {
		info, err := c.Env.Stat(context.Background(), r.dir)
		if err != nil {
			return c, fmt.Errorf("working_dir %s: %w", r.dir, err)
		}
		if !info.IsDir() {
			return c, fmt.Errorf("working_dir %s is not a directory", r.dir)
		}
		c.Env = env.Scoped(c.Env, r.dir)
	}
	c.Tools = s.tools.Select(func(name string) bool {
		t, ok := s.tools.Get(name)
		return ok && !isSubagentTool(name) && name != AskUser &&
			(kind.Tools == nil || slices.Contains(kind.Tools, name)) && (!kind.ReadOnly || t.Spec().ReadOnly)
	})
	c.Allow, c.Deny = nil, nil
	return c, nil
}

// enlist counts an agent of the tree.
func (t *tree) enlist(most int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if most > 0 && t.agents >= most {
		return fmt.Errorf("there have been %d agents already, which is the limit", t.agents)
	}
	t.agents++
	return nil
}

// work sets the agent to work on an input, in the background.
func (b *subagent) work(ctx context.Context, input llm.Part) {
	b.mu.Lock()
	b.status, b.done = "running", make(chan struct{})
	done := b.done
	b.mu.Unlock()
	go func() {
		defer close(done)
		out, err := b.session.Submit(ctx, input)
		b.mu.Lock()
		defer b.mu.Unlock()
		b.outcome, b.err = out, err
		if b.status == "running" {
			b.status = "completed"
			if err != nil || out.Status != StatusDone {
				b.status = "failed"
			}
		}
		b.session.record(event.SubagentEnd{ID: b.id, Status: b.status, Output: out.Text, Turns: int(b.session.turns.Load()), Success: b.status == "completed"})
	}()
}

// send gives the agent a message: between two steps of its work, or as new input if it has none.
func (b *subagent) send(ctx context.Context, message string) error {
	err := b.session.Steer(llm.Text{Text: message})
	if err != nil {
		return err
	}
	b.mu.Lock()
	idle := b.status != "running"
	b.mu.Unlock()
	if idle && b.session.State() != Closed {
		b.session.takeSteering()
		ctx, b.cancel = b.parent.childContext(ctx)
		b.work(ctx, llm.Text{Text: message})
	}
	return nil
}

// takeSteering forgets the messages that wait, for a caller that submits them instead.
func (s *Session) takeSteering() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steering = nil
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

// close ends the agent and waits for its end.
func (b *subagent) close() string {
	b.mu.Lock()
	status := b.status
	if status == "running" {
		b.status = "closed"
	}
	done := b.done
	b.mu.Unlock()
	b.cancel()
	<-done
	_ = b.session.Close()
	return status
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
	return nil, fmt.Errorf("there is no agent %q; there are: %s", id, strings.Join(a.ids(), ", "))
}

func (a *agents) ids() []string {
	ids := make([]string, 0, len(a.all))
	for id := range a.all {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (a *agents) closeAll() {
	a.mu.Lock()
	all := make([]*subagent, 0, len(a.all))
	for _, b := range a.all {
		all = append(all, b)
	}
	a.mu.Unlock()
	for _, b := range all {
		b.close()
	}
}

func (s *Session) agentTypes() []string {
	names := make([]string, 0, len(s.config.Subagents.Types))
	for n := range s.config.Subagents.Types {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// registry is the tools of this session: those of the configuration that are allowed, and those
// for subagents where it may have any.
func (s *Session) registry() (*tool.Registry, error) {
	c := &s.config
	allowed := func(name string) bool {
		return (c.Allow == nil || slices.Contains(c.Allow, name)) && !slices.Contains(c.Deny, name)
	}
	r := c.Tools.Select(allowed)
	if s.depth >= c.Subagents.MaxDepth {
		return r, nil
	}
	for _, t := range s.agents.tools() {
		if allowed(t.Spec().Name) {
			if err := r.Register(t); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}
