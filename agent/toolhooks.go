package agent

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/hook"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// toolHooks adapts the hooks of tool calls to the pipeline.
func (s *Session) toolHooks(tools *tool.Registry) []tool.Hook {
	for _, e := range []hook.Event{hook.PreToolUse, hook.PostToolUse, hook.PostToolUseFailure, hook.FileChanged} {
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
func (h toolHooks) BeforeTool(ctx context.Context, c tool.Call) (tool.HookResult, error) {
	spec, _ := h.tools.Spec(c.Name)
	if q := h.judged(c.ID); q != nil && q.Version == spec.Version {
		return tool.HookResult{Args: q.Arguments, Ask: q.Rule == "hook", Message: q.Reason}, nil
	}
	out := h.fire(ctx, hook.Input{Event: hook.PreToolUse, Call: c.ID, Tool: spec.Name, ToolInput: c.Args})
	return tool.HookResult{Args: out.Input, Deny: out.Refuses(), Ask: out.Decision == hook.Ask, Message: cmp.Or(out.Reason, out.StopReason)}, nil
}

// AfterTool runs the hooks of PostToolUse or PostToolUseFailure, unless the work was interrupted.
func (h toolHooks) AfterTool(ctx context.Context, c tool.Call, res *tool.Result) error {
	if ctx.Err() != nil {
		return nil
	}
	spec, _ := h.tools.Spec(c.Name)
	in := hook.Input{Event: hook.PostToolUse, Call: c.ID, Tool: spec.Name, ToolInput: c.Args}
	if res.Error != nil {
		in.Event, in.Error = hook.PostToolUseFailure, res.Error.Message
	} else {
		in.Response = hookResponse(*res)
	}
	if out := h.fire(ctx, in); out.Response != nil && res.Error == nil {
		res.Output, res.Present, res.Images = tool.Text(*out.Response), nil, nil
	}
	h.changed(ctx, c, res.Artifacts)
	return nil
}

// changed runs the hooks of FileChanged for each file that a call changed.
func (h toolHooks) changed(ctx context.Context, c tool.Call, made tool.Artifacts) {
	if !h.config.Hooks.Has(hook.FileChanged) {
		return
	}
	for _, path := range made.FilesChanged {
		full := c.Env.Info().Paths().Abs(c.Env.Info().Dir, path)
		change := "change"
		if _, err := c.Env.Stat(ctx, full); errors.Is(err, fs.ErrNotExist) {
			change = "unlink"
		} else if real, err := c.Env.RealPath(ctx, full); err == nil && slices.Contains(made.FilesCreated, real) {
			change = "add"
		}
		h.fire(ctx, hook.Input{Event: hook.FileChanged, Call: c.ID, File: full, Change: change})
	}
}

// maxResponse is how much of an output hooks get, in bytes.
const maxResponse = 256 << 10

// hookResponse returns a result for hooks.
func hookResponse(res tool.Result) map[string]any {
	text := []byte(nil)
	if res.Output != nil {
		r := res.Output.Open()
		defer r.Close()
		text, _ = io.ReadAll(io.LimitReader(r, maxResponse)) // the model is told if it cannot be read
	}
	m := map[string]any{"success": true, "output": string(text), "stdout": string(text)}
	maps.Copy(m, res.Fields)
	return m
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
	out := s.fire(ctx, hook.Input{Event: hook.PermissionRequest, Call: r.Call.ID, Tool: r.Spec.Name, ToolInput: r.Call.Args, Reason: r.Decision.Reason})
	if out.Refuses() {
		return &tool.Approval{Message: cmp.Or(out.Reason, out.StopReason, "a hook denied it")}
	}
	if s.config.Approve != nil {
		s.fire(ctx, hook.Input{Event: hook.Notification, Kind: "permission_prompt", Message: "Reins needs your approval to use " + r.Spec.Name})
	}
	return nil
}

// denied runs the hooks of PermissionDenied if a call was refused.
func (s *Session) denied(ctx context.Context, out tool.Outcome) {
	d := out.Decision
	if e := out.Result.Error; e != nil && e.Code == tool.PermissionDenied &&
		(d.Verdict == policy.Deny || d.Verdict == policy.Ask && (out.Approval == nil || !out.Approval.Allow)) {
		s.fire(ctx, hook.Input{Event: hook.PermissionDenied, Call: out.Call.ID, Tool: out.Tool, ToolInput: out.Call.Args, Reason: e.Message})
	}
}
