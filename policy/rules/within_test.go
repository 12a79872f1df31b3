package rules_test

import (
	"strings"
	"testing"

	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/policy/rules"
)

func TestWithin_AcceptsOnlyWhatRulesName(t *testing.T) {
	exec := func(line string) []policy.Access { return []policy.Access{{Kind: policy.Exec, Target: line}} }
	on := func(k policy.Kind, target string) []policy.Access { return []policy.Access{{Kind: k, Target: target}} }
	for _, c := range []struct {
		rules    string
		tool     string
		accesses []policy.Access
		want     bool
	}{
		{"Bash(git:*)", "shell", exec("git log -3"), true},
		{"Bash(git:*)", "shell", exec("cd sub && git diff | git apply"), true},
		{"Bash(git:*)", "shell", exec("git log && rm x"), false},
		{"Bash(git:*)", "shell", exec("ls"), false}, // although it only reads
		{"Bash(git:*)", "shell", exec("sudo git log"), false},
		{"Bash(git:*)", "shell", exec("git log $(rm x)"), false},
		{"Bash(git:*)", "shell", exec("git diff > out"), false},
		{"Bash(git:*)|Write", "shell", exec("git diff > out"), true},
		{"Bash(git:*)", "shell", exec("git log 'x"), false},
		{"Bash(git:*)", "shell", exec("eval $X"), false},
		{"Bash(git:*)", "shell", exec("PATH=/tmp/x; git log"), false}, // the command is named, the variable is not
		{"Bash(git:*)", "shell", exec("X=1; git log"), true},
		{"Bash(git:*)", "shell", exec("git log >&$X"), false},
		{"Bash(git:*)", "shell", exec("git log ${!X}"), false},
		{"Bash(git:*)|Bash(ls)", "shell", exec("git log; ls"), true},
		{"Bash(git log)", "shell", exec("git log -3"), false},
		{"Read(src/**)", "read_file", on(policy.Read, "/w/src/a"), true},
		{"Read(src/**)", "read_file", on(policy.Read, "/w/b"), false},
		{"Read(src/**)", "write_file", on(policy.Write, "/w/src/a"), false},
		{"WebFetch(domain:go.dev)", "fetch", on(policy.Connect, "go.dev:443"), true},
		{"WebFetch(domain:go.dev)", "fetch", on(policy.Connect, "x.dev:443"), false},
		{"mcp__s", "mcp__s__t", nil, true},
		{"mcp__s", "mcp__t__t", nil, false},
		{"Bash(git:*)", "odd", nil, false},
		{"Bash(git:*)", "nothing", []policy.Access{}, false},
	} {
		granted := list(t, strings.Split(c.rules, "|")...)
		q := policy.Query{Tool: c.tool, Accesses: c.accesses, Workspace: policy.Workspace{Dir: "/w"}}
		if got := rules.Within(t.Context(), q, granted); got != c.want {
			t.Errorf("%s with %s %v: got %v", c.rules, c.tool, c.accesses, got)
		}
	}
}
