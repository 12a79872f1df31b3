package coding

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/env/sandbox"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/policy/rules"
)

func TestLocal_ReadingCommandsReadTheRootsButNotWhatRulesDeny(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", root) // what is below is readable only by name
	for _, name := range []string{"work/file", "work/.env", "other/file", "elsewhere/file"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("content of "+name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	deny, err := rules.Parse("Read(.env)")
	if err != nil {
		t.Fatal(err)
	}
	c := local.Config{Dir: root + "/work", SpoolDir: t.TempDir(), Sandbox: sandbox.Config{Mode: sandbox.WorkspaceWrite}}
	p := rules.Policy{Deny: []rules.Rule{deny}}
	e, err := Local(c, p, policy.Workspace{Home: root, Roots: []string{root + "/other"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	for name, readable := range map[string]bool{"work/file": true, "other/file": true, "work/.env": false, "elsewhere/file": false} {
		r, err := env.Exec(t.Context(), e, env.Command{Line: "cat " + root + "/" + name, ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(r.Stdout, "content of"); got != readable {
			t.Errorf("%s was read: %v, want %v: %+v", name, got, readable, r)
		}
	}
}

func TestLocal_ReadingCommandsFollowAPolicyThatIsReplaced(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", dir) // what is below is readable only by name
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	deny, err := rules.Parse("Read(file)")
	if err != nil {
		t.Fatal(err)
	}
	var p policy.Policy
	c := local.Config{Dir: dir, SpoolDir: t.TempDir(), Sandbox: sandbox.Config{Mode: sandbox.WorkspaceWrite}}
	e, err := ruledEnv(c, func() policy.Policy { return p }, policy.Workspace{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	for i, next := range []policy.Policy{nil, rules.Policy{Deny: []rules.Rule{deny}}, policy.AllowAll{}} {
		p = next
		r, err := env.Exec(t.Context(), e, env.Command{Line: "cat file", ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(r.Stdout, "content"); got != (i != 1) {
			t.Errorf("policy %d: read is %v: %+v", i, got, r)
		}
	}
}
