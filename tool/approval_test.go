package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/policy/rules"
)

func answers(a Approval, err error) func(context.Context, Request) (Approval, error) {
	return func(context.Context, Request) (Approval, error) { return a, err }
}

func TestApproval_Decides(t *testing.T) {
	for _, c := range []struct {
		name    string
		answer  Approval
		err     error
		ok      bool
		aborted bool
		model   string
	}{
		{"zero value", Approval{}, nil, false, false, "echo was refused"},
		{"once", Approval{Allow: true}, nil, true, false, "/x"},
		{"for the session", Approval{Allow: true, Scope: ForSession}, nil, true, false, "/x"},
		{"with a message", Approval{Allow: true, Message: "be quick"}, nil, true, false, "/x\n\n[The call was approved with this message: be quick]"},
		{"refused with a message", Approval{Message: "not today"}, nil, false, false, "echo was refused: not today"},
		{"aborted", Approval{Abort: true, Message: "stop"}, nil, false, true, "echo was refused: stop"},
		{"abort wins", Approval{Allow: true, Abort: true}, nil, false, true, "echo was refused"},
		{"failed", Approval{Allow: true}, errors.New("the terminal is gone"), false, false, "echo was refused: the terminal is gone"},
		{"failed and allowed in abort", Approval{Allow: true, Abort: true}, errors.New("gone"), false, false, "echo was refused: gone"},
	} {
		p := pipeline(t, echo(byText))
		p.Approve = answers(c.answer, c.err)
		out := p.Run(t.Context(), call("echo", `{"text":"/x"}`))
		if out.OK() != c.ok || out.Aborted != c.aborted || out.Pending || out.Model != c.model {
			t.Errorf("%s: ok %v, aborted %v, %q; want %v, %v, %q", c.name, out.OK(), out.Aborted, out.Model, c.ok, c.aborted, c.model)
		}
		if out.Approval == nil || out.Approval.Allow && c.err != nil || c.err == nil && out.Approval.Scope != c.answer.Scope {
			t.Errorf("%s: the outcome has the approval %+v", c.name, out.Approval)
		}
		if out.Decision.Verdict != policy.Ask || out.Decision.Rule != "mode default" {
			t.Errorf("%s: decision %+v", c.name, out.Decision)
		}
	}
}

func TestApproval_PanicRefuses(t *testing.T) {
	p := pipeline(t, echo(nil))
	p.Approve = func(context.Context, Request) (Approval, error) { panic("oops") }
	if out := p.Run(t.Context(), call("echo", `{"text":"x"}`)); out.OK() || !strings.Contains(out.Model, "oops") {
		t.Errorf("%q", out.Model)
	}
}

func TestApproval_ChangedArgumentsAreValidatedAndJudgedAgain(t *testing.T) {
	for _, c := range []struct {
		name, args string
		verdict    policy.Verdict // the policy's verdict on the changed arguments
		ok         bool
		model      string
	}{
		{"allowed", `{"text":"/new"}`, policy.Allow, true, "/new\n\n[The call was approved with changed arguments: {\"text\":\"/new\"}]"},
		{"asked about is approved already", `{"text":"/new"}`, policy.Ask, true, "/new\n\n[The call was approved with changed arguments: {\"text\":\"/new\"}]"},
		{"denied", `{"text":"/new"}`, policy.Deny, false, "echo was approved with changed arguments, but these were denied: judged /new"},
		{"invalid", `{"text":1}`, policy.Allow, false, `echo was approved with changed arguments that are invalid: "text" is the number 1`},
		{"not JSON", `{`, policy.Allow, false, "echo was approved with changed arguments that are invalid"},
	} {
		p := pipeline(t, echo(byText))
		p.Policy = policy.Func(func(_ context.Context, q policy.Query) policy.Decision {
			d := policy.Decision{Verdict: policy.Ask, Rule: "first"}
			if q.Accesses[0].Target == "/new" {
				d = policy.Decision{Verdict: c.verdict, Rule: "second", Reason: "judged " + q.Accesses[0].Target}
			}
			return d
		})
		p.Approve = answers(Approval{Allow: true, Args: json.RawMessage(c.args)}, nil)
		out := p.Run(t.Context(), call("echo", `{"text":"/old"}`))
		if out.OK() != c.ok || !strings.HasPrefix(out.Model, c.model) {
			t.Errorf("%s: ok %v, %q; want %v, %q", c.name, out.OK(), out.Model, c.ok, c.model)
		}
		if c.ok && (string(out.Call.Args) != c.args || out.Accesses[0].Target != "/new" || out.Decision.Rule != "second") {
			t.Errorf("%s: the outcome has %s, %v, %+v", c.name, out.Call.Args, out.Accesses, out.Decision)
		}
	}
}

