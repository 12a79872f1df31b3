package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/hook"
	"github.com/reins-agent/reins/llm"
)

// A subagent is a Session with a parent, in the same tree and log. Its status follows from the records and
// from whether it is working.
const (
	running   = event.SubagentRunning
	completed = event.SubagentCompleted
	failed    = event.SubagentFailed
	waiting   = event.SubagentWaiting
	ended     = event.SubagentClosed
)

// spawn creates a subagent and starts its work on a task.
func (s *Session) spawn(ctx context.Context, start event.SubagentStart, team string, isolate bool) (*Session, error) {
	kind, err := s.agentType(start.Type)
	if err != nil {
		return nil, err
	}
	config, err := s.childConfig(ctx, &start, kind, isolate)
	if err != nil {
		return nil, err
	}
	s.tree.mu.Lock()
	if n, limit := s.tree.fold.Total().Agents, s.config.Subagents.MaxAgents; limit > 0 && n >= limit {
		s.tree.mu.Unlock()
		return nil, fmt.Errorf("the limit of %d agents is reached", limit)
	}
	if err := s.tree.fold.CheckName(start.Name); err != nil {
		s.tree.mu.Unlock()
		return nil, err
	}
	start.ID, start.Model = s.nextPath(), config.Model
	if team != "" {
		d, err := s.tree.fold.Join(s.path, team, cmp.Or(start.Name, start.ID))
		if err != nil {
			s.tree.mu.Unlock()
			return nil, err
		}
		s.note(d)
	}
	s.note(start)
	s.tree.mu.Unlock()
	child, err := newSession(config, start.ID, s, s.log, s.tree)
	if err != nil {
		s.record(event.SubagentEnd{ID: start.ID, Status: failed, Reason: err.Error()})
		return nil, err
	}
	child.spawned, child.preface = start, kind.Preface
	child.fire(ctx, hook.Input{Event: hook.SubagentStart})
	child.assign(ctx, start.Task)
	return child, nil
}

func (s *Session) agentType(name string) (AgentType, error) {
	types := s.config.Subagents.Types
	kind, known := types[name]
	if name != "" && !known {
		return kind, fmt.Errorf("unknown agent type %q: use one of %s", name, strings.Join(sortedNames(types), ", "))
	}
	return kind, nil
}

// nextPath returns the next subagent's path; tree.mu is held.
func (s *Session) nextPath() string {
	last := 0
	for _, path := range s.tree.fold.Agents() {
		if name, below := strings.CutPrefix(path, s.prefix()); below {
			n, _ := strconv.Atoi(name)
			last = max(last, n)
		}
	}
	return s.prefix() + strconv.Itoa(last+1)
}

// prefix returns how the paths of all agents below this agent begin.
func (s *Session) prefix() string {
	if s.path == "" {
		return ""
	}
	return s.path + "/"
}

// assign starts the work on a task.
func (s *Session) assign(ctx context.Context, task string) {
	if s.preface != "" {
		task = s.preface + "\n\n" + task
	}
	s.start(ctx, func() bool { return s.accept(event.UserInput{Message: llm.UserText(task), Origin: s.fromParent()}) })
}

// fromParent returns the origin for messages from the parent.
func (s *Session) fromParent() *event.Origin {
	return &event.Origin{Kind: event.OriginMail, ID: s.parent.path}
}

// start works in the background on what begin records. The work outlives the call that requested it; interrupting the
// parent interrupts it (see interruptBelow).
func (s *Session) start(ctx context.Context, begin func() bool) {
	ctx, err := s.begin(context.WithoutCancel(ctx))
	if err != nil {
		s.parent.record(event.SubagentEnd{ID: s.path, Status: failed, Reason: err.Error()})
		return
	}
	s.updateHooks()
	go func() {
		err := guarded("agent "+s.path, func() error {
			_, err := s.run(ctx, begin)
			return err
		})
		if p := (*panicError)(nil); errors.As(err, &p) {
			s.record(asEvent(err))
		}
	}()
}

// resumes records that the work continues, and reports whether there is any.
func (s *Session) resumes() bool {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	d, ok := s.state.Resumption()
	if d != nil {
		s.note(d)
	}
	return ok
}

// finish records how a subagent's work on a task ended; tree.mu is held.
func (s *Session) finish(out Outcome, err error) {
	d := event.SubagentEnd{ID: s.path, Status: failed, Output: out.Text, Turns: s.state.Turns()}
	switch {
	case s.closing && !fatal(err):
		d.Status = ended
	case err == nil && out.Status == StatusDone:
		d.Status, d.Success = completed, true
	case len(s.pending()) > 0:
		d.Status = waiting
	case err != nil:
		d.Reason = err.Error()
	default:
		d.Reason = cmp.Or(string(out.Limit), string(out.Status))
	}
	s.parent.note(d)
}

