// Package callhook runs hooks when a pipeline runs tool calls.
package callhook

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"

	"github.com/reins-agent/reins/hook"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// Calls runs hooks at tool calls. It is a [tool.Hook].
type Calls struct {
	Set   *hook.Set
	Tools *tool.Registry
	// Fire runs the hooks for an event. It adds the members to the input that do not depend on the call.
	Fire func(ctx context.Context, in hook.Input) hook.Output
	// Restrictions returns what hooks have restricted so far.
	Restrictions func() []hook.Restriction
}

// BeforeTool runs the hooks of PreToolUse, and applies restrictions to the call as the hooks leave it.
func (h Calls) BeforeTool(ctx context.Context, c tool.Call) (tool.HookResult, error) {
	spec, _ := h.Tools.Spec(c.Name)
	out := h.Fire(ctx, hook.Input{Event: hook.PreToolUse, Call: c.ID, Tool: spec.Name, ToolInput: c.Args})
	res := tool.HookResult{Args: out.Input, Deny: out.Refuses(), Ask: out.Decision == hook.Ask, Message: cmp.Or(out.Reason, out.StopReason)}
	if out.Input != nil {
		c.Args = out.Input
	}
	return h.Restrict(c, res), nil
}

// Restrict applies restrictions to what hooks decided on a call.
func (h Calls) Restrict(c tool.Call, res tool.HookResult) tool.HookResult {
	list := h.Restrictions()
	if len(list) == 0 || res.Deny { // the usual case
		return res
	}
	spec, _ := h.Tools.Spec(c.Name)
	switch r := h.Set.Restriction(list, hook.Input{Tool: spec.Name, ToolInput: c.Args, Dir: c.Env.Info().Dir}); {
	case r.Behavior == hook.Deny:
		res.Deny, res.Message = true, "a hook has denied "+r.Tool+" for the rest of the session"
	case r.Behavior == hook.Ask && !res.Ask:
		res.Ask, res.Message = true, "a hook requires an approval for "+r.Tool
	}
	return res
}

// AfterTool runs the hooks of PostToolUse or PostToolUseFailure, unless the work was interrupted.
func (h Calls) AfterTool(ctx context.Context, c tool.Call, res *tool.Result) error {
	if ctx.Err() != nil {
		return nil
	}
	spec, _ := h.Tools.Spec(c.Name)
	in := hook.Input{Event: hook.PostToolUse, Call: c.ID, Tool: spec.Name, ToolInput: c.Args}
	if res.Error != nil {
		in.Event, in.Error = hook.PostToolUseFailure, res.Error.Message
	} else if h.Set.Has(hook.PostToolUse) {
		in.Response = response(*res)
	}
	if out := h.Fire(ctx, in); out.Response != nil && res.Error == nil {
		res.Output = tool.Text(*out.Response)
		res.Present = nil
		res.Images = nil
	}
	h.changed(ctx, c, res.Artifacts)
	return nil
}

// changed runs the hooks of FileChanged for each file that a call changed.
func (h Calls) changed(ctx context.Context, c tool.Call, made tool.Artifacts) {
	if !h.Set.Has(hook.FileChanged) {
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
		h.Fire(ctx, hook.Input{Event: hook.FileChanged, Call: c.ID, File: full, Change: change})
	}
}

// maxResponse is the size in bytes to which outputs are truncated for hooks.
const maxResponse = 256 << 10

// response returns a result for hooks.
func response(res tool.Result) map[string]any {
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

// Requested runs PermissionRequest hooks before the first approval request, and Notification hooks if attended. It
// returns an answer if the hooks refuse the call.
func (h Calls) Requested(ctx context.Context, r tool.Request, attended bool) *tool.Approval {
	out := h.Fire(ctx, hook.Input{
		Event:     hook.PermissionRequest,
		Call:      r.Call.ID,
		Tool:      r.Spec.Name,
		ToolInput: r.Call.Args,
		Reason:    r.Decision.Reason,
	})
	if out.Refuses() {
		return &tool.Approval{Message: cmp.Or(out.Reason, out.StopReason, "a hook denied it")}
	}
	if attended {
		h.Fire(
			ctx,
			hook.Input{Event: hook.Notification, Kind: "permission_prompt", Message: "Reins needs your approval to use " + r.Spec.Name},
		)
	}
	return nil
}

// Ended runs PermissionDenied hooks for a refused call.
func (h Calls) Ended(ctx context.Context, out tool.Outcome) {
	d := out.Decision
	if e := out.Result.Error; e != nil && e.Code == tool.PermissionDenied &&
		(d.Verdict == policy.Deny || d.Verdict == policy.Ask && (out.Approval == nil || !out.Approval.Allow)) {
		h.Fire(ctx, hook.Input{
			Event:     hook.PermissionDenied,
			Call:      out.Call.ID,
			Tool:      out.Tool,
			ToolInput: out.Call.Args,
			Reason:    e.Message,
		})
	}
}
