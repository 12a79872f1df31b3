package rules_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/policy/rules"
)

// Rules allow a program with any arguments, and options that run other programs still need approval.
func ExampleMust() {
	p := rules.Must("Bash(rg:*)", "Bash(go test:*)")
	for _, line := range []string{"rg TODO src", "rg --pre ./x TODO", "go test ./...", "make"} {
		args, _ := json.Marshal(map[string]string{"command": line})
		d := p.Decide(context.Background(), policy.Query{
			Tool:      "shell",
			Args:      args,
			Accesses:  []policy.Access{{Kind: policy.Exec, Target: line, Dir: "/work"}},
			Mode:      policy.ModeDefault,
			Workspace: policy.Workspace{Roots: []string{"/work"}},
		})
		fmt.Printf("%s: %s\n", line, d.Verdict)
	}
	// Output:
	// rg TODO src: allow
	// rg --pre ./x TODO: ask
	// go test ./...: allow
	// make: ask
}
