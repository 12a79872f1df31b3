package coding

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/env/sandbox"
	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/policy/rules"
	"github.com/reins-agent/reins/tool"
)

// boxed is a workspace in a sandbox, beside a directory outside of it.
type boxed struct {
	*testing.T
	outside string
	env     *local.Env
	pipe    tool.Pipeline
	asked   []tool.Request
}

func newBoxed(t *testing.T, c local.Config) *boxed {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &boxed{T: t, outside: filepath.Join(root, "outside")}
	c.Dir = filepath.Join(root, "work")
	for _, dir := range []string{c.Dir, b.outside} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c.Sandbox.Mode = sandbox.WorkspaceWrite
	if b.env, err = local.New(c); err != nil {
		t.Fatal(err)
	}
	made := b.env
	t.Cleanup(func() { made.Close() })
	reg := &tool.Registry{}
	if err := reg.Register(NewTools(ToolConfig{})...); err != nil {
		t.Fatal(err)
	}
	b.pipe = tool.Pipeline{
		Registry: reg, Policy: policy.AllowAll{}, Middleware: []tool.Middleware{ExplainLimits},
		Approve: func(_ context.Context, r tool.Request) (tool.Approval, error) {
			b.asked = append(b.asked, r)
			return tool.Approval{Allow: true}, nil
		},
	}
	return b
}

func (b *boxed) call(name string, args map[string]any) tool.Outcome {
	b.Helper()
	data, err := json.Marshal(args)
	if err != nil {
		b.Fatal(err)
	}
	return b.pipe.Run(b.Context(), tool.Call{ID: "1", Name: name, Args: data, Env: b.env})
}

func (b *boxed) exists(name string) bool {
	_, err := os.Stat(filepath.Join(b.outside, name))
	return err == nil
}

func TestSandbox_OnlyAnApprovalLiftsIt(t *testing.T) {
	for _, c := range []struct {
		name string
		args map[string]any
	}{
		{"shell", map[string]any{"command": "touch %s/made", "outside_sandbox": true}},
		{"write_file", map[string]any{"file_path": "%s/made", "content": "x"}},
	} {
		for _, approver := range []string{"nobody", "refuses", "allows", "granted", "rules", "dontAsk"} {
			b := newBoxed(t, local.Config{})
			args := map[string]any{}
			for k, v := range c.args {
				if s, ok := v.(string); ok && strings.Contains(s, "%s") {
					v = fmt.Sprintf(s, b.outside)
				}
				args[k] = v
			}
			switch approver {
			case "nobody":
				b.pipe.Approve = nil
			case "refuses":
				b.pipe.Approve = func(context.Context, tool.Request) (tool.Approval, error) { return tool.Approval{}, nil }
			case "dontAsk":
				b.pipe.Mode = policy.ModeDontAsk
			case "granted", "rules":
				out := b.pipe.Check(t.Context(), tool.Call{Name: c.name, Args: must(json.Marshal(args)), Env: b.env})
				grant := policy.Grant{Tool: c.name, Accesses: out.Accesses, Rule: "granted"}
				if approver == "rules" {
					grant = policy.Grant{Rule: "granted", Rules: []string{"Bash", "Edit"}}
				}
				standard := rules.Policy{}
				b.pipe.Policy, b.pipe.Approve = standard, nil
				b.pipe.Granted = func(ctx context.Context, q policy.Query) (string, bool) {
					return policy.Grants{grant}.Find(ctx, standard, q)
				}
			}
			out := b.call(c.name, args)
			lifted := approver == "allows" || approver == "granted"
			if out.OK() != lifted || b.exists("made") != lifted {
				t.Errorf("%s, %s: %+v, the file exists: %v; want %v\n%s", c.name, approver, out.Decision, b.exists("made"), lifted, out.Model)
			}
			if approver == "allows" {
				if len(b.asked) != 1 || b.asked[0].Decision.Code != "outside_sandbox" || b.asked[0].Suggest(t.Context()) != nil {
					t.Errorf("%s: asked %+v", c.name, b.asked)
				}
			}
		}
	}
}

func TestSandbox_ParameterMeansNothingWithoutIt(t *testing.T) {
	b := newBoxed(t, local.Config{})
	plain, err := local.New(local.Config{Dir: b.env.Info().Dir})
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	b.env = plain
	if out := b.call("shell", map[string]any{"command": "touch " + b.outside + "/made", "outside_sandbox": true}); !out.OK() || len(b.asked) > 0 {
		t.Errorf("asked %d times: %s", len(b.asked), out.Model)
	}
}

