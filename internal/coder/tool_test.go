package coder

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/policy/rules"
	"github.com/reins-agent/reins/tool"
)

// call calls the tool through a pipeline that works in the directory of the rig.
func (r *rig) call(p policy.Policy, mode policy.Mode, args map[string]any, output func([]byte)) tool.Outcome {
	r.Helper()
	e, err := local.New(local.Config{Dir: r.dir})
	if err != nil {
		r.Fatal(err)
	}
	defer e.Close()
	reg := &tool.Registry{}
	if err := reg.Register(Tool(r.config)); err != nil {
		r.Fatal(err)
	}
	all := map[string]any{"PROMPT": "the task", "cd": "."}
	for k, v := range args {
		all[k] = v
	}
	return (&tool.Pipeline{Registry: reg, Policy: p, Mode: mode}).Run(r.Context(), tool.Call{ID: "1", Name: "coder", Args: json.RawMessage(asJSON(r.T, all)), Env: e, Output: output})
}

func TestTool_ReturnsTheObjectAsItsText(t *testing.T) {
	r := newRig(t, llmtest.Say("done"), llmtest.Fail(400))
	var shown strings.Builder
	o := r.call(policy.AllowAll{}, "", map[string]any{"return_metrics": true}, func(p []byte) { shown.Write(p) })
	var res Result
	if err := json.Unmarshal([]byte(o.Model), &res); err != nil || !o.OK() {
		t.Fatalf("the outcome is %q, %v", o.Model, err)
	}
	r.succeeds(res, "done")
	if res.Metrics == nil || !strings.Contains(shown.String(), "done\n") {
		t.Errorf("the metrics are %v, the progress is %q", res.Metrics, shown.String())
	}
	o = r.call(policy.AllowAll{}, "", map[string]any{"timeout": 7, "max_duration": 0}, nil)
	res = Result{}
	if err := json.Unmarshal([]byte(o.Model), &res); err != nil || o.OK() {
		t.Fatalf("the outcome is %q, %v, success %v", o.Model, err, o.OK())
	}
	r.fails(res, UpstreamError)
	if d := res.Detail; d.IdleTimeout != 7 || d.MaxDuration != 0 {
		t.Errorf("the limits are %s", asJSON(t, d))
	}
}

func TestTool_PolicyDecidesAboutTheDirectory(t *testing.T) {
	outside := realPath(t, t.TempDir())
	for name, c := range map[string]struct {
		mode    policy.Mode
		args    map[string]any
		command bool
		want    policy.Verdict
	}{
		"default":                {policy.ModeDefault, nil, false, policy.Ask},
		"plan":                   {policy.ModePlan, nil, false, policy.Ask},
		"dontAsk":                {policy.ModeDontAsk, nil, false, policy.Deny},
		"acceptEdits":            {policy.ModeAcceptEdits, nil, false, policy.Allow},
		"outside":                {policy.ModeAcceptEdits, map[string]any{"cd": outside}, false, policy.Ask},
		"read-only":              {policy.ModeDefault, map[string]any{"sandbox": "read-only"}, false, policy.Allow},
		"read-only outside":      {policy.ModeDefault, map[string]any{"sandbox": "read-only", "cd": outside}, false, policy.Ask},
		"full access":            {policy.ModeAcceptEdits, map[string]any{"sandbox": "danger-full-access"}, false, policy.Ask},
		"command":                {policy.ModeAcceptEdits, nil, true, policy.Ask},
		"command with read-only": {policy.ModeDefault, map[string]any{"sandbox": "read-only"}, true, policy.Ask},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, llmtest.Say("done"))
			if c.command {
				r.config.Session, r.config.Command = nil, &Command{Args: []string{"some-agent", "-p", "a b"}, Env: func(string, Sandbox) (env.Environment, error) { return nil, os.ErrPermission }}
			}
			o := r.call(rules.Policy{}, c.mode, c.args, nil)
			if o.Decision.Verdict != c.want {
				t.Errorf("the decision is %+v, want %v", o.Decision, c.want)
			}
			if n := len(r.model.Requests()); (n > 0) != (c.want == policy.Allow) {
				t.Errorf("the model was called %d times", n)
			}
		})
	}
}

func TestTool_ARuleAllowsIt(t *testing.T) {
	rule, err := rules.Parse("coder")
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, llmtest.Say("done"))
	if o := r.call(rules.Policy{Allow: []rules.Rule{rule}}, "", nil, nil); !o.OK() {
		t.Errorf("the outcome is %q", o.Model)
	}
}

func TestTool_WorksInTheDirectoryThatWasJudged(t *testing.T) {
	r := newRig(t, llmtest.Call("write_file", `{"file_path":"made","content":"x"}`), llmtest.Say("done"))
	inside, outside := filepath.Join(r.dir, "inside"), t.TempDir()
	if err := os.Mkdir(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(r.dir, "link")
	if err := os.Symlink(inside, link); err != nil {
		t.Skip(err)
	}
	swap := policy.Func(func(ctx context.Context, q policy.Query) policy.Decision {
		if err := os.Remove(link); err != nil {
			t.Error(err)
		}
		if err := os.Symlink(outside, link); err != nil {
			t.Error(err)
		}
		return policy.AllowAll{}.Decide(ctx, q)
	})
	r.call(swap, "", map[string]any{"cd": "link"}, nil)
	if _, err := os.Stat(filepath.Join(inside, "made")); err != nil {
		t.Errorf("the run did not work in the directory that was judged: %v", err)
	}
	if _, err := os.Stat(filepath.Join(outside, "made")); err == nil {
		t.Error("the run worked in a directory that was not judged")
	}
}

func TestTool_RefusesInvalidArguments(t *testing.T) {
	for _, args := range []map[string]any{
		{"PROMPT": ""}, {"cd": ""}, {"sandbox": "none"}, {"timeout": 0}, {"max_duration": -1}, {"max_retries": 11}, {"unknown": 1}, {"allowed_files": "src"},
	} {
		if o := newRig(t).call(policy.AllowAll{}, "", args, nil); o.OK() || o.Result.Error.Code != tool.ValidationError {
			t.Errorf("%v: %q, want a validation error", args, o.Model)
		}
	}
}
