package tool

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/env/sandbox"
	"github.com/reins-agent/reins/internal/gitdir/gitdirtest"
	"github.com/reins-agent/reins/internal/search"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/policy/rules"
)

// boxedLine is a tool that runs a command line.
type boxedLine struct {
	Command string `json:"command"`
}

// boxedPipeline returns a pipeline with a tool sh, in an environment with a sandbox.
func boxedPipeline(t *testing.T, p policy.Policy) (*Pipeline, env.Environment) {
	t.Helper()
	return boxedPipelineIn(t, p, t.TempDir())
}

func boxedPipelineIn(t *testing.T, p policy.Policy, dir string) (*Pipeline, env.Environment) {
	t.Helper()
	e, err := local.New(local.Config{Dir: dir, Sandbox: sandbox.Config{Mode: sandbox.WorkspaceWrite}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	if !e.ReadsOnly() {
		t.Fatalf("this system cannot confine commands: %v", sandbox.Probe().Problems)
	}
	var reg Registry
	sh := New(Spec{Name: "sh", Description: "Runs a command."}, func(_ context.Context, c *Call, in boxedLine) []policy.Access {
		return []policy.Access{{Kind: policy.Exec, Target: in.Command, Dir: c.Env.Info().Dir}}
	}, func(ctx context.Context, c *Call, in boxedLine) (Result, error) {
		r, err := env.Exec(ctx, c.Env, env.Command{Line: in.Command})
		return Result{Output: Text(r.Combined)}, err
	})
	if err := reg.Register(sh); err != nil {
		t.Fatal(err)
	}
	return &Pipeline{Registry: &reg, Policy: p}, e
}

func TestPipeline_RunsCommandsInTheBoxOfTheDecision(t *testing.T) {
	const line = `{"command":"echo x > new 2>&1; test -e new && echo written || echo refused; rm -f new"}`
	allow := func(b policy.Box) policy.Policy {
		return policy.Func(func(context.Context, policy.Query) policy.Decision {
			return policy.Decision{Verdict: policy.Allow, Rule: "test", Box: b}
		})
	}
	ask := policy.Func(func(context.Context, policy.Query) policy.Decision {
		return policy.Decision{Verdict: policy.Ask, Rule: "test", Box: policy.BoxRead}
	})
	for name, c := range map[string]struct {
		policy policy.Policy
		want   string
	}{
		"read": {allow(policy.BoxRead), "refused"}, "workspace": {allow(policy.BoxWorkspace), "written"},
		"none": {allow(""), "written"}, "outside": {allow(policy.BoxOutside), "written"}, "approved": {ask, "written"},
	} {
		p, e := boxedPipeline(t, c.policy)
		p.Approve = func(context.Context, Request) (Approval, error) { return Approval{Allow: true}, nil }
		out := p.Run(t.Context(), Call{Name: "sh", Args: []byte(line), Env: e})
		if !strings.Contains(out.Model, c.want) {
			t.Errorf("%s: %q, want %q", name, out.Model, c.want)
		}
	}
}

// A workspace may be a subdirectory of a repository.
func TestPipeline_OnlyADecisionForProgramsOpensTheRepository(t *testing.T) {
	root := t.TempDir()
	gitdirtest.Init(t, root)
	if err := errors.Join(os.WriteFile(root+"/above", []byte("above\n"), 0o600), os.Mkdir(root+"/sub", 0o700)); err != nil {
		t.Fatal(err)
	}
	for repository, want := range map[bool]string{true: "above", false: "refused"} {
		p, e := boxedPipelineIn(t, policy.Func(func(context.Context, policy.Query) policy.Decision {
			return policy.Decision{Verdict: policy.Allow, Rule: "test", Box: policy.BoxRead, Repository: repository}
		}), root+"/sub")
		out := p.Run(t.Context(), Call{Name: "sh", Args: []byte(`{"command":"cat ../above 2>/dev/null || echo refused"}`), Env: e})
		if !strings.Contains(out.Model, want) {
			t.Errorf("repository %v: %q, want %q", repository, out.Model, want)
		}
	}
}

func TestPipeline_OutsideIsOnlyTheBoxThatSaysSo(t *testing.T) {
	outside := t.TempDir()
	for name, c := range map[string]struct {
		rule string
		want bool
	}{"outside": {"Bash(touch:*)@outside", true}, "workspace": {"Bash(touch:*)", false}} {
		p, e := boxedPipeline(t, rules.Must(c.rule))
		file := filepath.Join(outside, name)
		p.Workspace.Roots = []string{outside}
		p.Run(t.Context(), Call{Name: "sh", Args: []byte(`{"command":"touch ` + file + `"}`), Env: e})
		if _, err := os.Stat(file); (err == nil) != c.want {
			t.Errorf("%s: %v, want written %v", name, err, c.want)
		}
	}
}

func TestBound_SearchesSkipWhatRulesDenyToRead(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/public", "a/.env", "private/x"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("needle\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e, err := local.New(local.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	real, _ := filepath.EvalSymlinks(dir)
	w := policy.Workspace{Dir: real, Paths: e.Info().Paths()}
	b := bind(e, []policy.Access{{Kind: policy.Read, Target: real}}, policy.Decision{}, rules.Must("deny Read(.env)", "deny Read(private/**)").DeniesRead(w))
	var found []string
	if _, err := search.Grep(t.Context(), b, search.GrepQuery{Pattern: "needle", Hidden: true}, func(m search.FileMatch) bool {
		found = append(found, m.Path)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(found, " "); got != "a/public" {
		t.Errorf("found %q, want a/public", got)
	}
}
