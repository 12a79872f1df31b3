package hook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/hook"
)

// A hook written in Go keeps the agent from pushing.
func ExampleNew() {
	hooks, err := hook.New(hook.Hook{
		Event:   hook.PreToolUse,
		Matcher: "shell",
		Func: func(_ context.Context, in hook.Input) (hook.Output, error) {
			if strings.Contains(string(in.ToolInput), "git push") {
				return hook.Output{Decision: hook.Deny, Reason: "people push here"}, nil
			}
			return hook.Output{}, nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, line := range []string{"git status", "git push"} {
		args, _ := json.Marshal(map[string]string{"command": line})
		r := hooks.Run(context.Background(), nil, hook.Input{Event: hook.PreToolUse, Tool: "shell", ToolInput: args})
		fmt.Printf("%s: refused %v, %q\n", line, r.Refuses(), r.Reason)
	}
	// Output:
	// git status: refused false, ""
	// git push: refused true, "people push here"
}
