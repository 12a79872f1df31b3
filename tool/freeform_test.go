package tool

import (
	"context"
	"testing"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
)

type freeformIn struct {
	Note  string `json:"note,omitempty"`
	Patch string `json:"patch"`
}

func freeformRegistry(t *testing.T) *Registry {
	t.Helper()
	run := func(_ context.Context, _ *Call, in freeformIn) (Result, error) { return Success("%s", in.Patch), nil }
	r := &Registry{}
	err := r.Register(
		New(Spec{Name: "free", Freeform: &llm.Freeform{Syntax: "lark", Definition: "start: /x/"}}, nil, run),
		New(Spec{Name: "plain"}, nil, run),
	)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRegistry_FreeformToolIsDefinedByItsGrammarAlone(t *testing.T) {
	defs := freeformRegistry(t).Definitions()
	if defs[0].Freeform == nil || defs[0].Parameters != nil {
		t.Errorf("the freeform tool is defined as %+v", defs[0])
	}
	if defs[1].Freeform != nil || defs[1].Parameters == nil {
		t.Errorf("the plain tool is defined as %+v", defs[1])
	}
}

func TestRegistry_ArgumentsOfFreeformCalls(t *testing.T) {
	r := freeformRegistry(t)
	for _, c := range []struct {
		name string
		call llm.ToolCall
		want string
	}{
		{"text becomes the required string", llm.ToolCall{Name: "free", Arguments: "a\n\"b\"", Custom: true}, `{"patch":"a\n\"b\""}`},
		{"the stand-in name gets its own name back", llm.ToolCall{Name: "free", Arguments: `{"input":"x"}`}, `{"patch":"x"}`},
		{"its own name stays", llm.ToolCall{Name: "free", Arguments: `{"patch":"x"}`}, `{"patch":"x"}`},
		{"input beside others stays", llm.ToolCall{Name: "free", Arguments: `{"input":"x","note":"n"}`}, `{"input":"x","note":"n"}`},
		{"input that is no string stays", llm.ToolCall{Name: "free", Arguments: `{"input":1}`}, `{"input":1}`},
		{"a plain tool is left alone", llm.ToolCall{Name: "plain", Arguments: `{"input":"x"}`}, `{"input":"x"}`},
		{"text for a plain tool", llm.ToolCall{Name: "plain", Arguments: `x`, Custom: true}, `{"input":"x"}`},
		{"broken JSON is for the validation", llm.ToolCall{Name: "free", Arguments: `{"input":`}, `{"input":`},
		{"an unknown tool", llm.ToolCall{Name: "none", Arguments: `x`, Custom: true}, `{"input":"x"}`},
	} {
		if got := string(r.Arguments(c.call)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestPipeline_ResultLimitAndShownErrors(t *testing.T) {
	r := &Registry{}
	err := r.Register(NewRaw(Spec{Name: "t", Input: []byte(`{"type":"object"}`)}, nil,
		func(context.Context, *Call) (Result, error) {
			res := Failure(ShellExitError, "Exit code 1")
			res.Output = Text("Exit code 1\n0123456789")
			res.Error.Shown = true
			res.Limit = Limit{Chars: 12}
			return res, nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	p := &Pipeline{Registry: r, Policy: policy.AllowAll{}}
	out := p.Run(t.Context(), Call{Name: "t"})
	if out.OK() {
		t.Error("the call did not fail")
	}
	if len(out.Model) < 12 || out.Model[:6] != "Exit c" || out.Model[len(out.Model)-6:] != "456789" {
		t.Errorf("the model sees %q", out.Model)
	}
	p.Limits = map[string]Limit{"t": {Chars: 100}}
	if out := p.Run(t.Context(), Call{Name: "t"}); out.Model != "Exit code 1\n0123456789" {
		t.Errorf("under the host's limit the model sees %q", out.Model)
	}
}
