package policy_test

import (
	"context"
	"fmt"

	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/policy/rules"
)

// A policy of the host refuses what connects anywhere, and leaves the rest to another policy.
func ExampleFunc() {
	offline := policy.Func(func(_ context.Context, q policy.Query) policy.Decision {
		for _, a := range q.Accesses {
			if a.Kind == policy.Connect {
				return policy.Decision{Verdict: policy.Deny, Rule: "offline", Reason: "this machine is offline"}
			}
		}
		return policy.Decision{Verdict: policy.Allow, Rule: "offline"}
	})
	p := policy.All(offline, rules.Policy{})
	for _, a := range []policy.Access{{Kind: policy.Connect, Target: "example.com"}, {Kind: policy.Read, Target: "/work/a.go"}} {
		d := p.Decide(context.Background(), policy.Query{
			Tool:      "tool",
			Accesses:  []policy.Access{a},
			Mode:      policy.ModeDefault,
			Workspace: policy.Workspace{Roots: []string{"/work"}},
		})
		fmt.Println(a, d.Verdict, d.Rule)
	}
	// Output:
	// connect example.com deny offline
	// read /work/a.go allow offline
}