func TestExplainLimits_SaysWhatFailedForThem(t *testing.T) {
	t.Setenv("GH_TOKEN", "canary-1")
	t.Setenv("DEPLOY_KEY", "canary-2")
	t.Setenv("OTHER_SECRET", "canary-3")
	b := newBoxed(t, local.Config{})
	for line, want := range map[string]string{
		"touch " + b.outside + "/x":                          "This ran in the sandbox (workspace-write)",
		"mkdir -p .git; echo x > .git/commondir; exit 1":     "The sandbox blocked ",
		"echo no luck >&2; exit 1":                           "",
		"touch " + b.outside + "/x || true":                  "",
		"gh() { echo not logged in; return 1; }; gh pr list": "Commands do not get GH_TOKEN from",
		"echo you must set DEPLOY_KEY; exit 3":               "Commands do not get DEPLOY_KEY from",
		"test -n \"$DEPLOY_KEY\" && test -n \"$GH_TOKEN\"":   "Commands do not get DEPLOY_KEY, GH_TOKEN from",
		"echo DEPLOY_KEYS; exit 3":                           "",
	} {
		out := b.call("shell", map[string]any{"command": line})
		notes := strings.Join(out.Result.Notes, "\n")
		if want == "" && notes != "" || !strings.Contains(notes, want) {
			t.Errorf("%s: %q, want %q", line, notes, want)
		}
		if strings.Contains(out.Model, "canary") {
			t.Errorf("%s: %s", line, out.Model)
		}
	}
	for name, want := range map[string]string{"Bash": "dangerouslyDisableSandbox: true", "exec_command": `sandbox_permissions: "require_escalated"`, "shell": "outside_sandbox: true"} {
		if note := sandboxNote(*b.env.Info().Limits, name); !strings.Contains(note, "repeat the call with "+want+";") {
			t.Errorf("%s: %s", name, note)
		}
	}
}

func TestSandbox_AutoModeRunsWhatItConfines(t *testing.T) {
	b := newBoxed(t, local.Config{})
	b.pipe.Policy, b.pipe.Mode, b.pipe.Approve = rules.Policy{}, policy.ModeAuto, nil
	if out := b.call("shell", map[string]any{"command": "make-nothing || touch x; exit 0"}); !out.OK() {
		t.Errorf("in the sandbox: %s", out.Model)
	}
	plain, err := local.New(local.Config{Dir: b.env.Info().Dir})
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	b.env = plain
	if out := b.call("shell", map[string]any{"command": "make-nothing || touch x; exit 0"}); out.OK() || out.Decision.Code != "runs" {
		t.Errorf("without a sandbox: %+v %s", out.Decision, out.Model)
	}
}

// TestSandbox_CachesOfTheUserAreReadButNotChanged uses a cache of the user through an overlay.
func TestSandbox_CachesOfTheUserAreReadButNotChanged(t *testing.T) {
	user := t.TempDir()
	if err := os.WriteFile(filepath.Join(user, "entry"), []byte("old\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", user)
	state := t.TempDir()
	config := local.Config{Sandbox: sandbox.Config{Cache: home.Dir(state).Cache("x")}}
	b := newBoxed(t, config)
	out := b.call("shell", map[string]any{"command": "cat $GOCACHE/entry && echo new > $GOCACHE/entry && echo x > $GOCACHE/more && cat $GOCACHE/entry"})
	if !out.OK() || !strings.Contains(out.Model, "old\nnew") {
		t.Errorf("the cache of the user is not used: %s", out.Model)
	}
	names := func() (list []string) {
		entries, _ := os.ReadDir(user)
		for _, e := range entries {
			list = append(list, e.Name())
		}
		return list
	}
	if data, _ := os.ReadFile(filepath.Join(user, "entry")); string(data) != "old\n" || !slices.Equal(names(), []string{"entry"}) {
		t.Errorf("the cache of the user is changed: %q %v", data, names())
	}
	// A second environment at the same time has a cache of its own.
	other := newBoxed(t, config)
	if out := other.call("shell", map[string]any{"command": "cat $GOCACHE/entry; ls $GOCACHE"}); !strings.Contains(out.Model, "old\nentry") || strings.Contains(out.Model, "more") {
		t.Errorf("two environments share a cache: %s", out.Model)
	}
	b.env.Close()
	other.env.Close()
	again := newBoxed(t, config)
	if out := again.call("shell", map[string]any{"command": "cat $GOCACHE/more"}); !out.OK() {
		t.Errorf("the changes are gone after the end of the environment: %s", out.Model)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestPrompt_DescribesTheSandbox(t *testing.T) {
	b := newBoxed(t, local.Config{})
	for want, e := range map[string]env.Environment{
		"Sandbox: workspace-write: commands can write only in the working directory and in $TMPDIR, and have no network\n": b.env,
		"": b.env.Outside(),
	} {
		text, err := NewProfile(ProfileConfig{Provider: "anthropic", Model: "claude-sonnet-5-5"}).SystemPrompt(t.Context(), e, PromptConfig{})
		if err != nil || !strings.Contains(text, want) || want == "" && strings.Contains(text, "Sandbox:") {
			t.Errorf("%q is not in the prompt (%v):\n%s", want, err, text)
		}
	}
}
