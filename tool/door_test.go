package tool

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/reins-agent/reins/policy"
)

// leaks lists the ways from a type to a Tool: through method results, exported fields, and parameters in functions and
// interfaces that others implement.
func leaks(t reflect.Type, path string, seen map[reflect.Type]bool) (found []string) {
	if t == reflect.TypeFor[Tool]() || t.Implements(reflect.TypeFor[Tool]()) {
		return []string{path}
	}
	if seen[t] {
		return nil
	}
	seen[t] = true
	walk := func(t reflect.Type, step string) { found = append(found, leaks(t, path+step, seen)...) }
	ours := t.PkgPath() == reflect.TypeFor[Registry]().PkgPath()
	if ours || t.Kind() == reflect.Pointer {
		for i := range t.NumMethod() {
			m := t.Method(i)
			for j := range m.Type.NumOut() {
				walk(m.Type.Out(j), "."+m.Name+"()")
			}
			for j := 0; t.Kind() == reflect.Interface && j < m.Type.NumIn(); j++ {
				walk(m.Type.In(j), "."+m.Name+" parameter")
			}
		}
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Array, reflect.Chan:
		walk(t.Elem(), "")
	case reflect.Func:
		for i := range t.NumIn() {
			walk(t.In(i), " parameter")
		}
		for i := range t.NumOut() {
			walk(t.Out(i), " result")
		}
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); ours && f.IsExported() {
				walk(f.Type, "."+f.Name)
			}
		}
	}
	return found
}

func TestRegistry_GivesNoToolOut(t *testing.T) {
	seen := map[reflect.Type]bool{}
	for _, from := range []reflect.Type{
		reflect.TypeFor[*Registry](), reflect.TypeFor[*Pipeline](), reflect.TypeFor[Request](), reflect.TypeFor[Outcome](),
		reflect.TypeFor[Hook](), reflect.TypeFor[Middleware](),
	} {
		for _, way := range leaks(from, from.String(), seen) {
			t.Errorf("a tool can be reached by %s", way)
		}
	}
}

// writer is a tool that acts outside its environment.
func writer(path string) Tool {
	return New(Spec{Name: "writer"}, nil, func(context.Context, *Call, echoIn) (Result, error) {
		return Success("written"), os.WriteFile(path, []byte("x"), 0o600)
	})
}

func TestPipeline_ActsOnlyAfterTheApproval(t *testing.T) {
	for name, answer := range map[string]Approval{"allowed": {Allow: true}, "refused": {}, "aborted": {Allow: true, Abort: true}} {
		path := filepath.Join(t.TempDir(), "file")
		p := pipeline(t, writer(path))
		p.Approve = func(ctx context.Context, r Request) (Approval, error) {
			if _, ok, err := r.Preview(ctx); ok || err != nil {
				t.Errorf("%s: a tool without a preview gives one (%v)", name, err)
			}
			if _, err := os.Stat(path); err == nil {
				t.Errorf("%s: the tool ran before its approval", name)
			}
			return answer, nil
		}
		p.Run(t.Context(), call("writer", `{"text":""}`))
		_, err := os.Stat(path)
		if ran, want := err == nil, name == "allowed"; ran != want {
			t.Errorf("%s: the tool ran: %v, want %v", name, ran, want)
		}
	}
}

func TestPreview_IsFoundThroughWrappersAndReadsOnly(t *testing.T) {
	inner := WithPreview(writer(filepath.Join(t.TempDir(), "file")), func(_ context.Context, _ *Call, in echoIn) (Preview, error) {
		if in.Text == "panic" {
			panic("oops")
		}
		return Preview{Changes: []Change{{Path: "/a", After: []byte(in.Text), Exists: true}}}, nil
	})
	p := pipeline(t, renamedTool{inner})
	var shown []string
	p.Approve = func(ctx context.Context, r Request) (Approval, error) {
		v, ok, err := r.Preview(ctx)
		switch {
		case !ok:
			shown = append(shown, "none")
		case err != nil:
			shown = append(shown, err.Error())
		default:
			shown = append(shown, string(v.Changes[0].After))
		}
		return Approval{}, nil
	}
	p.Run(t.Context(), call("other", `{"text":"hi"}`))
	p.Run(t.Context(), call("other", `{"text":"panic"}`))
	if got := strings.Join(shown, ", "); got != "hi, it panicked: oops" {
		t.Errorf("previews %q", got)
	}
}

