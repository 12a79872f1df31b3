package agent

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// ApproveLater is an approver that leaves calls pending: they wait for [Session.Resolve], and Submit returns with
// StatusAwaitingApproval.
func ApproveLater(context.Context, tool.Request) (tool.Approval, error) {
	return tool.Approval{}, tool.ErrPending
}

// warnUnattended records, once, that calls may need approval and that no approver is configured.
func (s *Session) warnUnattended() {
	if s.warned || s.depth > 0 || s.currentApprover().ask != nil || !policy.Asks(s.Policy(), s.Mode()) {
		return
	}
	s.warned = true
	s.record(event.Warning{
		Code: event.WarningNoApprover,
		Message: "Nobody can approve tool calls, so every call that needs an approval is refused: " +
			"set Approve, or use a policy or a mode that does not ask.",
	})
}

// approval is the host's answer, or the error that prevented an answer.
type approval struct {
	tool.Approval
	err error
}

// approve returns the answer to a request: an answer that was recorded earlier, or else the first one that the host or
// Resolve gives. It records the request and the answer.
func (s *Session) approve(ctx context.Context, r tool.Request) (tool.Approval, error) {
	if refused := s.permissionHooks(ctx, r); refused != nil {
		return *refused, nil
	}
	given, answers, again := s.requested(r, s.approvalRequest(ctx, r))
	if given != nil {
		return *given, nil
	}
	defer s.answered(r.Call.ID)
	if err := s.log.Sync(); err != nil {
		return tool.Approval{}, err
	}
	a := s.askHost(ctx, r, answers)
	switch {
	case errors.Is(a.err, tool.ErrPending), ctx.Err() != nil, a.err == errNobody && again: // it may be answered elsewhere
		return tool.Approval{}, tool.ErrPending
	case a.err != nil:
		a.Approval = tool.Approval{Message: a.err.Error()}
	}
	s.record(resolved(r.Call.ID, a.Approval))
	if err := s.log.Sync(); err != nil { // otherwise, after a crash, a call that ran could seem to be still pending
		return tool.Approval{}, err
	}
	return a.Approval, nil
}

// requested records that a call waits for approval, unless it already did. An answer that was recorded earlier counts
// if the call still has the same accesses.
func (s *Session) requested(r tool.Request, d event.ApprovalRequested) (given *tool.Approval, answers chan approval, again bool) {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	c, _ := s.state.Call(r.Call.ID)
	same := c.Request != nil && reflect.DeepEqual(c.Request.Accesses, r.Accesses)
	if a := c.Approval; a != nil && (same || a.Arguments != nil) {
		return &tool.Approval{
			Allow:   a.Allowed,
			Scope:   a.Scope,
			Rules:   a.Rules,
			Args:    a.Arguments,
			Message: a.Reason,
			Abort:   a.Abort,
		}, nil, true
	}
	if !same {
		s.note(d)
	}
	s.work.asked[r.Call.ID] = true
	answers = make(chan approval, 1)
	if s.waiting == nil {
		s.waiting = make(map[string]chan<- approval)
	}
	s.waiting[r.Call.ID] = answers
	return nil, answers, same
}

// approvalRequest returns the record that asks for approval, with the host's description and without secrets.
func (s *Session) approvalRequest(ctx context.Context, r tool.Request) event.ApprovalRequested {
	d := event.ApprovalRequested{
		ID:        r.Call.ID,
		Name:      r.Call.Name,
		Tool:      r.Spec.Name,
		Version:   r.Spec.Version,
		Arguments: r.Call.Args,
		Accesses:  r.Accesses,
		Rule:      r.Decision.Rule,
		Code:      r.Decision.Code,
		Reason:    r.Decision.Reason,
		Mode:      r.Call.Mode,
		Role:      r.Spec.Role,
		Grants:    s.grants(ctx, r),
	}
	if s.config.Describe != nil {
		_ = guarded("Describe", func() error { d.Description = s.config.Describe(ctx, r); return nil })
	}
	conceal := s.config.Secrets.Text
	d.Preview, d.Diff = conceal(d.Preview), conceal(d.Diff)
	for _, list := range [][]string{d.Notes, d.Parts} {
		for i := range list {
			list[i] = conceal(list[i])
		}
	}
	return d
}

// grants returns what an approval can cover besides the call. In plan mode, every change needs its own approval. A rule
// with a secret is not offered: it would be saved.
func (s *Session) grants(ctx context.Context, r tool.Request) (list []event.Grant) {
	if r.Call.Mode == policy.ModePlan {
		return nil
	}
	for _, suggested := range r.Suggest(ctx) {
		g := event.Grant{Text: suggested.Text, Rules: suggested.Rules}
		if text := g.Text + strings.Join(g.Rules, "\n"); s.config.Secrets.Text(text) == text {
			list = append(list, g)
		}
	}
	return list
}

var errNobody = errors.New("it needs approval, but no approver is configured")

// answered stops waiting for Resolve.
func (s *Session) answered(id string) {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	delete(s.waiting, id)
}

