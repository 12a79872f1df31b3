package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/reins-agent/reins/policy"
)

// Hook observes calls and can change or refuse them. Both methods get copies of the call and may be called
// concurrently, for different calls.
type Hook interface {
	// BeforeTool sees a valid call before the policy does. An error refuses the call.
	BeforeTool(ctx context.Context, c Call) (HookResult, error)
	// AfterTool sees the result of a call that ran and may change it. After an error the result stays unchanged, except
	// for a note about the error.
	AfterTool(ctx context.Context, c Call, r *Result) error
}

// HookResult is a hook's answer to a call. The zero value lets the call proceed.
type HookResult struct {
	Args    json.RawMessage // replaces the arguments, which are validated again; nil keeps them
	Deny    bool            // refuses the call
	Ask     bool            // requires approval even if the policy allows the call
	Message string          // reason, for the model or the approver
}

// before runs the hooks on a call and reports whether the call may continue. If a hook requires approval, that becomes
// the decision so far.
func (p *Pipeline) before(ctx context.Context, t target, out *Outcome) bool {
	for _, h := range p.Hooks {
		var r HookResult
		err := guard(func() (err error) {
			r, err = h.BeforeTool(ctx, out.Call.clone())
			return err
		})
		if err == nil && r.Args != nil && !r.Deny {
			if err = t.check.check(r.Args); err != nil {
				err = fmt.Errorf("it changed the arguments to invalid ones: %w", err)
			}
			out.Call.Args = slices.Clone(r.Args)
		}
		switch {
		case err != nil:
			out.deny("hook", "error", "a hook failed: "+err.Error())
			return out.refuse("%s was not run because a hook failed: %v", out.Tool, err)
		case r.Deny:
			out.deny("hook", "denied", r.Message)
			return out.refuse("%s was denied by a hook: %s", out.Tool, cmp.Or(r.Message, "no reason given"))
		case r.Ask && out.Decision.Rule == "":
			out.Decision = policy.Decision{Verdict: policy.Ask, Code: "asked", Rule: "hook", Reason: r.Message}
		}
	}
	return true
}

// after runs the hooks on a call's result.
func (p *Pipeline) after(ctx context.Context, c Call, res *Result) {
	for _, h := range p.Hooks {
		changed := res.clone()
		if err := guard(func() error { return h.AfterTool(ctx, c.clone(), &changed) }); err != nil {
			res.Notes = append(res.Notes, fmt.Sprintf("A hook failed after this call: %v", err))
			continue
		}
		*res = changed
	}
}

// clone copies everything a hook could change in place.
func (r Result) clone() Result {
	r.Fields = maps.Clone(r.Fields)
	r.Notes = slices.Clone(r.Notes)
	r.Images = slices.Clone(r.Images)
	if r.Error != nil {
		e := *r.Error
		e.Details = maps.Clone(e.Details)
		r.Error = &e
	}
	return r
}
