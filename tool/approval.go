package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/reins-agent/reins/policy"
)

// ErrPending is returned by an approver that has no answer yet. The call's outcome is then pending: it is neither run
// nor refused.
var ErrPending = errors.New("the approval is pending")

// Scope is what an approval covers.
type Scope string

// Scopes: this call, calls with the same accesses in this session, and such calls in all sessions. Approval.Rules can
// cover more. The host saves Always approvals.
const (
	Once       Scope = ""
	ForSession Scope = "session"
	Always     Scope = "always"
)

// Approval is the answer to a Request. The zero value refuses.
type Approval struct {
	Allow bool  `json:"allow"`
	Scope Scope `json:"scope,omitempty"`
	// Rules are what the scope covers besides this call, in the syntax for rules.Parse. Request.Suggest returns
	// suitable rules.
	Rules []string `json:"rules,omitempty"`
	// Args replaces the arguments, which are validated and judged again. The call runs with them
	// unless the policy denies it.
	Args json.RawMessage `json:"args,omitempty"`
	// Message is shown to the model.
	Message string `json:"message,omitempty"`
	// Abort refuses the call, regardless of Allow, and stops the turn.
	Abort bool `json:"abort,omitempty"`
}

// Request is a call that needs approval. It holds copies: changing them has no effect.
type Request struct {
	Agent    string // path of the calling agent; "" means the root
	Call     Call
	Spec     Spec
	Accesses []policy.Access
	Decision policy.Decision // why approval is needed

	tool   Tool
	policy policy.Policy
	query  policy.Query
}

// Home returns the user's home directory, or "" if it is unknown.
func (r Request) Home() string { return r.query.Workspace.Home }

// Suggest returns rules that would allow this call and similar calls, narrowest first. It returns none if the policy
// has no rules, or if the call leaves the sandbox, which no rule allows.
func (r Request) Suggest(ctx context.Context) (s []policy.Suggestion) {
	p, ok := r.policy.(policy.Extensible)
	if !ok || policy.LeavesSandbox(r.Accesses) {
		return nil
	}
	if err := guard(func() error { s = p.Suggest(ctx, r.query); return nil }); err != nil {
		return nil
	}
	return s
}

// Preview returns what the call would change, without changing it. It returns false if the tool has no
// preview. An error is usually the error that the call itself would return.
func (r Request) Preview(ctx context.Context) (p Preview, ok bool, err error) {
	previewer, ok := previewerOf(r.tool)
	if !ok {
		return Preview{}, false, nil
	}
	c := r.Call.clone()
	err = guard(func() (err error) {
		p, err = previewer.Preview(ctx, &c)
		return err
	})
	if errors.Is(err, ErrNoPreview) {
		return Preview{}, false, nil
	}
	return p, true, err
}

// judge records the policy's decision on a call. Arguments that the policy changes are judged again.
func (p *Pipeline) judge(ctx context.Context, t target, out *Outcome) {
	before := out.changed
	if p.decide(ctx, t, out); out.changed != before {
		p.decide(ctx, t, out)
	}
}

// decide asks the policy once. A policy that fails denies.
func (p *Pipeline) decide(ctx context.Context, t target, out *Outcome) {
	out.Accesses = confine(out.Call.Env, accesses(ctx, t.tool, out.Call))
	out.Call.Accesses = out.Accesses
	err := guard(func() error {
		q, err := p.query(ctx, t, out)
		if err != nil {
			return err
		}
		out.workspace = q.Workspace
		out.Decision = p.effectivePolicy().Decide(ctx, q)
		if policy.LeavesSandbox(out.Accesses) {
			out.Decision = leaving(out.Decision, out.Accesses, p.Mode)
		}
		if out.Decision.Verdict == policy.Ask && p.Granted != nil {
			if rule, ok := p.Granted(ctx, q); ok {
				out.Decision = policy.Decision{Verdict: policy.Allow, Code: "granted", Rule: rule, Reason: out.Decision.Reason}
			}
		}
		return p.replace(t, out)
	})
	if err != nil {
		out.deny("policy", "error", "the policy failed: "+err.Error())
	}
	if out.Decision.Rule == "" {
		out.Decision.Rule = "policy"
	}
}

