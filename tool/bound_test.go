package tool

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/policy"
)

// yard returns an environment with these files, in a directory that is reached through a link. It also returns the real
// directory.
//
//	d/file  d/sub/deep  other/file  link -> d  d/gone -> ../other/file  dangling -> new/dir/f
func yard(t *testing.T) (env.Environment, string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	real := filepath.Join(top, "real")
	for _, name := range []string{"d/file", "d/sub/deep", "other/file"} {
		path := filepath.Join(real, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(name), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"link": "d", "d/gone": "../other/file", "dangling": "new/dir/f"} {
		if err := os.Symlink(target, filepath.Join(real, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("real", filepath.Join(top, "work")); err != nil {
		t.Fatal(err)
	}
	e, err := local.New(local.Config{Dir: filepath.Join(top, "work"), SpoolDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e, real
}

func TestBound_OperationsNeedAnAccessThatWasJudged(t *testing.T) {
	operations := map[string]func(ctx context.Context, e env.Environment, path string) error{
		"stat":  func(ctx context.Context, e env.Environment, p string) error { _, err := e.Stat(ctx, p); return err },
		"lstat": func(ctx context.Context, e env.Environment, p string) error { _, err := e.Lstat(ctx, p); return err },
		"open": func(ctx context.Context, e env.Environment, p string) error {
			_, err := env.ReadFile(ctx, e, p, 0)
			return err
		},
		"list":   func(ctx context.Context, e env.Environment, p string) error { _, err := e.ReadDir(ctx, p); return err },
		"write":  func(ctx context.Context, e env.Environment, p string) error { return e.WriteFile(ctx, p, nil, 0o644) },
		"remove": func(ctx context.Context, e env.Environment, p string) error { return e.Remove(ctx, p) },
		"mkdir":  func(ctx context.Context, e env.Environment, p string) error { return e.Mkdir(ctx, p, 0o755) },
		"aside": func(ctx context.Context, e env.Environment, p string) error {
			return e.Rename(ctx, p, filepath.Join(filepath.Dir(p), ".reins-x.removed"))
		},
		"away": func(ctx context.Context, e env.Environment, p string) error { return e.Rename(ctx, p, "other/moved") },
		"start": func(ctx context.Context, e env.Environment, p string) error {
			_, err := env.Exec(ctx, e, env.Command{Line: "true", Dir: p})
			return err
		},
	}
	for _, tt := range []struct {
		kind             policy.Kind
		target           string // below the real directory
		path             string
		allowed, refused string // operations
	}{
		{policy.Read, "d", "d", "stat lstat list", "remove mkdir away"},
		{policy.Read, "d", "d/file", "stat lstat open", "write remove aside away"},
		{policy.Read, "d", "link/sub/deep", "stat lstat open", "write remove aside"},
		{policy.Read, "d", "link", "stat lstat list", "write remove"},
		{policy.Read, "d", "other/file", "", "stat lstat open write remove"},
		{policy.Read, "d", "d/gone", "lstat", "stat open write"},
		{policy.Read, "d", "d/new", "", "write mkdir"},
		{policy.Read, "d/file", ".", "stat lstat", "list"},
		{policy.Read, "d/file", "d/sub/deep", "", "stat open"},
		{policy.Write, "d/file", "d/file", "stat open write", "away start"},
		{policy.Write, "d/file", "link/file", "stat open write aside", ""},
		{policy.Write, "d", "d/file", "", "open write remove aside"},
		{policy.Write, "d/file", "other/file", "", "open write remove"},
		{policy.Write, "new/dir/f", "dangling", "lstat write", "remove aside"},
		{policy.Write, "new/f", "new", "mkdir", "list write"},
		{policy.Delete, "d/gone", "d/gone", "lstat stat aside", "open write away"},
		{policy.Delete, "d/gone", "link/gone", "stat remove", "write"},
		{policy.Delete, "d/file", "d/sub", "", "remove mkdir list"},
		{policy.Exec, "d", "link", "stat start", "list write remove"},
		{policy.Exec, "d", "d/sub", "", "start"},
		{policy.Exec, "d", "other", "", "start"},
	} {
		for _, name := range strings.Fields(tt.allowed + " | " + tt.refused) {
			op, ok := operations[name]
			if !ok {
				continue
			}
			e, real := yard(t)
			access := policy.Access{Kind: tt.kind, Target: filepath.Join(real, tt.target)}
			if tt.kind == policy.Exec {
				access.Target, access.Dir = "true", access.Target
			}
			err := op(t.Context(), bind(e, []policy.Access{access}, policy.Decision{}, nil), tt.path)
			var refusal *Error
			refused := errors.As(err, &refusal) && refusal.Code == PermissionDenied
			if strings.Contains(" "+tt.refused+" ", " "+name+" ") != refused || !refused && err != nil {
				t.Errorf("%s %s after %s %s: %v", name, tt.path, tt.kind, tt.target, err)
			}
		}
	}
}

func TestBound_DeclaringNothingPermitsNothingAndUndeclaredBindsNothing(t *testing.T) {
	e, _ := yard(t)
	if _, err := bind(e, []policy.Access{}, policy.Decision{}, nil).Open(t.Context(), "d/file"); err == nil {
		t.Error("a call that declared no access opened a file")
	}
	if got := bind(e, nil, policy.Decision{}, nil); got != e {
		t.Errorf("a call without declared accesses got %T", got)
	}
}

func TestBound_KeepsNamesAndErrorsOfTheEnvironment(t *testing.T) {
	e, real := yard(t)
	b := bind(e, []policy.Access{{Kind: policy.Read, Target: real}, {Kind: policy.Write, Target: filepath.Join(real, "d/file")}}, policy.Decision{}, nil)
	if fi, err := b.Stat(t.Context(), "link/"); fi.Name != "link" || err != nil {
		t.Errorf("stat: %+v, %v", fi, err)
	}
	for path, want := range map[string]error{"missing": fs.ErrNotExist, "d/file/x": env.ErrNotDir, "d": env.ErrIsDir, "": fs.ErrInvalid, "a\x00": fs.ErrInvalid} {
		if _, err := b.Open(t.Context(), path); !errors.Is(err, want) {
			t.Errorf("open %q: %v, want %v", path, err, want)
		}
	}
	if err := b.WriteFile(t.Context(), "d/file/", nil, 0o644); !errors.Is(err, env.ErrIsDir) {
		t.Errorf("write with a trailing separator: %v, want ErrIsDir", err)
	}
}

// Hosts display previews, so a preview must not read more than was judged.
func TestBound_PreviewsReadOnlyWhatWasJudged(t *testing.T) {
	e, real := yard(t)
	tl := WithPreview(echo(reads(filepath.Join(real, "d"))), func(ctx context.Context, c *Call, in echoIn) (Preview, error) {
		_, err := env.ReadFile(ctx, c.Env, in.Text, 0)
		return Preview{}, err
	})
	p := pipeline(t, tl)
	p.Policy = policy.Func(func(context.Context, policy.Query) policy.Decision {
		return policy.Decision{Verdict: policy.Ask, Rule: "test"}
	})
	for path, want := range map[string]bool{"link/file": true, "other/file": false, "d/gone": false} {
		p.Approve = func(ctx context.Context, r Request) (Approval, error) {
			if _, _, err := r.Preview(ctx); (err == nil) != want {
				t.Errorf("the preview read %s: %v", path, err)
			}
			return Approval{}, nil
		}
		c := call("echo", `{"text":"`+path+`"}`)
		c.Env = e
		p.Run(t.Context(), c)
	}
}

func TestApproval_PolicyCannotChangeWhatWasApproved(t *testing.T) {
	asked := false
	p := pipeline(t, echo(nil))
	p.Policy = policy.Func(func(_ context.Context, q policy.Query) policy.Decision {
		if !asked {
			return policy.Decision{Verdict: policy.Ask, Rule: "first"}
		}
		return policy.Decision{Verdict: policy.Allow, Rule: "later", Args: `{"text":"other"}`}
	})
	p.Approve = func(context.Context, Request) (Approval, error) {
		asked = true
		return Approval{Allow: true}, nil
	}
	out := p.Run(t.Context(), call("echo", `{"text":"hi"}`))
	if out.OK() || !strings.Contains(out.Model, "the policy changed its arguments while it waited for approval") || out.Decision.Verdict != policy.Deny {
		t.Errorf("got %q by %+v, want a refusal", out.Model, out.Decision)
	}
}

func TestApproval_CallIsJudgedAgainAfterTheAnswer(t *testing.T) {
	target, verdict := "/repo/a", policy.Ask
	p := pipeline(t, echo(func(context.Context, *Call, echoIn) []policy.Access {
		return []policy.Access{{Kind: policy.Write, Target: target}}
	}))
	p.Policy = policy.Func(func(context.Context, policy.Query) policy.Decision {
		return policy.Decision{Verdict: verdict, Rule: "test", Reason: "because"}
	})
	for _, tt := range []struct {
		name, target string
		verdict      policy.Verdict
		model, rule  string
		decided      policy.Verdict
	}{
		{"nothing changed", "/repo/a", policy.Ask, "hi", "test", policy.Ask},
		{"allowed meanwhile", "/repo/a", policy.Allow, "hi", "test", policy.Ask},
		{"leads elsewhere", "/etc/a", policy.Ask, "echo was not run because what it would access changed while it waited for approval; try again", "approval", policy.Deny},
		{"denied meanwhile", "/repo/a", policy.Deny, "echo was approved, but then denied: because", "test", policy.Deny},
	} {
		target, verdict = "/repo/a", policy.Ask
		p.Approve = func(context.Context, Request) (Approval, error) {
			target, verdict = tt.target, tt.verdict
			return Approval{Allow: true}, nil
		}
		out := p.Run(t.Context(), call("echo", `{"text":"hi"}`))
		if out.Model != tt.model || out.Decision.Rule != tt.rule || out.Decision.Verdict != tt.decided {
			t.Errorf("%s: %q by %+v, want %q by %s (%v)", tt.name, out.Model, out.Decision, tt.model, tt.rule, tt.decided)
		}
	}
}
