package coding

import (
	"fmt"
	"testing"

	"github.com/reins-agent/reins/checkpoint"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// place is an environment in a directory, with limits.
type place struct {
	env.Environment
	dir    string
	limits *env.Limits
}

func (p place) Info() env.Info {
	return env.Info{Dir: p.dir, Platform: "linux", Shell: "/bin/bash", Limits: p.limits}
}

// TestTrace_ComparesOnlyWhereACallMayWrite: a command that only reads must not cost a walk of the workspace.
func TestTrace_ComparesOnlyWhereACallMayWrite(t *testing.T) {
	store, err := checkpoint.Open(checkpoint.Config{Dir: t.TempDir(), Store: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	c, dir := Checkpoints{Store: store}, store.Dir()
	run := func(line string) []policy.Access {
		return []policy.Access{{Kind: policy.Exec, Target: line, Dir: dir}}
	}
	reads := &env.Limits{Sandbox: tool.ReadSandbox}
	elsewhere := &env.Limits{Sandbox: "workspace-write", Writable: []string{"/elsewhere/worktree"}}
	here := &env.Limits{Sandbox: "workspace-write", Writable: []string{dir}}
	for _, k := range []struct {
		name     string
		limits   *env.Limits
		accesses []policy.Access
		want     string // commands, complete, writes
	}{
		{"nothing", nil, []policy.Access{}, "false true false"},
		{"undeclared", nil, nil, "true false true"},
		{"a read", nil, []policy.Access{{Kind: policy.Read, Target: dir + "/f"}}, "false true false"},
		{"a write", nil, []policy.Access{{Kind: policy.Write, Target: dir + "/f"}}, "false true true"},
		{"input", nil, []policy.Access{{Kind: policy.Input, Target: "process 1: x"}}, "true false true"},
		{"echo", nil, run("echo round-1"), "false true false"},
		{"echo in the sandbox", here, run("echo round-1"), "false true false"},
		{"make", here, run("make"), "true false true"},
		{"make that can only read", reads, run("make"), "false true false"},
		{"make in a worktree", elsewhere, run("make"), "false true false"},
		{"make outside the sandbox", elsewhere, []policy.Access{{Kind: policy.Exec, Target: "make", Dir: dir, Outside: true}}, "true false true"},
		{"go vet", nil, run("go vet ./..."), "true false true"},
		{"a redirection", nil, run("echo x > f"), "true true true"},
		{"a line that nobody can parse", nil, run("echo ("), "true false true"},
	} {
		n, writes := c.targets(tool.Call{Env: place{dir: dir, limits: k.limits}, Accesses: k.accesses})
		if got := fmt.Sprint(n.commands, n.complete, writes); got != k.want {
			t.Errorf("%s: got %s, want %s", k.name, got, k.want)
		}
	}
}

// TestTrace_ACommandNamesWhatItChanges says which changes during a command are its own.
func TestTrace_ACommandNamesWhatItChanges(t *testing.T) {
	store, err := checkpoint.Open(checkpoint.Config{Dir: t.TempDir(), Store: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	c := Checkpoints{Store: store}
	fresh := func(path string) checkpoint.Write { return checkpoint.Write{Path: path, After: "f644:x"} }
	for _, k := range []struct {
		line  string
		write checkpoint.Write
		want  bool
	}{
		{"echo x > f", fresh("f"), true},
		{"echo x > f", fresh("g"), false},
		{"echo x > f", fresh("f/g"), false},
		{"mkdir -p a/b; echo x > a/b/c", checkpoint.Write{Path: "a", After: "d755"}, true},
		{"mkdir -p a/b", fresh("a/b/c"), false},
		{"mkdir -p a/b", fresh("a"), false},
		{"rm -r dir", checkpoint.Write{Path: "dir/f", Before: "f644:x"}, true},
		{"rm -r .", fresh("f"), false},
		{"rm *.txt", checkpoint.Write{Path: "f.txt", Before: "f644:x"}, true},
		{"rm *.txt", checkpoint.Write{Path: "dir/f.txt", Before: "f644:x"}, false},
		{"sed -i s/a/b/ f", checkpoint.Write{Path: "f", Before: "f644:x", After: "f644:y"}, true},
		{"cp f dir", fresh("dir/f"), true},
		{"cp f dir", fresh("dir/g"), false},
		{"gofmt -w .", checkpoint.Write{Path: "f.go", Before: "f644:x", After: "f644:y"}, false},
		{"gofmt -w f.go", checkpoint.Write{Path: "f.go", Before: "f644:x", After: "f644:y"}, true},
		{"python f.py", checkpoint.Write{Path: "f.py", Before: "f644:x", After: "f644:y"}, false},
	} {
		n, _ := c.targets(tool.Call{Env: place{dir: store.Dir()}, Accesses: []policy.Access{{Kind: policy.Exec, Target: k.line, Dir: store.Dir()}}})
		if got := n.include(k.write); got != k.want {
			t.Errorf("%s changes %s: got %v, want %v", k.line, k.write.Path, got, k.want)
		}
	}
	n, _ := c.targets(tool.Call{Env: place{dir: store.Dir()}, Accesses: []policy.Access{{Kind: policy.Exec, Target: "cp -r src dst", Dir: store.Dir()}}})
	for _, created := range []bool{true, false} {
		n.fresh = map[string]bool{store.Dir() + "/dst": created}
		if got := n.include(fresh("dst/f")); got != created {
			t.Errorf("a file in a copied directory: got %v, want %v", got, created)
		}
	}
}