// status returns a subagent's status; tree.mu is held.
func (s *Session) status() event.SubagentStatus {
	end, _ := s.parent.state.Ended(s.path)
	switch {
	case s.work != nil:
		return running
	case s.held():
		return waiting
	case s.lost():
		return failed
	}
	return end.Status
}

// held reports whether the work waits for approval and continues with the parent's; tree.mu is held.
func (s *Session) held() bool {
	_, ok := s.state.Resumption()
	return ok && s.work == nil && (len(s.pending()) > 0 || s.state.Deferred())
}

// lost reports whether a crash interrupted the work; tree.mu is held.
func (s *Session) lost() bool {
	_, over := s.parent.state.Ended(s.path)
	return s.work == nil && !s.held() && (!over || s.state.Open())
}

// send gives a subagent a message: between two steps of its work, or as a new task if it has none.
func (s *Session) send(ctx context.Context, call, message string) error {
	msg := llm.UserText(message)
	switch {
	case empty(msg):
		return ErrNoInput
	case s.steerIfBusy(msg, s.fromParent()):
		return nil
	}
	s.tree.mu.Lock()
	gone := s.closing || s.status() == ended
	if !gone {
		start := s.spawned
		start.Call = call
		start.Task = message
		start.Model = s.state.Effective().Model
		s.parent.note(start)
	}
	s.tree.mu.Unlock()
	if gone {
		return ErrClosed
	}
	s.assign(ctx, message)
	return nil
}

