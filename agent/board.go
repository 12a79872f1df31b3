package agent

import (
	"errors"
	"slices"

	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/event"
)

// Tasks lists the session's shared tasks, in order of creation.
func (s *Session) Tasks() []event.Task {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return slices.Clone(s.tree.fold.Tasks())
}

// Teams lists the session's teams, in order of creation.
func (s *Session) Teams() []event.Team {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return slices.Clone(s.tree.fold.Teams())
}

// StopAgent closes a subagent and its subagents, by name or path, and returns when they have stopped. They cannot be
// given more work.
func (s *Session) StopAgent(name string) error {
	a, err := s.find(name)
	if err != nil {
		return err
	}
	if a.parent == nil {
		return errors.New("cannot stop the main agent; close the session instead")
	}
	a.retire()
	return nil
}

// share records a change to shared tasks, teams or mail, and returns when it is saved. f returns the record, or an
// error that refuses the change. It is called with tree.mu held.
func share[D event.Data](s *Session, f func(t *step.Tree) (D, error)) (d D, err error) {
	err = s.commit(func() (err error) {
		if d, err = f(s.tree.fold); err == nil {
			s.note(d)
		}
		return err
	})
	return d, err
}
