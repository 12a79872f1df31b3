package coder

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
)

// rig is a directory and a coder that works in it.
type rig struct {
	*testing.T
	dir    string
	config Config
	model  *llmtest.Script
}

// newRig returns a coder whose model plays these turns.
func newRig(t *testing.T, turns ...llmtest.Turn) *rig {
	r := &rig{T: t, dir: realPath(t, t.TempDir()), model: llmtest.Play(turns...)}
	r.config = Config{State: filepath.Join(t.TempDir(), "state"), Session: func(context.Context, string, Sandbox) (coding.Config, error) {
		return coding.Config{Model: "script", Session: agent.Config{Client: r.model, Policy: policy.AllowAll{}}}, nil
	}}
	return r
}

func realPath(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// run runs a request in the directory of the rig.
func (r *rig) run(q Request) Result {
	r.Helper()
	if q.Prompt == "" {
		q.Prompt = "the task"
	}
	if q.Dir == "" {
		q.Dir = r.dir
	}
	return Run(r.Context(), r.config, q)
}

// fails requires a failure of a kind.
func (r *rig) fails(res Result, want Kind) {
	r.Helper()
	if res.Success || res.Kind != want || res.Detail == nil || res.Detail.Message == "" || res.Error == "" {
		r.Fatalf("the result is %s, want the failure %s", asJSON(r.T, res), want)
	}
}

// succeeds requires success with an answer.
func (r *rig) succeeds(res Result, want string) {
	r.Helper()
	if !res.Success || res.Result != want || res.Session == "" {
		r.Fatalf("the result is %s, want success with %q", asJSON(r.T, res), want)
	}
}

func (r *rig) write(name, content string) {
	r.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		r.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		r.Fatal(err)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
