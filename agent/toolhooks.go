package agent

import (
	"context"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/hook"
	"github.com/reins-agent/reins/internal/callhook"
	"github.com/reins-agent/reins/tool"
)

// callHooks returns the tool call hooks.
func (s *Session) callHooks(tools *tool.Registry) callhook.Calls {
	return callhook.Calls{Set: s.config.Hooks, Tools: tools, Fire: s.fire, Restrictions: s.restrictions}
}

// toolHooks adapts tool call hooks to the pipeline.
func (s *Session) toolHooks(tools *tool.Registry) []tool.Hook {
	return []tool.Hook{toolHooks{s.callHooks(tools), s}}
}

// restrictions returns the restrictions that hooks have made for all agents in the session.
func (s *Session) restrictions() []hook.Restriction {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return s.tree.fold.Restrictions()
}

type toolHooks struct {
	callhook.Calls
	session *Session
}

// BeforeTool runs PreToolUse hooks. For a call that waited for approval they have already run, and the request has the
// arguments that they returned. A refusal counts even if the policy now allows the call.
func (h toolHooks) BeforeTool(ctx context.Context, c tool.Call) (tool.HookResult, error) {
	spec, _ := h.Tools.Spec(c.Name)
	q, refused := h.session.judged(c.ID)
	if q != nil && q.Version == spec.Version {
		c.Args = q.Arguments
		return h.Restrict(c, tool.HookResult{Args: q.Arguments, Ask: refused || q.Rule == "hook", Message: q.Reason}), nil
	}
	res, err := h.Calls.BeforeTool(ctx, c)
	res.Ask = res.Ask || refused
	return res, err
}

// halted returns why a hook stops the work, or nil.
func (s *Session) halted() error {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	if s.work.halted == "" {
		return nil
	}
	return &StoppedError{s.work.halted}
}

// judged returns the approval request for a call that waited for it after PreToolUse hooks had run, and whether the
// answer was no.
func (s *Session) judged(id string) (q *event.ApprovalRequested, refused bool) {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	c, _ := s.state.Call(id)
	if c.Hooked {
		q = c.Request
	}
	return q, c.Approval != nil && !c.Approval.Allowed
}

// permissionHooks runs PermissionRequest and Notification hooks before the approver is asked for the first time. It
// returns an answer if the hooks refuse the call.
func (s *Session) permissionHooks(ctx context.Context, r tool.Request) *tool.Approval {
	s.tree.mu.Lock()
	c, _ := s.state.Call(r.Call.ID)
	s.tree.mu.Unlock()
	if c.Request != nil {
		return nil
	}
	return s.callHooks(nil).Requested(ctx, r, s.currentApprover().ask != nil)
}