// wait waits until the work is over.
func (s *Session) wait(ctx context.Context) error {
	s.tree.mu.Lock()
	work := s.work
	s.tree.mu.Unlock()
	if work == nil {
		return nil
	}
	select {
	case <-work.over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// retire closes a subagent for good and returns its status before.
func (s *Session) retire() (before event.SubagentStatus) {
	s.tree.mu.Lock()
	before = s.status()
	s.closing = true
	s.tree.mu.Unlock()
	s.Interrupt()
	s.abandon("the agent was closed")
	if before != running && before != ended {
		s.parent.record(event.SubagentEnd{ID: s.path, Status: ended})
	}
	_ = s.Close() // a subagent owns nothing that could fail
	return before
}

// giveUp ends work that a crash interrupted, or that waits for approval.
func (s *Session) giveUp() {
	s.abandon("the work was interrupted")
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	s.parent.note(
		event.SubagentEnd{ID: s.path, Status: failed, Turns: s.state.Turns(), Reason: "it was interrupted when the session ended"},
	)
}

// abandon gives up the agent's work: no call stays without a result.
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

// restore creates the subagents that the records name. Working subagents count as interrupted, unless a tool call waits
// for approval, their own or one below them. A subagent that can no longer be set up is left out.
func (s *Session) restore(ctx context.Context) {
	for _, start := range s.state.Spawned() {
		if err := s.revive(ctx, start); err != nil {
			s.record(event.Warning{Message: fmt.Sprintf("Agent %s could not be restored: %v", start.ID, err)})
		}
	}
}

func (s *Session) revive(ctx context.Context, start event.SubagentStart) error {
	was := s.tree.fold.Agent(start.ID).Setup()
	kind, err := s.agentType(start.Type) // without its type, it could do more than intended
	if err != nil {
		return err
	}
	start.Model = was.Model
	c, err := s.childConfig(ctx, &start, kind, start.Worktree != "")
	if err != nil {
		return err
	}
	if was.Model != "" {
		c.Provider = was.Provider
		c.Effort = was.Effort
		c.ThinkingBudget = was.ThinkingBudget
		c.Timeouts = was.Timeouts
	}
	child, err := build(c, start.ID, s, s.log, s.tree)
	if err != nil {
		return err
	}
	child.spawned, child.preface = start, kind.Preface
	child.restore(ctx)
	return nil
}

// takeUp continues subagents' work, at any depth, that waits for approval, and reports whether there is any. Work that
// a crash interrupted is given up.
func (s *Session) takeUp(ctx context.Context) (any bool) {
	for _, c := range s.children() {
		s.tree.mu.Lock()
		held, lost := c.held(), c.lost()
		s.tree.mu.Unlock()
		if lost {
			c.giveUp()
		}
		if held {
			c.start(ctx, c.resumes)
		}
		any = held || c.takeUp(ctx) || any
	}
	return any
}

// below lists the subagents at any depth, sorted by path.
func (s *Session) below() (list []*Session) {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	for _, path := range slices.Sorted(maps.Keys(s.tree.agents)) {
		if path != s.path && strings.HasPrefix(path, s.prefix()) {
			list = append(list, s.tree.agents[path])
		}
	}
	return list
}

// children lists the subagents that the session itself spawned.
func (s *Session) children() []*Session {
	return slices.DeleteFunc(s.below(), func(c *Session) bool { return c.parent != s })
}

// child returns a subagent, by name or path.
func (s *Session) child(name string) (*Session, error) {
	var names []string
	for _, c := range s.children() {
		if name != "" && (c.path == name || c.spawned.Name == name) {
			return c, nil
		}
		names = append(names, c.name())
	}
	if names == nil {
		return nil, errors.New("there are no agents")
	}
	return nil, fmt.Errorf("unknown agent %q: use one of %s", name, strings.Join(names, ", "))
}

// name returns a subagent's name, or its path if it has none.
func (s *Session) name() string { return cmp.Or(s.spawned.Name, s.path) }

// each calls f for all children at once and waits.
func (s *Session) each(f func(*Session)) {
	var wg sync.WaitGroup
	for _, c := range s.children() {
		wg.Go(func() { f(c) })
	}
	wg.Wait()
}

// waitBelow waits until no subagent at any depth is working.
func (s *Session) waitBelow(ctx context.Context) error {
	s.each(func(c *Session) {
		_ = c.wait(ctx)
		_ = c.waitBelow(ctx)
	})
	return context.Cause(ctx)
}

// interruptBelow interrupts all subagents at any depth. They can be given more work.
func (s *Session) interruptBelow() {
	s.each(func(c *Session) {
		c.Interrupt()
		c.interruptBelow()
	})
}

// abandonBelow interrupts all subagents at any depth and gives up work that waits for approval.
func (s *Session) abandonBelow() {
	s.interruptBelow()
	for _, c := range s.below() {
		s.tree.mu.Lock()
		held := c.held()
		s.tree.mu.Unlock()
		if held {
			c.giveUp()
		}
	}
}

// AgentInfo describes an agent in a session.
type AgentInfo struct {
	Path  string // in the agent tree; "" means the root
	Name  string // "" if it has none
	Type  string
	Task  string // last message that it was given
	Model string
	// Worktree is the ID of the subagent's worktree, if it has one.
	Worktree string
	State    State
	Status   event.SubagentStatus // subagents only
	Turns    int
	Usage    llm.Usage // by this agent alone
	Cost     llm.Cost
	Pending  int // tool calls that wait for approval
	Queue    []Queued
	Mail     int // undelivered messages from other agents
}

// Agents lists the session's agents, each before its subagents.
func (s *Session) Agents() []AgentInfo {
	list := []AgentInfo{s.info()}
	for _, c := range s.below() {
		list = append(list, c.info())
	}
	return list
}

func (s *Session) info() AgentInfo {
	state := s.State()
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	info := AgentInfo{
		Path:     s.path,
		Name:     s.spawned.Name,
		Type:     s.spawned.Type,
		Worktree: s.spawned.Worktree,
		Model:    s.state.Effective().Model,
		State:    state,
		Turns:    s.state.Turns(),

		Pending: len(s.state.Pending()),
		Queue:   s.state.Queue(),
		Task:    userText(slices.Backward(s.state.Messages()), 200),
	}
	spent := s.tree.fold.Spent(s.path)
	info.Usage = spent.Usage
	info.Cost = spent.Cost()
	info.Mail = s.state.Waiting()
	if s.parent != nil {
		info.Status = s.status()
	}
	return info
}

// find returns an agent, by name or path.
func (s *Session) find(name string) (*Session, error) {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	path, _ := s.tree.fold.Find(name)
	if a, ok := s.tree.agents[path]; ok && (path != "" || name == "" || name == step.Main) {
		return a, nil
	}
	return nil, fmt.Errorf("no agent %q in this session", name)
}

// SteerAgent is Steer for any agent in the session, by name or path.
func (s *Session) SteerAgent(name string, parts ...llm.Part) error {
	a, err := s.find(name)
	if err != nil {
		return err
	}
	return a.Steer(parts...)
}

// InterruptAgent interrupts an agent, by name or path, and all agents below it, and returns when they have stopped. The
// parent gets the partial result. The agent can be given more work.
func (s *Session) InterruptAgent(name string) error {
	a, err := s.find(name)
	if err != nil {
		return err
	}
	a.Interrupt()
	if a.parent != nil {
		a.interruptBelow()
	}
	return nil
}
