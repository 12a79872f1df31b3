package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/hook"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// toolHooks adapts the hooks of tool calls to the pipeline.
func (s *Session) toolHooks(tools *tool.Registry) []tool.Hook {
	for _, e := range []hook.Event{hook.PreToolUse, hook.PostToolUse, hook.PostToolUseFailure} {
		if s.config.Hooks.Has(e) {
			return []tool.Hook{toolHooks{s, tools}}
		}
	}
	return nil
}

type toolHooks struct {
	*Session
	tools *tool.Registry
}

// BeforeTool runs the hooks of PreToolUse. They have run already for a call that waited for an approval: the arguments
// of the request are those that they left.
func (h toolHooks) BeforeTool(ctx context.Context, c tool.Call) (res tool.HookResult, err error) {
	spec, _ := h.tools.Spec(c.Name)
	if q := h.judged(c.ID); q != nil && q.Version == spec.Version {
		return tool.HookResult{Args: q.Arguments, Ask: q.Rule == "hook", Message: q.Reason}, nil
	}
	for _, call := range h.config.Hooks.Calls(h.dir(), spec.Name, c.Args) {
		out := h.fireCall(ctx, hook.Input{Event: hook.PreToolUse}, c.ID, spec.Name, call)
		res.Deny = res.Deny || out.Decision == hook.Deny || out.Stop
		res.Ask = res.Ask || out.Decision == hook.Ask
		if out.Decision.Restricts() || out.Stop {
			res.Message = cmp.Or(res.Message, out.Reason, out.StopReason)
		}
		if out.Input == nil {
			continue
		}
		if call.Back == nil {
			return res, fmt.Errorf("it changed the input of %s, which cannot be changed", call.Name)
		}
		if res.Args, err = call.Back(out.Input); err != nil {
			return res, fmt.Errorf("it changed the input: %w", err)
		}
	}
	return res, nil
}

// AfterTool runs the hooks of PostToolUse or PostToolUseFailure, unless the work was interrupted.
func (h toolHooks) AfterTool(ctx context.Context, c tool.Call, res *tool.Result) error {
	if ctx.Err() != nil {
		return nil
	}
	spec, _ := h.tools.Spec(c.Name)
	in := hook.Input{Event: hook.PostToolUse, Response: hookResponse(*res)}
	if res.Error != nil {
		in = hook.Input{Event: hook.PostToolUseFailure, Error: res.Error.Message}
	}
	for _, call := range h.config.Hooks.Calls(h.dir(), spec.Name, c.Args) {
		if out := h.fireCall(ctx, in, c.ID, spec.Name, call); out.Response != nil && res.Error == nil {
			res.Output, res.Present, res.Images = tool.Text(*out.Response), nil, nil
		}
	}
	return nil
}

// fireCall runs the hooks of an event of a tool call. One that stops the work does so after the round.
func (s *Session) fireCall(ctx context.Context, in hook.Input, id, name string, c hook.Call) hook.Output {
	in.Call, in.Tool, in.Names, in.ToolInput = id, c.Name, append([]string{name}, c.Names...), c.Input
	out := s.fire(ctx, in)
	if out.Stop {
		s.tree.mu.Lock()
		s.work.halted = cmp.Or(s.work.halted, out.StopReason, "no reason given")
		s.tree.mu.Unlock()
	}
	return out
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

// judged returns the request for an approval of a call that waited for it after the hooks of PreToolUse had run.
func (s *Session) judged(id string) *event.ApprovalRequested {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	if c, _ := s.state.Call(id); c.Hooked {
		return c.Request
	}
	return nil
}

// permissionHooks runs the hooks of PermissionRequest and Notification before somebody is asked for the first time.
// It returns an answer if the hooks refuse the call.
func (s *Session) permissionHooks(ctx context.Context, r tool.Request) *tool.Approval {
	s.tree.mu.Lock()
	c, _ := s.state.Call(r.Call.ID)
	s.tree.mu.Unlock()
	if c.Request != nil {
		return nil
	}
	for _, c := range s.hookCalls(hook.PermissionRequest, r.Spec.Name, r.Call.Args) {
		out := s.fireCall(ctx, hook.Input{Event: hook.PermissionRequest, Reason: r.Decision.Reason}, r.Call.ID, r.Spec.Name, c)
		if out.Stop || out.Decision == hook.Deny {
			return &tool.Approval{Message: cmp.Or(out.Reason, out.StopReason, "a hook denied it")}
		}
	}
	if s.config.Approve != nil {
		s.fire(ctx, hook.Input{Event: hook.Notification, Kind: "permission_prompt", Message: "Reins needs your approval to use " + r.Spec.Name})
	}
	return nil
}

// hookCalls returns a call as the hooks of an event see it.
func (s *Session) hookCalls(e hook.Event, name string, args json.RawMessage) []hook.Call {
	if !s.config.Hooks.Has(e) {
		return nil
	}
	return s.config.Hooks.Calls(s.dir(), name, args)
}

// denied runs the hooks of PermissionDenied if a call was refused.
func (s *Session) denied(ctx context.Context, out tool.Outcome) {
	d := out.Decision
	if out.Result.Error == nil || out.Result.Error.Code != tool.PermissionDenied ||
		d.Verdict != policy.Deny && (d.Verdict != policy.Ask || out.Approval != nil && out.Approval.Allow) {
		return
	}
	for _, c := range s.hookCalls(hook.PermissionDenied, out.Tool, out.Call.Args) {
		s.fireCall(ctx, hook.Input{Event: hook.PermissionDenied, Reason: out.Result.Error.Message}, out.Call.ID, out.Tool, c)
	}
}

// maxResponse is how much of an output hooks get, in bytes.
const maxResponse = 256 << 10

// hookResponse returns a result for hooks.
func hookResponse(res tool.Result) map[string]any {
	m := maps.Clone(res.Fields)
	if m == nil {
		m = make(map[string]any)
	}
	m["success"], m["output"] = true, ""
	if res.Output != nil {
		r := res.Output.Open()
		defer r.Close()
		text, _ := io.ReadAll(io.LimitReader(r, maxResponse)) // the model is told if it cannot be read
		m["output"], m["stdout"] = string(text), string(text)
	}
	return m
}