// approver decides on calls that need approval.
type approver struct {
	ask      func(context.Context, tool.Request) (tool.Approval, error) // nil without an approver
	replaced chan struct{}                                              // closed when another approver takes over
}

func newApprover(ask func(context.Context, tool.Request) (tool.Approval, error)) *approver {
	return &approver{ask, make(chan struct{})}
}

func (s *Session) currentApprover() *approver {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return s.tree.approver
}

// askHost waits for an answer from the host or Resolve. If the approver is replaced while it is asked, its answer no
// longer counts, and the new approver is asked. Without an approver, askHost fails with errNobody.
func (s *Session) askHost(ctx context.Context, r tool.Request, answers <-chan approval) approval {
	for {
		by := s.currentApprover()
		if a, answered := by.answer(ctx, r, answers); answered {
			return a
		}
	}
}

// answer waits for an answer. It returns false if the approver was replaced first.
func (by *approver) answer(ctx context.Context, r tool.Request, answers <-chan approval) (a approval, answered bool) {
	if by.ask == nil {
		return approval{err: errNobody}, true
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	host := make(chan approval, 1)
	go func() {
		var a approval
		a.err = guarded("the approver", func() (err error) {
			a.Approval, err = by.ask(ctx, r)
			return err
		})
		host <- a
	}()
	select {
	case a = <-host:
	case a = <-answers:
		return a, true
	case <-by.replaced:
	case <-ctx.Done():
		return approval{err: context.Cause(ctx)}, true
	}
	select {
	case <-by.replaced:
		return approval{}, false
	default:
		return a, true
	}
}

// Pending is a tool call that waits for approval.
type Pending struct {
	Agent string `json:"agent,omitempty"` // agent path; "" means the root
	event.ApprovalRequested
}

// Pending lists the tool calls that wait for approval, in this agent and its subagents. Calls that were answered are
// left out at once. The list is never nil, so that its JSON is always an array.
func (s *Session) Pending() []Pending {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return slices.DeleteFunc(s.pending(), func(p Pending) bool {
		owner, ok := s.tree.agents[p.Agent]
		if !ok {
			return false
		}
		waiting, asked := owner.waiting[p.ID]
		return asked && waiting == nil // the answer is not recorded yet
	})
}

func (s *Session) pending() []Pending {
	pending := []Pending{}
	for _, path := range s.tree.fold.Agents() {
		if path != s.path && !strings.HasPrefix(path, s.prefix()) {
			continue
		}
		for _, c := range s.tree.fold.Agent(path).Pending() {
			pending = append(pending, Pending{path, *c.Request})
		}
	}
	return pending
}

// Resolve answers a tool call that waits for approval, in the session or a subagent, by the ID that Pending returns. If
// work is waiting for it, the work continues. Otherwise, because the session was resumed or its work has ended with
// StatusAwaitingApproval or StatusInterrupted, the answer is recorded and Continue acts on it.
//
// The first answer counts: a later one, and an answer to an unknown call, is an error. If calls in two agents have the
// same ID, use the agent's path, a colon and the ID. Resolve returns when the answer is saved in the session's store,
// if it has one.
func (s *Session) Resolve(_ context.Context, callID string, a tool.Approval) error {
	return s.commit(func() error {
		var found []Pending
		for _, p := range s.pending() {
			if p.ID == callID || p.Agent+":"+p.ID == callID {
				found = append(found, p)
			}
		}
		switch len(found) {
		case 0:
			return fmt.Errorf("no tool call %q waits for an approval", callID)
		case 1:
			owner, ok := s.tree.agents[found[0].Agent]
			if !ok {
				return fmt.Errorf("agent %s could not be restored", found[0].Agent)
			}
			return owner.resolve(found[0].ID, a)
		}
		return fmt.Errorf("several agents have a call %q that waits for an approval: use %s:%s", callID, found[0].Agent, callID)
	})
}

// resolve passes an answer to the work that waits for it, or records it; tree.mu is held.
func (s *Session) resolve(id string, a tool.Approval) error {
	if waiting, ok := s.waiting[id]; ok {
		if waiting == nil {
			return fmt.Errorf("tool call %q has already been answered", id)
		}
		s.waiting[id] = nil // until the answer is recorded
		waiting <- approval{Approval: a}
		return nil
	}
	d := resolved(id, a)
	d.Deferred = true
	s.note(d)
	return nil
}

func resolved(id string, a tool.Approval) event.ApprovalResolved {
	return event.ApprovalResolved{
		ID:        id,
		Allowed:   a.Allow && !a.Abort,
		Scope:     a.Scope,
		Rules:     a.Rules,
		Arguments: a.Args,
		Reason:    a.Message,
		Abort:     a.Abort,
	}
}

// asked ends the work and reports true if only an answer can continue it: to a question, or to approvals that the host
// was asked for and has not given.
func (s *Session) asked(a step.Await) bool {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	for _, c := range a.Approvals {
		if !s.work.asked[c.ID] {
			return false
		}
	}
	s.note(a.End)
	return true
}