func TestApproval_ChangedArgumentsWhoseAccessPanicsHaveNoneOfTheFormerOnes(t *testing.T) {
	p := pipeline(t, echo(func(ctx context.Context, c *Call, in echoIn) []policy.Access {
		if in.Text == "/new" {
			panic("no idea")
		}
		return byText(ctx, c, in)
	}))
	p.Approve = answers(Approval{Allow: true, Args: json.RawMessage(`{"text":"/new"}`)}, nil)
	if out := p.Run(t.Context(), call("echo", `{"text":"/old"}`)); out.Accesses != nil {
		t.Errorf("the changed call has the accesses %v", out.Accesses)
	}
}

func TestApproval_PendingIsNeitherRunNorRefused(t *testing.T) {
	for _, c := range []struct {
		name    string
		err     error
		cancel  bool
		pending bool
	}{
		{"asked to wait", ErrPending, false, true},
		{"asked to wait, wrapped", fmt.Errorf("sent by mail: %w", ErrPending), false, true},
		{"context ended", errors.New("closed"), true, true},
		{"answered as the context ended", nil, true, false},
		{"failed", errors.New("closed"), false, false},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		p := pipeline(t, echo(nil))
		audited := 0
		p.Audit = func(Outcome) { audited++ }
		p.Approve = func(context.Context, Request) (Approval, error) {
			if c.cancel {
				cancel()
			}
			return Approval{Allow: true}, c.err
		}
		out := p.Run(ctx, call("echo", `{"text":"x"}`))
		cancel()
		if out.Pending != c.pending || audited != 1 {
			t.Errorf("%s: pending %v, audited %d times, want %v and once", c.name, out.Pending, audited, c.pending)
		}
		empty := out.Result.Error == nil && out.Result.Output == nil && out.Model == "" && out.Approval == nil
		if c.pending && (!empty || out.OK() || out.Decision.Verdict != policy.Ask) {
			t.Errorf("%s: a pending call has %+v", c.name, out)
		}
	}
}

func TestRequest_HoldsCopies(t *testing.T) {
	p := pipeline(t, echo(byText))
	p.Agent = "1.2"
	var asked Request
	p.Approve = func(_ context.Context, r Request) (Approval, error) {
		asked = r
		copy(r.Call.Args, `{"text":"/EVIL"}`)
		r.Accesses[0].Target = "/EVIL"
		return Approval{Allow: true}, nil
	}
	out := p.Run(t.Context(), call("echo", `{"text":"/good"}`))
	if out.Model != "/good" || out.Accesses[0].Target != "/good" {
		t.Errorf("the approver changed the call to %s over %v", out.Call.Args, out.Accesses)
	}
	if asked.Agent != "1.2" || asked.Spec.Name != "echo" || asked.Decision.Rule != "mode default" || asked.Decision.Reason != "reads /good, outside the working directory" {
		t.Errorf("the approver got %+v", asked)
	}
}