// effectivePolicy returns the policy, or the default policy.
func (p *Pipeline) effectivePolicy() policy.Policy {
	if p.Policy == nil {
		return policy.AskAll{}
	}
	return p.Policy
}

// replace sets the arguments with which the policy allows the call.
func (p *Pipeline) replace(t target, out *Outcome) error {
	if d := out.Decision; d.Args == "" || d.Verdict != policy.Allow || d.Args == string(out.Call.Args) {
		return nil
	}
	if out.changed {
		return errors.New("it changes the arguments again and again")
	}
	args := json.RawMessage(out.Decision.Args)
	if err := t.check.check(args); err != nil {
		return fmt.Errorf("it changed the arguments to invalid ones: %w", err)
	}
	out.Call.Args, out.changed = args, true
	return nil
}

// accesses returns the accesses that a call declares, or nil if the tool panics.
func accesses(ctx context.Context, t Tool, c Call) (declared []policy.Access) {
	defer func() { _ = recover() }()
	return t.Access(ctx, &c)
}

// query describes a call to the policy.
func (p *Pipeline) query(ctx context.Context, t target, out *Outcome) (policy.Query, error) {
	q := policy.Query{
		Tool:      t.spec.Name,
		Args:      out.Call.Args,
		Accesses:  out.Accesses,
		Agent:     p.Agent,
		Mode:      p.Mode,
		Workspace: p.Workspace,

		ReadOnly:    t.spec.ReadOnly,
		Destructive: t.spec.Destructive,
		OpenWorld:   t.spec.OpenWorld,
	}
	for _, permission := range t.spec.Permissions {
		q.Permissions = append(q.Permissions, string(permission))
	}
	e := out.Call.Env
	if e != nil {
		q.Workspace.Paths = e.Info().Paths()
		q.Workspace.Files, q.Workspace.Shell = e, e.Info().Shell
	}
	q.Workspace = q.Workspace.Confined(e, p.Mode, out.Accesses)
	if q.Workspace.Dir != "" || e == nil {
		return q, nil
	}
	var err error
	q.Workspace.Dir, err = e.RealPath(ctx, e.Info().Dir)
	return q, err
}

// permitted judges a call, gets approval if needed, and reports whether the call may run. If not, the
// outcome has the reason.
func (p *Pipeline) permitted(ctx context.Context, t target, out *Outcome) bool {
	ask := out.Decision // set if a hook asks for approval
	p.judge(ctx, t, out)
	if ask.Verdict == policy.Ask && out.Decision.Verdict == policy.Allow {
		out.Decision = ask
	}
	switch {
	case out.Decision.Verdict == policy.Allow:
		return true
	case out.Decision.Verdict != policy.Ask:
		return out.refuse("%s was denied: %s", out.Tool, reason(out.Decision))
	case p.unread(ctx, t, out):
		return false
	case p.Approve == nil:
		return out.refuse("%s needs approval (%s), but no approver is configured", out.Tool, reason(out.Decision))
	}
	a, err := p.ask(ctx, t, out)
	if errors.Is(err, ErrPending) || err != nil && ctx.Err() != nil {
		out.Pending = true
		return false
	}
	if err != nil {
		a = Approval{Message: err.Error()}
	}
	out.Approval = &a
	return p.answered(ctx, t, out)
}

// unread refuses a call that would fail with NotRead, and reports whether it did: no approval is needed for it. Other
// failures may reveal file contents, which needs approval.
func (p *Pipeline) unread(ctx context.Context, t target, out *Outcome) bool {
	_, _, err := Request{Call: out.Call, tool: t.tool}.Preview(ctx)
	failure, ok := errors.AsType[*Error](err)
	if !ok || failure.Code != NotRead {
		return false
	}
	out.Result.Error = failure
	return true
}

