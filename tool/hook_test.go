package tool

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/reins-agent/reins/policy"
)

// hooks is a hook made from functions.
type hooks struct {
	before func(c Call) (HookResult, error)
	after  func(c Call, r *Result) error
}

func (h hooks) BeforeTool(_ context.Context, c Call) (HookResult, error) {
	if h.before == nil {
		return HookResult{}, nil
	}
	return h.before(c)
}

func (h hooks) AfterTool(_ context.Context, c Call, r *Result) error {
	if h.after == nil {
		return nil
	}
	return h.after(c, r)
}

// byText reads the path that the text names.
func byText(_ context.Context, _ *Call, in echoIn) []policy.Access {
	return []policy.Access{{Kind: policy.Read, Target: in.Text}}
}

func TestHook_BeforeTheCall(t *testing.T) {
	changed := func(args string) func(Call) (HookResult, error) {
		return func(Call) (HookResult, error) { return HookResult{Args: json.RawMessage(args)}, nil }
	}
	for _, c := range []struct {
		name  string
		hooks []Hook
		model string // what the model reads
		rule  string
	}{
		{"no objection", []Hook{hooks{}}, "/repo/a", "mode default"},
		{"in-place change has no effect", []Hook{hooks{before: func(c Call) (HookResult, error) {
			copy(c.Args, `{"text":"/EVIL/x"}`)
			return HookResult{}, nil
		}}}, "/repo/a", "mode default"},
		{"changed arguments run", []Hook{hooks{before: changed(`{"text":"/repo/b"}`)}}, "/repo/b", "mode default"},
		{"changed arguments are judged", []Hook{hooks{before: changed(`{"text":"/x"}`)}}, "reads /x, outside", "mode default"},
		{"changed arguments are validated", []Hook{hooks{before: changed(`{"txt":1}`)}}, `invalid ones: "text" is missing`, "hook"},
		{"the next hook sees them", []Hook{hooks{before: changed(`{"text":"/repo/b"}`)}, hooks{before: func(c Call) (HookResult, error) {
			return HookResult{Deny: true, Message: "not " + string(c.Args)}, nil
		}}}, `denied by a hook: not {"text":"/repo/b"}`, "hook"},
		{"deny", []Hook{hooks{before: func(Call) (HookResult, error) { return HookResult{Deny: true}, nil }}}, "denied by a hook", "hook"},
		{"ask", []Hook{hooks{before: func(Call) (HookResult, error) { return HookResult{Ask: true, Message: "odd"}, nil }}}, "needs approval (odd)", "hook"},
		{"error", []Hook{hooks{before: func(Call) (HookResult, error) { return HookResult{}, errors.New("no luck") }}}, "a hook failed: no luck", "hook"},
		{"panic", []Hook{hooks{before: func(Call) (HookResult, error) { panic("oops") }}}, "a hook failed: it panicked: oops", "hook"},
	} {
		p := pipeline(t, echo(byText))
		p.Hooks = c.hooks
		out := p.Run(t.Context(), call("echo", `{"text":"/repo/a"}`))
		if !strings.Contains(out.Model, c.model) || out.Decision.Rule != c.rule {
			t.Errorf("%s: %q by rule %q, want %q by %q", c.name, out.Model, out.Decision.Rule, c.model, c.rule)
		}
		if ran := strings.HasPrefix(c.model, "/repo/"); ran != out.OK() {
			t.Errorf("%s: ran %v, want %v", c.name, out.OK(), ran)
		}
	}
}

func TestHook_AskIsNotAnsweredByAGrantAndDoesNotSoftenADenial(t *testing.T) {
	for verdict, want := range map[policy.Verdict]policy.Verdict{policy.Allow: policy.Ask, policy.Ask: policy.Ask, policy.Deny: policy.Deny} {
		p := pipeline(t, echo(nil))
		p.Hooks = []Hook{hooks{before: func(Call) (HookResult, error) { return HookResult{Ask: true}, nil }}}
		p.Policy = policy.Func(func(context.Context, policy.Query) policy.Decision { return policy.Decision{Verdict: verdict} })
		p.Granted = func(context.Context, policy.Query) (string, bool) { return "session", true }
		if out := p.Run(t.Context(), call("echo", `{"text":"x"}`)); out.OK() || out.Decision.Verdict != want {
			t.Errorf("policy says %v: %+v, want %v", verdict, out.Decision, want)
		}
	}
}

func TestHook_AfterTheCall(t *testing.T) {
	spoil := func(r *Result) { r.Fields["n"], r.Output, r.Notes = 2, nil, nil }
	for _, c := range []struct {
		name  string
		after func(c Call, r *Result) error
		model string
		n     any
	}{
		{"replaces", func(_ Call, r *Result) error { r.Output = Text("new"); r.Fields["n"] = 2; return nil }, "new", 2},
		{"annotates", func(_ Call, r *Result) error { r.Notes = append(r.Notes, "see docs"); return nil }, "old\n\n[see docs]", 1},
		{"fails", func(_ Call, r *Result) error { spoil(r); return errors.New("no luck") }, "old\n\n[A hook failed after this call: no luck]", 1},
		{"panics", func(_ Call, r *Result) error { spoil(r); panic("oops") }, "old\n\n[A hook failed after this call: it panicked: oops]", 1},
	} {
		tl := New(Spec{Name: "echo"}, Nothing, func(context.Context, *Call, echoIn) (Result, error) {
			return Result{Output: Text("old"), Fields: map[string]any{"n": 1}}, nil
		})
		p := pipeline(t, tl)
		p.Hooks = []Hook{hooks{after: c.after}}
		out := p.Run(t.Context(), call("echo", `{"text":"x"}`))
		if !out.OK() || out.Model != c.model || out.Result.Fields["n"] != c.n {
			t.Errorf("%s: %q with %v, want %q with %v", c.name, out.Model, out.Result.Fields["n"], c.model, c.n)
		}
	}
}

func TestHook_AfterIsNotCalledForARefusedCall(t *testing.T) {
	p := pipeline(t, echo(nil))
	p.Hooks = []Hook{hooks{after: func(Call, *Result) error { t.Error("it was called"); return nil }}}
	p.Run(t.Context(), call("echo", `{"text":"x"}`))
	p.Run(t.Context(), call("nothing", `{}`))
}
