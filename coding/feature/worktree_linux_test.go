package feature

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/env/sandbox"
	"github.com/reins-agent/reins/policy"
)

// In the sandbox, commands in a worktree can commit there and cannot write to the original.
func TestWorktree_SandboxProtectsTheOriginal(t *testing.T) {
	if ok, why := sandbox.Available(); !ok {
		t.Skip(why)
	}
	g := newTreeRig(t)
	g.session = g.open(coding.Config{
		Extensions: with(Worktrees()),
		Model:      "m", Sandbox: sandbox.Config{Mode: sandbox.WorkspaceWrite, Writable: []string{g.dir}}, Session: agent.Config{Policy: policy.AllowAll{}},
	})
	before := g.files()
	g.do(`enter_worktree {"name":"try"}`)
	out := g.do(
		call("shell", map[string]any{"command": "echo x >> " + filepath.Join(g.dir, "a.txt") + "; echo x > " + filepath.Join(g.dir, "b.txt") + "; git --git-dir=" + filepath.Join(g.dir, ".git") + " branch stolen"}),
		call("shell", map[string]any{"command": "echo y > new.txt && git add -A && git commit -qm work && git log --oneline | wc -l; git config core.fsmonitor /bin/false"}),
	)
	g.want(out, "2\n")
	if n := strings.Count(strings.ToLower(out), "read-only file system"); n < 2 {
		t.Errorf("got %q, want the writes refused", out)
	}
	for path, text := range before {
		if now := g.files()[path]; now != text {
			t.Errorf("%s changed", path)
		}
	}
	g.want(g.do(`exit_worktree {"action":"diff"}`), "+y")
}