// ask asks for approval and records how long the answer took.
func (p *Pipeline) ask(ctx context.Context, t target, out *Outcome) (a Approval, err error) {
	start := time.Now()
	defer func() { out.Waited = time.Since(start) }()
	r := Request{
		Agent:    p.Agent,
		Call:     out.Call.clone(),
		Spec:     t.spec,
		Accesses: slices.Clone(out.Accesses),

		Decision: out.Decision,
		tool:     t.tool,
		policy:   p.effectivePolicy(),
	}
	r.query, _ = p.query(ctx, t, out)
	r.Call.Env = bind(r.Call.Env, r.Accesses, policy.Decision{Verdict: policy.Allow, Box: policy.BoxRead}, nil) // a preview only reads
	err = guard(func() (err error) {
		a, err = p.Approve(ctx, r)
		return err
	})
	a.Args = slices.Clone(a.Args)
	return a, err
}

// answered applies an approval and reports whether the call may run.
func (p *Pipeline) answered(ctx context.Context, t target, out *Outcome) bool {
	a := out.Approval
	out.Aborted = a.Abort
	switch {
	case (a.Abort || !a.Allow) && a.Message != "":
		return out.refuse("%s was refused: %s", out.Tool, a.Message)
	case a.Abort || !a.Allow:
		return out.refuse("%s was refused", out.Tool)
	case a.Args == nil:
		return p.stillValid(ctx, t, out)
	}
	if err := t.check.check(a.Args); err != nil {
		return out.refuse("%s was approved with changed arguments that are invalid: %v", out.Tool, err)
	}
	out.Call.Args = slices.Clone(a.Args)
	p.judge(ctx, t, out)
	if v := out.Decision.Verdict; v != policy.Allow && v != policy.Ask {
		return out.refuse("%s was approved with changed arguments, but these were denied: %s", out.Tool, reason(out.Decision))
	}
	return true
}

// stillValid judges a call again after it was approved, because links or rules may have changed while
// the approval was pending.
func (p *Pipeline) stillValid(ctx context.Context, t target, out *Outcome) bool {
	asked := *out
	p.judge(ctx, t, out)
	if out.changed != asked.changed {
		out.deny("approval", "changed", "the policy changed its arguments while it waited for approval")
		return out.refuse("%s was not run because the policy changed its arguments while it waited for approval; try again", out.Tool)
	}
	if (out.Accesses == nil) != (asked.Accesses == nil) || !slices.Equal(out.Accesses, asked.Accesses) {
		out.deny("approval", "changed", "its accesses changed while it waited for approval")
		return out.refuse("%s was not run because what it would access changed while it waited for approval; try again", out.Tool)
	}
	if v := out.Decision.Verdict; v != policy.Allow && v != policy.Ask {
		return out.refuse("%s was approved, but then denied: %s", out.Tool, reason(out.Decision))
	}
	out.Decision = asked.Decision // the approved decision
	return true
}

// refuse records why a call may not run. It returns false.
func (o *Outcome) refuse(format string, args ...any) bool {
	o.Result = Failure(PermissionDenied, format, args...)
	return false
}

// reason returns a decision's reason.
func reason(d policy.Decision) string { return cmp.Or(d.Reason, "rule "+d.Rule) }

// noteApproval tells the model about the message and the changes that came with the approval.
func (o *Outcome) noteApproval() {
	if o.Approval == nil {
		return
	}
	if o.Approval.Args != nil {
		o.Result.Notes = append(o.Result.Notes, "The call was approved with changed arguments: "+shorten(string(o.Approval.Args), 1000))
	}
	if o.Approval.Message != "" {
		o.Result.Notes = append(o.Result.Notes, "The call was approved with this message: "+o.Approval.Message)
	}
}
