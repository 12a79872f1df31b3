package tool

import (
	"context"
	"strings"
	"testing"
)

func toolNamed(name string) Tool {
	return New(Spec{Name: name, Description: "Does nothing."}, Nothing, func(context.Context, *Call, struct{}) (Result, error) { return Success("ok"), nil })
}

// Providers answer such a request with status 400.
func TestRegister_RefusesNamesThatProvidersRefuse(t *testing.T) {
	for _, name := range []string{"", "my tool!", "a.b", "größe", "a b", "a/b", "a\n", strings.Repeat("a", 65)} {
		if err := new(Registry).Register(toolNamed(name)); err == nil {
			t.Errorf("a tool named %q is accepted", name)
		}
	}
	for _, name := range []string{"a", "A-b_9", strings.Repeat("a", 64)} {
		if err := new(Registry).Register(toolNamed(name)); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestRegister_RefusesTwoToolsOfOneName(t *testing.T) {
	var r Registry
	err := r.Register(toolNamed("a"), toolNamed("b"), toolNamed("a"))
	if err == nil || !strings.Contains(err.Error(), `two tools are named "a"`) || len(r.Names()) > 0 {
		t.Errorf("got %v and the tools %v", err, r.Names())
	}
	if err := r.Register(toolNamed("a")); err != nil {
		t.Fatal(err)
	}
	if err := r.Register(toolNamed("a")); err != nil { // a later registration replaces the tool
		t.Error(err)
	}
}
