package configtool

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// configRig runs the config tool on a real file.
type configRig struct {
	*testing.T
	file  string
	pipe  *tool.Pipeline
	diffs []string // that were approved
}

func newConfigRig(t *testing.T) *configRig {
	home := t.TempDir()
	r := &configRig{T: t, file: filepath.Join(home, "config.toml"), pipe: &tool.Pipeline{Registry: &tool.Registry{}, Mode: policy.ModeBypass}}
	if err := os.WriteFile(r.file, []byte("# mine\nmodel = \"old\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	src := config.Sources{Getenv: func(name string) string { return map[string]string{"REINS_CONFIG": r.file}[name] }, SystemDir: home + "/none"}
	err := r.pipe.Registry.Register(New(func() ([]config.Entry, error) {
		s, err := config.Load(src)
		if err != nil {
			return nil, err
		}
		return s.Entries(), nil
	}, func() (config.File, error) {
		files := src.Files()
		return files[slices.IndexFunc(files, func(f config.File) bool { return f.Layer == config.LayerUser })], nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *configRig) call(args string) tool.Outcome {
	e, err := local.New(local.Config{Dir: r.TempDir()})
	if err != nil {
		r.Fatal(err)
	}
	defer e.Close()
	return r.pipe.Run(r.Context(), tool.Call{ID: "1", Name: "config", Args: json.RawMessage(args), Env: e})
}

// approve answers all questions.
func (r *configRig) approve(allow bool) {
	r.pipe.Approve = func(ctx context.Context, q tool.Request) (tool.Approval, error) {
		p, ok, err := q.Preview(ctx)
		if !ok || err != nil {
			r.Errorf("no preview: %v", err)
		}
		r.diffs = append(r.diffs, coding.PreviewDiff(q.Call.Env, p))
		return tool.Approval{Allow: allow}, nil
	}
}

func (r *configRig) content() string {
	b, err := os.ReadFile(r.file)
	if err != nil {
		r.Fatal(err)
	}
	return string(b)
}

func TestConfigTool_ReadsSettingsWithTheirOrigins(t *testing.T) {
	r := newConfigRig(t)
	for args, want := range map[string]string{
		`{"key":"model"}`: "model = \"old\" (" + r.file + ":2)\n", `{"key":"run.max_rounds"}`: "run.max_rounds = 200 (default)\n",
		`{"key":"effort"}`: "effort is not set.", `{"key":"modell"}`: `Unknown setting "modell"`,
	} {
		if out := r.call(args); !strings.HasPrefix(out.Model, want) {
			t.Errorf("%s: %q, want %q", args, out.Model, want)
		}
	}
	if out := r.call(`{}`); !strings.Contains(out.Model, "model = ") || !strings.Contains(out.Model, "sandbox") && strings.Count(out.Model, "\n") < 5 {
		t.Errorf("all settings: %q", out.Model)
	}
}

func TestConfigTool_ChangesOnlyWithAnApprovalOfTheDiff(t *testing.T) {
	r := newConfigRig(t)
	if out := r.call(`{"key":"model","value":"new"}`); out.OK() || strings.Contains(r.content(), "new") {
		t.Errorf("with nobody to ask: %+v", out.Result)
	}
	r.approve(false)
	if out := r.call(`{"key":"model","value":"new"}`); out.OK() || strings.Contains(r.content(), "new") {
		t.Errorf("refused: %+v", out.Result)
	}
	r.approve(true)
	for _, args := range []string{`{"key":"model","value":"new"}`, `{"key":"mcp.wait","value":7}`} {
		if out := r.call(args); !out.OK() {
			t.Errorf("%s: %v", args, out.Result.Error)
		}
	}
	if got := r.content(); !strings.HasPrefix(got, "# mine\nmodel = \"new\"\n") || !strings.Contains(got, "wait = 7") {
		t.Errorf("the file is %q", got)
	}
	if len(r.diffs) != 3 || !strings.Contains(r.diffs[1], "-model = \"old\"\n+model = \"new\"") {
		t.Errorf("the user saw %q", r.diffs)
	}
}

func TestConfigTool_NeverChangesWhatProtectsTheUser(t *testing.T) {
	r := newConfigRig(t)
	r.approve(true)
	before := r.content()
	for _, key := range append(config.Keys(), "providers.mine.key_command", "nonsense") {
		if config.AgentCanSet(key) {
			continue
		}
		args, err := json.Marshal(map[string]any{"key": key, "value": "off"})
		if err != nil {
			t.Fatal(err)
		}
		if out := r.call(string(args)); out.OK() {
			t.Errorf("%s was changed", key)
		}
	}
	if r.content() != before || len(r.diffs) > 0 {
		t.Errorf("asked %d times; the file is now %q", len(r.diffs), r.content())
	}
}
