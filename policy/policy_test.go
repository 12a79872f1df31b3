package policy

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestDefault_AllowsReadingInsideAndTouchingNothingAndAsksAboutTheRest(t *testing.T) {
	for _, c := range []struct {
		name     string
		accesses []Access
		want     Verdict
		reason   string
	}{
		{"undeclared", nil, Ask, "the tool does not declare what it touches"},
		{"nothing", []Access{}, Allow, "touches nothing"},
		{"read inside", []Access{{Kind: Read, Target: "/repo/a/b.go"}}, Allow, "only reads inside the working directory"},
		{"read the directory itself", []Access{{Kind: Read, Target: "/repo"}}, Allow, "only reads inside the working directory"},
		{"read outside", []Access{{Kind: Read, Target: "/x"}}, Ask, "reads /x, outside the working directory"},
		{"sibling with the same prefix", []Access{{Kind: Read, Target: "/repo-evil/x"}}, Ask, "reads /repo-evil/x, outside the working directory"},
		{"unclean path", []Access{{Kind: Read, Target: "/repo/../x"}}, Ask, "reads /repo/../x, outside the working directory"},
		{"relative path", []Access{{Kind: Read, Target: "a.go"}}, Ask, "reads a.go, outside the working directory"},
		{"write inside", []Access{{Kind: Write, Target: "/repo/a.go"}}, Ask, "writes /repo/a.go"},
		{"delete inside", []Access{{Kind: Delete, Target: "/repo/a.go"}}, Ask, "deletes /repo/a.go, which this session did not create"},
		{"exec", []Access{{Kind: Exec, Target: "make build", Dir: "/repo"}}, Ask, "runs: make build: it runs make"},
		{"connect", []Access{{Kind: Connect, Target: "example.com:443"}}, Ask, "connects to example.com:443"},
		{"unknown kind", []Access{{Kind: "mount", Target: "/repo"}}, Ask, "mount /repo"},
		{"one bad among good", []Access{{Kind: Read, Target: "/repo/a"}, {Kind: Write, Target: "/repo/b"}}, Ask, "writes /repo/b"},
		{"name that begins with dots", []Access{{Kind: Read, Target: "/repo/..a"}}, Allow, "only reads inside the working directory"},
	} {
		d := Default{}.Decide(t.Context(), Query{Accesses: c.accesses, Workspace: Workspace{Dir: "/repo"}})
		if d.Verdict != c.want || d.Reason != c.reason || d.Rule == "" || d.Code == "" {
			t.Errorf("%s: got %+v, want %v because %q, with a rule and a code", c.name, d, c.want, c.reason)
		}
	}
}

func TestDefault_WithoutAWorkspaceNothingIsInside(t *testing.T) {
	d := Default{}.Decide(t.Context(), Query{Accesses: []Access{{Kind: Read, Target: "/repo/a"}}})
	if d.Verdict != Ask {
		t.Errorf("got %v, want ask", d.Verdict)
	}
}

func TestDecision_ZeroValueDenies(t *testing.T) {
	if (Decision{}).Verdict != Deny {
		t.Error("the zero decision does not deny")
	}
}

func TestDecision_JSONKeepsVerdictCodeRuleAndReason(t *testing.T) {
	want := Decision{Verdict: Ask, Code: "runs", Rule: "default", Reason: "runs: ls"}
	b, err := json.Marshal(want)
	if err != nil || string(b) != `{"verdict":"ask","code":"runs","rule":"default","reason":"runs: ls"}` {
		t.Fatalf("got %s (%v)", b, err)
	}
	var got Decision
	if err := json.Unmarshal(b, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v (%v), want %+v", got, err, want)
	}
}

func TestVerdict_UnknownWordDenies(t *testing.T) {
	v := Allow
	if err := v.UnmarshalText([]byte("yes")); err == nil || v != Deny {
		t.Errorf("got %v (%v), want deny and an error", v, err)
	}
}