func TestGranted_AnswersForWhatThePolicyAsksAbout(t *testing.T) {
	for _, c := range []struct {
		verdict policy.Verdict
		granted bool
		want    policy.Verdict
		rule    string
	}{
		{policy.Ask, true, policy.Allow, "session"},
		{policy.Ask, false, policy.Ask, "test"},
		{policy.Deny, true, policy.Deny, "test"},
		{policy.Allow, true, policy.Allow, "test"},
	} {
		p := pipeline(t, echo(nil))
		p.Policy = policy.Func(func(context.Context, policy.Query) policy.Decision {
			return policy.Decision{Verdict: c.verdict, Rule: "test"}
		})
		p.Granted = func(_ context.Context, q policy.Query) (string, bool) {
			return "session", c.granted && q.Tool == "echo"
		}
		if d := p.Run(t.Context(), call("echo", `{"text":"x"}`)).Decision; d.Verdict != c.want || d.Rule != c.rule {
			t.Errorf("%v, granted %v: %+v, want %v by %s", c.verdict, c.granted, d, c.want, c.rule)
		}
	}
}

func TestPipeline_PolicyGetsTheWholeQueryForAliasesToo(t *testing.T) {
	tl := New(Spec{Name: "echo", Permissions: []Permission{FSRead}, ReadOnly: true, Destructive: true, OpenWorld: true}, byText,
		func(context.Context, *Call, echoIn) (Result, error) { return Success("ran"), nil })
	for name, args := range map[string]string{"echo": `{"text":"/a"}`, "Say": `{"words_to_say":"/a"}`} {
		p := pipeline(t, tl)
		p.Registry.Alias(Alias{Name: "Say", Tool: "echo", Params: map[string]string{"words_to_say": "text"}})
		p.Agent, p.Mode = "1", "plan"
		var got policy.Query
		p.Policy = policy.Func(func(_ context.Context, q policy.Query) policy.Decision {
			got = q
			return policy.Decision{Verdict: policy.Deny}
		})
		out := p.Run(t.Context(), call(name, args))
		b, err := json.Marshal(got)
		want := `{"tool":"echo","args":{"text":"/a"},"permissions":["fs.read"],"read_only":true,"destructive":true,"open_world":true,` +
			`"accesses":[{"kind":"read","target":"/a"}],"agent":"1","mode":"plan","workspace":{"dir":"/repo"}}`
		if string(b) != want || err != nil {
			t.Errorf("%s: the policy got %s (%v), want %s", name, b, err, want)
		}
		if out.OK() || out.Tool != "echo" {
			t.Errorf("%s: a denied call gave %+v", name, out)
		}
	}
}

func TestPipeline_WorkspaceOfTheHostWins(t *testing.T) {
	p := pipeline(t, echo(byText))
	p.Workspace.Dir = "/elsewhere"
	for text, want := range map[string]policy.Verdict{"/elsewhere/a": policy.Allow, "/repo/a": policy.Ask} {
		if d := p.Check(t.Context(), call("echo", `{"text":"`+text+`"}`)).Decision; d.Verdict != want {
			t.Errorf("%s: %v, want %v", text, d.Verdict, want)
		}
	}
}

// lost is an environment whose directory cannot be resolved.
type lost struct{ env.Environment }

func (lost) Info() env.Info { return env.Info{Dir: "/gone"} }

func (lost) RealPath(context.Context, string) (string, error) { return "", errors.New("it is gone") }

