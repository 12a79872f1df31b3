package rules

import (
	"testing"

	"github.com/reins-agent/reins/policy"
)

func TestPolicy_AllowsReadingInsideAndTouchingNothingAndAsksAboutTheRest(t *testing.T) {
	for _, c := range []struct {
		name     string
		accesses []policy.Access
		want     policy.Verdict
		reason   string
	}{
		{"undeclared", nil, policy.Ask, "the tool does not declare what it touches"},
		{"nothing", []policy.Access{}, policy.Allow, "touches nothing"},
		{"read inside", []policy.Access{{Kind: policy.Read, Target: "/repo/a/b.go"}}, policy.Allow, "only reads inside the working directory"},
		{"read the directory itself", []policy.Access{{Kind: policy.Read, Target: "/repo"}}, policy.Allow, "only reads inside the working directory"},
		{"read outside", []policy.Access{{Kind: policy.Read, Target: "/x"}}, policy.Ask, "reads /x, outside the working directory"},
		{"sibling with the same prefix", []policy.Access{{Kind: policy.Read, Target: "/repo-evil/x"}}, policy.Ask, "reads /repo-evil/x, outside the working directory"},
		{"unclean path", []policy.Access{{Kind: policy.Read, Target: "/repo/../x"}}, policy.Ask, "reads /repo/../x, outside the working directory"},
		{"relative path", []policy.Access{{Kind: policy.Read, Target: "a.go"}}, policy.Ask, "reads a.go, outside the working directory"},
		{"write inside", []policy.Access{{Kind: policy.Write, Target: "/repo/a.go"}}, policy.Ask, "writes /repo/a.go"},
		{"delete inside", []policy.Access{{Kind: policy.Delete, Target: "/repo/a.go"}}, policy.Ask, "deletes /repo/a.go, which this session did not create"},
		{"exec", []policy.Access{{Kind: policy.Exec, Target: "make build", Dir: "/repo"}}, policy.Ask, "runs: make build: it runs make"},
		{"connect", []policy.Access{{Kind: policy.Connect, Target: "example.com:443"}}, policy.Ask, "connects to example.com:443"},
		{"unknown kind", []policy.Access{{Kind: "mount", Target: "/repo"}}, policy.Ask, "mount /repo"},
		{"one bad among good", []policy.Access{{Kind: policy.Read, Target: "/repo/a"}, {Kind: policy.Write, Target: "/repo/b"}}, policy.Ask, "writes /repo/b"},
		{"name that begins with dots", []policy.Access{{Kind: policy.Read, Target: "/repo/..a"}}, policy.Allow, "only reads inside the working directory"},
	} {
		d := Policy{}.Decide(t.Context(), policy.Query{Accesses: c.accesses, Workspace: policy.Workspace{Dir: "/repo"}})
		if d.Verdict != c.want || d.Reason != c.reason || d.Rule == "" || d.Code == "" {
			t.Errorf("%s: got %+v, want %v because %q, with a rule and a code", c.name, d, c.want, c.reason)
		}
	}
}

func TestPolicy_WithoutAWorkspaceNothingIsInside(t *testing.T) {
	d := Policy{}.Decide(t.Context(), policy.Query{Accesses: []policy.Access{{Kind: policy.Read, Target: "/repo/a"}}})
	if d.Verdict != policy.Ask {
		t.Errorf("got %v, want ask", d.Verdict)
	}
}