type renamedTool struct{ Tool }

func (renamedTool) Spec() Spec {
	return Spec{Name: "other", Input: schemaFor("other", reflect.TypeFor[echoIn]())}
}
func (r renamedTool) Unwrap() Tool { return r.Tool }

func TestPipeline_StagesRunInOrder(t *testing.T) {
	var order []string
	say := func(stage string) { order = append(order, stage) }
	tl := New(Spec{Name: "echo"}, func(context.Context, *Call, echoIn) []policy.Access { say("access"); return nil },
		func(context.Context, *Call, echoIn) (Result, error) { say("run"); return Success("a long output"), nil })
	p := pipeline(t, tl)
	p.Hooks = []Hook{hooks{
		before: func(Call) (HookResult, error) { say("before"); return HookResult{}, nil },
		after:  func(_ Call, r *Result) error { say("after:" + String(r.Output)); return nil },
	}}
	p.Policy = policy.Func(func(context.Context, policy.Query) policy.Decision {
		say("policy")
		return policy.Decision{Verdict: policy.Ask, Rule: "test"}
	})
	p.Granted = func(context.Context, policy.Query) (string, bool) { say("granted"); return "", false }
	p.Approve = func(context.Context, Request) (Approval, error) { say("approve"); return Approval{Allow: true}, nil }
	layer := func(name string) Middleware {
		return func(ctx context.Context, _ Call, next func(context.Context) (Result, error)) (Result, error) {
			say(name)
			return next(ctx)
		}
	}
	p.Middleware = []Middleware{layer("outer"), layer("inner")}
	p.Limits = map[string]Limit{"echo": {Chars: 1, Mode: Head}}
	p.Audit = func(o Outcome) { say("audit:" + o.Model[:1]) }
	p.Run(t.Context(), call("echo", `{"text":"x"}`))
	want := "before access policy granted approve access policy granted outer inner run after:a long output audit:a"
	if got := strings.Join(order, " "); got != want {
		t.Errorf("order %q, want %q", got, want)
	}
	order = nil
	p.Run(t.Context(), call("echo", `{}`))
	if got := strings.Join(order, " "); got != "audit:I" {
		t.Errorf("an invalid call reached %q", got)
	}
}

func TestMiddleware_CannotChangeTheCall(t *testing.T) {
	p := pipeline(t, echo(reads("/repo/a")))
	var inner string
	p.Middleware = []Middleware{
		func(ctx context.Context, c Call, next func(context.Context) (Result, error)) (Result, error) {
			copy(c.Args, `{"text":"EVIL"}`)
			c.Accesses[0].Target = "/elsewhere"
			c.Name, c.Args = "other", json.RawMessage(`{"text":"evil"}`)
			return next(ctx)
		},
		func(ctx context.Context, c Call, next func(context.Context) (Result, error)) (Result, error) {
			inner = c.Name + string(c.Args) + c.Accesses[0].Target
			return next(ctx)
		},
	}
	out := p.Run(t.Context(), call("echo", `{"text":"good"}`))
	if out.Model != "good" || string(out.Call.Args) != `{"text":"good"}` || out.Accesses[0].Target != "/repo/a" {
		t.Errorf("the call became %s over %v and gave %q", out.Call.Args, out.Accesses, out.Model)
	}
	if want := `echo{"text":"good"}/repo/a`; inner != want {
		t.Errorf("the next middleware saw %s, want %s", inner, want)
	}
}