func TestPipeline_EveryDecisionNamesItsRule(t *testing.T) {
	nameless := policy.Func(func(context.Context, policy.Query) policy.Decision { return policy.Decision{Verdict: policy.Allow} })
	panics := policy.Func(func(context.Context, policy.Query) policy.Decision { panic("oops") })
	for _, c := range []struct {
		name   string
		call   Call
		policy policy.Policy
		want   policy.Decision
	}{
		{"unknown tool", call("nothing", `{}`), nil, policy.Decision{Verdict: policy.Deny, Code: "unknown_tool", Rule: "lookup", Reason: "unknown tool"}},
		{"invalid arguments", call("echo", `{}`), nil, policy.Decision{Verdict: policy.Deny, Code: "invalid_arguments", Rule: "validation", Reason: "invalid arguments"}},
		{"rules", call("echo", `{"text":"/repo/a"}`), rules.Policy{}, policy.Decision{Verdict: policy.Allow, Code: "reads_inside", Rule: "mode default", Reason: "only reads inside the working directory"}},
		{"no policy", call("echo", `{"text":"/repo/a"}`), nil, policy.Decision{Verdict: policy.Ask, Code: "ask_all", Rule: "ask-all", Reason: "there is no policy that allows it"}},
		{"allow all", call("echo", `{"text":"/x"}`), policy.AllowAll{}, policy.Decision{Verdict: policy.Allow, Code: "allow_all", Rule: "allow-all", Reason: "everything is allowed"}},
		{"policy without a rule", call("echo", `{"text":"/x"}`), nameless, policy.Decision{Verdict: policy.Allow, Rule: "policy"}},
		{"panicking policy", call("echo", `{"text":"/x"}`), panics, policy.Decision{Verdict: policy.Deny, Code: "error", Rule: "policy", Reason: "the policy failed: it panicked: oops"}},
		{"lost workspace", Call{Name: "echo", Args: json.RawMessage(`{"text":"/x"}`), Env: lost{}}, policy.AllowAll{},
			policy.Decision{Verdict: policy.Deny, Code: "error", Rule: "policy", Reason: "the policy failed: it is gone"}},
	} {
		p := pipeline(t, echo(byText))
		p.Policy = c.policy
		out := p.Run(t.Context(), c.call)
		if !reflect.DeepEqual(out.Decision, c.want) || out.OK() != (c.want.Verdict == policy.Allow) {
			t.Errorf("%s: %+v, ok %v; want %+v", c.name, out.Decision, out.OK(), c.want)
		}
	}
}

func TestPipeline_ToolThatTouchesNothingNeedsNoApproval(t *testing.T) {
	clock := New(Spec{Name: "clock"}, Nothing, func(context.Context, *Call, struct{}) (Result, error) { return Success("noon"), nil })
	out := pipeline(t, clock).Run(t.Context(), call("clock", `{}`))
	if !out.OK() || out.Accesses == nil || out.Decision.Code != "touches_nothing" {
		t.Errorf("%q, accesses %v, %+v", out.Model, out.Accesses, out.Decision)
	}
}

func TestOutcome_DurationLeavesTheWaitForTheApprovalOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := New(Spec{Name: "slow"}, nil, func(context.Context, *Call, echoIn) (Result, error) {
			time.Sleep(3 * time.Second)
			return Result{}, nil
		})
		p := pipeline(t, slow)
		p.Approve = func(context.Context, Request) (Approval, error) {
			time.Sleep(time.Hour)
			return Approval{Allow: true}, nil
		}
		out := p.Run(t.Context(), call("slow", `{"text":"x"}`))
		if out.Duration != 3*time.Second || out.Waited != time.Hour {
			t.Errorf("took %v and waited %v, want 3s and 1h", out.Duration, out.Waited)
		}
	})
}

