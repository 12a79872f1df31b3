package coding

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/audit"
	"github.com/reins-agent/reins/hook"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/policy/rules"
	"github.com/reins-agent/reins/tool"
)

func standardTools(c ToolConfig) (*tool.Registry, error) {
	r := &tool.Registry{}
	return r, r.Register(NewTools(c)...)
}

// openBench opens a workbench in a directory of its own.
func openBench(t *testing.T, c Config) (w *Workbench, dir, log string) {
	t.Helper()
	dir, log = t.TempDir(), filepath.Join(t.TempDir(), "audit.jsonl")
	c.Dir, c.Audit.Path = dir, log
	c.Session.Policy = rules.Policy{}
	w, err := OpenWorkbench(t.Context(), c, standardTools)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w, dir, log
}

func (w *Workbench) run(t *testing.T, name, args string) tool.Outcome {
	t.Helper()
	return w.Pipeline.Run(t.Context(), tool.Call{ID: "call", Name: name, Args: json.RawMessage(args), Env: w.Env})
}

func TestWorkbench_RunsCallsAsASessionDoes(t *testing.T) {
	w, dir, log := openBench(t, Config{Secrets: Secrets{Vars: []string{"MY_TOKEN=hunter2hunter2hunter2"}}})
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hunter2hunter2hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := w.run(t, "read_file", `{"file_path":"a.txt"}`); !strings.Contains(out.Model, "[redacted:MY_TOKEN]") || strings.Contains(out.Model, "hunter2") {
		t.Errorf("read_file: %q, want it redacted", out.Model)
	}
	if out := w.run(t, "shell", `{"command":"touch x"}`); out.OK() || out.Decision.Verdict != policy.Ask {
		t.Errorf("shell: %+v, want it refused because nobody can approve it", out.Decision)
	}
	// The link is swapped after the workbench was opened.
	other := t.TempDir()
	if err := os.Rename(dir, dir+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, dir); err != nil {
		t.Fatal(err)
	}
	if out := w.run(t, "read_file", `{"file_path":"`+other+`/none"}`); out.Decision.Verdict == policy.Allow {
		t.Errorf("the workspace follows a swapped link: %+v", out.Decision)
	}
	var calls []string
	for l, err := range audit.Read(log, 0) {
		if err != nil {
			t.Fatal(err)
		}
		calls = append(calls, l.Name+" "+l.Decision.Verdict)
	}
	if want := []string{"read_file allow", "shell ask", "read_file ask"}; !slices.Equal(calls, want) {
		t.Errorf("the audit log has %q, want %q", calls, want)
	}
}

func TestWorkbench_RunsHooks(t *testing.T) {
	var fired []string
	h := func(e hook.Event, out hook.Output, err error) hook.Hook {
		return hook.Hook{Event: e, Func: func(_ context.Context, in hook.Input) (hook.Output, error) {
			fired = append(fired, string(in.Event))
			if in.Session == "" || in.Dir == "" {
				t.Errorf("%s: session %q, directory %q", in.Event, in.Session, in.Dir)
			}
			if strings.Contains(string(in.ToolInput), "quiet") {
				return hook.Output{}, nil
			}
			return out, err
		}}
	}
	open := func(hooks ...hook.Hook) *Workbench {
		t.Helper()
		set, err := hook.New(hooks...)
		if err != nil {
			t.Fatal(err)
		}
		fired = nil
		w, dir, _ := openBench(t, Config{Session: agent.Config{Hooks: set}})
		if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return w
	}
	read := `{"file_path":"a.txt"}`

	w := open(h(hook.PreToolUse, hook.Output{Decision: hook.Deny, Reason: "not this"}, nil), h(hook.PermissionDenied, hook.Output{}, nil))
	if out := w.run(t, "read_file", read); out.OK() || !strings.Contains(out.Model, "not this") || !slices.Equal(fired, []string{"PreToolUse", "PermissionDenied"}) {
		t.Errorf("a hook that denies: %q after %q", out.Model, fired)
	}
	w = open(h(hook.PreToolUse, hook.Output{}, errors.New("broken")))
	if out := w.run(t, "read_file", read); out.OK() {
		t.Errorf("a hook that fails: %q, want the call refused", out.Model)
	}
	w = open(h(hook.PreToolUse, hook.Output{Context: "before"}, nil), h(hook.PostToolUse, hook.Output{Decision: hook.Deny, Reason: "bad file", Context: "after"}, nil))
	if out := w.run(t, "read_file", read); !out.OK() || !strings.Contains(out.Model, "[before]") || !strings.Contains(out.Model, "[bad file\nafter]") {
		t.Errorf("hooks that say something: %q, want it as notes", out.Model)
	}
	if len(w.hooks.said) != 0 {
		t.Errorf("what hooks said is kept: %q", w.hooks.said)
	}
	w = open(h(hook.PermissionRequest, hook.Output{Decision: hook.Deny, Reason: "do not ask"}, nil))
	if a := w.Guard(t.Context(), tool.Request{Spec: tool.Spec{Name: "shell"}}); a == nil || a.Allow || a.Message != "do not ask" {
		t.Errorf("Guard: %+v, want a refusal", a)
	}
	if a := open().Guard(t.Context(), tool.Request{}); a != nil {
		t.Errorf("Guard without hooks: %+v, want nil", a)
	}
}

func TestWorkbench_FailsIfItsPartsCannotBeMade(t *testing.T) {
	if _, err := OpenWorkbench(t.Context(), Config{Dir: filepath.Join(t.TempDir(), "none")}, standardTools); err == nil {
		t.Error("a directory that does not exist: no error")
	}
	bad := errors.New("no tools")
	if _, err := OpenWorkbench(t.Context(), Config{Dir: t.TempDir(), State: t.TempDir()}, func(ToolConfig) (*tool.Registry, error) { return nil, bad }); !errors.Is(err, bad) {
		t.Errorf("OpenWorkbench: %v, want %v", err, bad)
	}
}
