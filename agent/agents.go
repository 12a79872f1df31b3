package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// AgentInfo describes an agent of a session.
type AgentInfo struct {
	Path    string // in the tree of agents; "" is the root
	Type    string
	Task    string // the last message that it was given
	Model   string
	State   State
	Status  event.SubagentStatus // of a subagent
	Turns   int
	Pending int // tool calls that wait for an approval
	Queue   []Queued
}

// Agents lists the agents of the session, the root first and each before its subagents.
func (s *Session) Agents() []AgentInfo {
	list := []AgentInfo{s.info()}
	s.agents.visit(func(b *subagent) {
		info := b.session.info()
		b.mu.Lock()
		info.Type, info.Status = b.kind, b.status
		b.mu.Unlock()
		list = append(list, info)
	})
	slices.SortStableFunc(list, func(a, b AgentInfo) int { return strings.Compare(a.Path, b.Path) })
	return list
}

func (s *Session) info() AgentInfo {
	state := s.State()
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	info := AgentInfo{
		Path: s.path, Model: s.state.Effective().Model, State: state, Turns: s.state.Turns(),
		Pending: len(s.state.Pending()), Queue: s.state.Queue(),
	}
	for _, in := range slices.Backward(s.state.Messages()) {
		if in.Role == llm.RoleUser {
			info.Task = shorten(in.Text(), 200)
			break
		}
	}
	return info
}

// visit calls f for all subagents, however far below.
func (a *agents) visit(f func(*subagent)) {
	a.mu.Lock()
	all := make([]*subagent, 0, len(a.all))
	for _, b := range a.all {
		all = append(all, b)
	}
	a.mu.Unlock()
	for _, b := range all {
		f(b)
		b.session.agents.visit(f)
	}
}

// subagent finds a subagent by its path.
func (s *Session) subagent(path string) (found *subagent, err error) {
	s.agents.visit(func(b *subagent) {
		if b.id == path {
			found = b
		}
	})
	if found == nil {
		return nil, fmt.Errorf("no agent %q in this session", path)
	}
	return found, nil
}

// find returns the agent at a path.
func (s *Session) find(path string) (*Session, error) {
	if path == s.path {
		return s, nil
	}
	b, err := s.subagent(path)
	if err != nil {
		return nil, err
	}
	return b.session, nil
}

// SteerAgent is Steer for any agent of the session, by its path.
func (s *Session) SteerAgent(path string, parts ...llm.Part) error {
	a, err := s.find(path)
	if err != nil {
		return err
	}
	return a.Steer(parts...)
}

// InterruptAgent stops the work of an agent and of those below it, and returns when it is over. The agent above
// gets what there is as the result; more work can be given.
func (s *Session) InterruptAgent(path string) error {
	if path == s.path {
		s.Interrupt()
		return nil
	}
	b, err := s.subagent(path)
	if err == nil {
		b.interrupt("")
	}
	return err
}