func TestPolicy_CanAllowACallWithOtherArguments(t *testing.T) {
	swap := func(to string) policy.Policy {
		return policy.Func(func(_ context.Context, q policy.Query) policy.Decision {
			if string(q.Args) == to {
				return policy.Decision{Verdict: policy.Allow, Rule: "same"}
			}
			return policy.Decision{Verdict: policy.Allow, Rule: "swap", Args: to}
		})
	}
	endless := policy.Func(func(_ context.Context, q policy.Query) policy.Decision {
		return policy.Decision{Verdict: policy.Allow, Rule: "endless", Args: `{"text":"` + strings.Repeat("x", len(q.Args)) + `"}`}
	})
	refused := policy.Func(func(_ context.Context, q policy.Query) policy.Decision {
		if strings.Contains(string(q.Args), "new") {
			return policy.Decision{Verdict: policy.Deny, Rule: "no"}
		}
		return policy.Decision{Verdict: policy.Allow, Rule: "swap", Args: `{"text":"new"}`}
	})
	for name, c := range map[string]struct {
		policy policy.Policy
		ok     bool
		model  string
	}{
		"changed":            {swap(`{"text":"new"}`), true, "new"},
		"invalid":            {swap(`{"text":1}`), false, "changed the arguments to invalid ones"},
		"changed and denied": {refused, false, "was denied"},
		"again and again":    {endless, false, "again and again"},
	} {
		p := pipeline(t, echo(nil))
		p.Policy = c.policy
		if out := p.Run(t.Context(), call("echo", `{"text":"old"}`)); out.OK() != c.ok || !strings.Contains(out.Model, c.model) {
			t.Errorf("%s: got %q, ok %v, by %+v; want %q, ok %v", name, out.Model, out.OK(), out.Decision, c.model, c.ok)
		}
	}
}

func TestPolicy_ArgumentsItChangesAfterAnApprovalAreJudgedAgain(t *testing.T) {
	p := pipeline(t, echo(byText))
	p.Policy = policy.Func(func(_ context.Context, q policy.Query) policy.Decision {
		switch q.Accesses[0].Target {
		case "/approved":
			return policy.Decision{Verdict: policy.Allow, Rule: "swap", Args: `{"text":"/secret"}`}
		case "/secret":
			return policy.Decision{Verdict: policy.Deny, Rule: "no", Reason: "secret"}
		}
		return policy.Decision{Verdict: policy.Ask, Rule: "ask"}
	})
	p.Approve = answers(Approval{Allow: true, Args: json.RawMessage(`{"text":"/approved"}`)}, nil)
	if out := p.Run(t.Context(), call("echo", `{"text":"/old"}`)); out.OK() || !strings.Contains(out.Model, "denied: secret") {
		t.Errorf("got %q, want a refusal", out.Model)
	}
}

func TestRequest_SuggestsRulesOfThePolicy(t *testing.T) {
	p := pipeline(t, echo(byText))
	var got []policy.Suggestion
	p.Approve = func(ctx context.Context, r Request) (Approval, error) {
		got = r.Suggest(ctx)
		return Approval{}, nil
	}
	p.Run(t.Context(), call("echo", `{"text":"/etc/x"}`))
	if len(got) != 1 || got[0].Rules[0] != "Read(//etc/**)" {
		t.Errorf("got %+v", got)
	}
	p.Policy = policy.Func(func(context.Context, policy.Query) policy.Decision { return policy.Decision{Verdict: policy.Ask} })
	p.Run(t.Context(), call("echo", `{"text":"/etc/x"}`))
	if got != nil {
		t.Errorf("a policy without rules suggests %+v", got)
	}
}

func TestApproval_UndeclaredAccessesDifferFromNone(t *testing.T) {
	undeclared, nothing := []policy.Access(nil), []policy.Access{}
	for _, c := range []struct{ asked, then []policy.Access }{{undeclared, nothing}, {nothing, undeclared}} {
		declared := c.asked
		p := pipeline(t, echo(func(context.Context, *Call, echoIn) []policy.Access { return declared }))
		p.Policy = policy.Func(func(context.Context, policy.Query) policy.Decision {
			return policy.Decision{Verdict: policy.Ask, Rule: "test"}
		})
		p.Approve = func(context.Context, Request) (Approval, error) {
			declared = c.then
			return Approval{Allow: true}, nil
		}
		out := p.Run(t.Context(), call("echo", `{"text":"hi"}`))
		if out.OK() || !strings.Contains(out.Model, "what it would access changed") {
			t.Errorf("from %#v to %#v: got %q, want a refusal", c.asked, c.then, out.Model)
		}
	}
}
