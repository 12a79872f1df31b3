package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/reins-agent/reins/policy"
)

// Pipeline runs tool calls, all of them the same way:
//
//	audit( lookup → validate → hooks → policy → approval → execute → truncate )
//
// Whatever happens on the way, there is exactly one outcome.
type Pipeline struct {
	Registry *Registry
	// Policy judges what calls touch; nil is policy.Workspace over the call's environment.
	Policy policy.Policy
	// Approve is asked about calls that the policy does not decide; nil refuses them. An error
	// refuses the call too.
	Approve func(ctx context.Context, r Request) (Approval, error)
	// Middleware wraps the execution of a call that was let through; the first is outermost.
	Middleware []Middleware
	// Limits override how much of the output the model sees, by tool name.
	Limits map[string]Limit
	// Audit gets every outcome, also of calls that were refused.
	Audit func(Outcome)
}

// Middleware wraps the execution of tools.
type Middleware func(next Handler) Handler

// Handler executes a call of a tool.
type Handler func(ctx context.Context, t Tool, c *Call) (Result, error)

// Request is a call that waits for an approval.
type Request struct {
	Call     *Call
	Spec     Spec
	Accesses []policy.Access
	Reason   string // why it is asked about
}

// Approval is the answer to a Request. The zero value refuses.
type Approval struct {
	Allowed bool
	Reason  string // for the model, if it is refused
}

// Outcome is what came of a call.
type Outcome struct {
	Call     Call
	Tool     string // the name of the tool that the call led to; "" if there is none
	Version  string
	Accesses []policy.Access
	Decision policy.Decision
	Result   Result
	// Model is what the model sees: the error's message and the output, truncated.
	Model    string
	Duration time.Duration
}

// OK reports whether the call succeeded.
func (o Outcome) OK() bool { return o.Result.Error == nil }

// Run runs one call.
func (p *Pipeline) Run(ctx context.Context, call Call) Outcome {
	start := time.Now()
	out := Outcome{Call: call}
	var limit Limit
	if t := p.prepare(ctx, &out); t != nil {
		out.Result = p.execute(ctx, t, &out.Call)
		limit = t.Spec().Limit
	}
	out.Model = p.modelText(&out, limit)
	out.Duration = time.Since(start)
	if p.Audit != nil {
		p.Audit(out)
	}
	return out
}

// Check does everything but execute: it reports what the call would touch and what would be
// decided. The result of the outcome is an error only if the call would fail before the decision.
func (p *Pipeline) Check(ctx context.Context, call Call) Outcome {
	out := Outcome{Call: call}
	if t := p.admit(&out); t != nil {
		p.judge(ctx, t, &out)
	}
	return out
}

// prepare takes a call up to its execution. It returns nil if the call ends here, with the result
// set to the reason.
func (p *Pipeline) prepare(ctx context.Context, out *Outcome) Tool {
	t := p.admit(out)
	if t == nil {
		return nil
	}
	p.judge(ctx, t, out)
	if refusal := p.refusal(ctx, t, out); refusal != "" {
		out.Result = Failure(PermissionDenied, "%s", refusal)
		return nil
	}
	return t
}

// admit finds the tool and validates the arguments.
func (p *Pipeline) admit(out *Outcome) Tool {
	e, alias, ok := p.Registry.find(out.Call.Name)
	if !ok {
		out.Result = Failure(UnknownTool, "Unknown tool: %s. There are: %s", out.Call.Name, strings.Join(p.Registry.Names(), ", "))
		return nil
	}
	spec := e.tool.Spec()
	out.Tool, out.Version = spec.Name, spec.Version
	args, err := alias.rename(out.Call.Args)
	if err == nil {
		err = e.check.check(args)
	}
	if err != nil {
		out.Result = Failure(ValidationError, "Invalid arguments for %s: %v", spec.Name, err)
		return nil
	}
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	out.Call.Args = args
	return e.tool
}

// judge asks the policy. A tool that panics over its accesses has not declared them.
func (p *Pipeline) judge(ctx context.Context, t Tool, out *Outcome) {
	func() {
		defer func() { _ = recover() }()
		out.Accesses = t.Access(ctx, &out.Call)
	}()
	judge := p.Policy
	if judge == nil {
		dir, err := out.Call.Env.RealPath(ctx, out.Call.Env.Info().Dir)
		if err != nil {
			out.Decision = policy.Decision{Verdict: policy.Deny, Reason: err.Error()}
			return
		}
		judge = policy.Workspace{Dir: dir}
	}
	out.Decision = judge.Decide(out.Accesses)
}

// refusal is why the call may not run, or "".
func (p *Pipeline) refusal(ctx context.Context, t Tool, out *Outcome) string {
	name := out.Tool
	switch out.Decision.Verdict {
	case policy.Allow:
		return ""
	case policy.Deny:
		return fmt.Sprintf("%s was denied: %s", name, out.Decision.Reason)
	}
	if p.Approve == nil {
		return fmt.Sprintf("%s needs an approval (%s), and there is nobody to ask", name, out.Decision.Reason)
	}
	a, err := p.Approve(ctx, Request{&out.Call, t.Spec(), out.Accesses, out.Decision.Reason})
	switch {
	case err != nil:
		return fmt.Sprintf("%s was not approved: %v", name, err)
	case !a.Allowed && a.Reason != "":
		return fmt.Sprintf("%s was refused: %s", name, a.Reason)
	case !a.Allowed:
		return name + " was refused"
	}
	return ""
}

// execute runs the tool inside the host's middleware.
func (p *Pipeline) execute(ctx context.Context, t Tool, c *Call) (res Result) {
	name := t.Spec().Name
	defer func() {
		if v := recover(); v != nil {
			res = Failure(InternalError, "Tool error (%s): it panicked: %v", name, v)
			res.Error.Details = map[string]any{"stack": string(debug.Stack())}
		}
	}()
	run := Handler(func(ctx context.Context, t Tool, c *Call) (Result, error) { return t.Run(ctx, c) })
	for i := len(p.Middleware) - 1; i >= 0; i-- {
		run = p.Middleware[i](run)
	}
	res, err := run(ctx, t, c)
	var known *Error
	switch {
	case err == nil:
	case errors.As(err, &known):
		res.Error = known
	case ctx.Err() != nil:
		res.Error = &Error{Code: Cancelled, Message: fmt.Sprintf("%s was interrupted: %v", name, context.Cause(ctx))}
	default:
		res.Error = &Error{Code: InternalError, Message: fmt.Sprintf("Tool error (%s): %v", name, err)}
	}
	return res
}

// modelText is what the model sees of a result.
func (p *Pipeline) modelText(out *Outcome, limit Limit) string {
	limit = p.Limits[out.Tool].or(out.Result.Limit).or(limit).or(DefaultLimit(out.Tool))
	text, err := out.Result.present(limit)
	if err != nil && out.Result.Error == nil {
		out.Result.Error = &Error{Code: IOError, Message: "the output could not be read back: " + err.Error()}
	}
	failure := out.Result.Error
	switch {
	case failure == nil && text == "" && len(out.Result.Images) == 0:
		return "(no output)"
	case failure == nil, failure.Shown && text != "":
		return text
	case text == "":
		return failure.Message
	}
	return strings.TrimRight(text, "\n") + "\n\n" + failure.Message
}
