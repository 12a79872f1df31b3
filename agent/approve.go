package agent

import (
	"context"
	"maps"
	"slices"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/tool"
)

// approve asks the host about a call, and records the question and the answer. Without a host to
// ask, and if asking fails, the answer is no.
func (s *Session) approve(ctx context.Context, r tool.Request) (a tool.Approval, err error) {
	req := event.ApprovalRequested{ID: r.Call.ID, Name: r.Call.Name, Reason: r.Decision.Reason}
	for _, access := range r.Accesses {
		req.Accesses = append(req.Accesses, access.String())
	}
	if err := s.waits(req); err != nil {
		return tool.Approval{Message: err.Error()}, err
	}
	defer s.waitsNoMore(r.Call.ID)
	if s.config.Approve == nil {
		a.Message = "it needs an approval (" + r.Decision.Reason + "), and there is nobody to ask"
	} else {
		err = guarded("the approver", func() (err error) {
			a, err = s.config.Approve(ctx, r)
			return err
		})
	}
	if err != nil {
		a = tool.Approval{Message: err.Error()}
	}
	s.record(event.ApprovalResolved{ID: r.Call.ID, Allowed: a.Allow, Reason: a.Message})
	if failure := s.log.Sync(); failure != nil { // a crash must not make it a call that has not run
		return tool.Approval{Message: failure.Error()}, failure
	}
	return a, err
}

// waits notes, for good, that a call waits for an approval.
func (s *Session) waits(req event.ApprovalRequested) error {
	s.mu.Lock()
	if s.pending == nil {
		s.pending = make(map[string]event.ApprovalRequested)
	}
	s.pending[req.ID] = req
	s.mu.Unlock()
	s.record(req)
	return s.log.Sync()
}

// waitsNoMore notes that calls wait no more; without ids it is all of them.
func (s *Session) waitsNoMore(ids ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(ids) == 0 {
		s.pending = nil
	}
	for _, id := range ids {
		delete(s.pending, id)
	}
}

// Pending is a tool call that waits for an approval.
type Pending struct {
	Agent string // whose it is, by its path in the tree; "" is the root
	event.ApprovalRequested
}

// Pending lists the tool calls that wait for an approval, those of subagents too. After Resume they
// wait for the session to go on.
func (s *Session) Pending() []Pending {
	s.mu.Lock()
	var pending []Pending
	for _, id := range slices.Sorted(maps.Keys(s.pending)) {
		pending = append(pending, Pending{s.path, s.pending[id]})
	}
	s.mu.Unlock()
	return append(pending, s.agents.pending()...)
}

// pending lists the calls of subagents that wait for an approval.
func (a *agents) pending() (pending []Pending) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, id := range sortedNames(a.all) {
		pending = append(pending, a.all[id].session.Pending()...)
	}
	return pending
}
