package tools_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig runs the tools on real files and processes, through the whole pipeline.
type rig struct {
	t    testing.TB
	dir  string
	env  env.Environment
	pipe *tool.Pipeline
}

func newRig(t testing.TB, c tools.Config) *rig {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	e, err := local.New(local.Config{Dir: dir, SpoolDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	if c.State == nil {
		c.State = tools.NewState()
	}
	reg := &tool.Registry{}
	if err := reg.Register(tools.New(c)...); err != nil {
		t.Fatal(err)
	}
	more := slices.DeleteFunc(tools.More(c), func(m tool.Tool) bool { return slices.Contains(reg.Names(), m.Spec().Name) })
	if err := reg.Register(more...); err != nil {
		t.Fatal(err)
	}
	reg.Alias(tools.Aliases()...)
	return &rig{t, dir, e, &tool.Pipeline{Registry: reg, Policy: policy.AllowAll{}}}
}

// args are the arguments of a call.
type args map[string]any

func (r *rig) request(name string, a args) tool.Call {
	r.t.Helper()
	b, err := json.Marshal(a)
	if err != nil {
		r.t.Fatal(err)
	}
	return tool.Call{ID: "1", Name: name, Args: b, Env: r.env, Vision: true}
}

func (r *rig) run(name string, a args) tool.Outcome {
	r.t.Helper()
	return r.pipe.Run(r.t.Context(), r.request(name, a))
}

// ok runs a call that must succeed, and returns its whole output.
func (r *rig) ok(name string, a args) string {
	r.t.Helper()
	out := r.run(name, a)
	if !out.OK() {
		r.t.Errorf("%s %v failed: %+v", name, a, out.Result.Error)
	}
	return tool.String(out.Result.Output)
}

// fails runs a call that must fail with a code and a message, and returns the message.
func (r *rig) fails(code tool.Code, name string, a args, says ...string) string {
	r.t.Helper()
	out := r.run(name, a)
	if out.OK() || out.Result.Error.Code != code {
		r.t.Fatalf("%s %v gave %+v, want the error %s", name, a, out.Result.Error, code)
	}
	for _, want := range says {
		if !strings.Contains(out.Model, want) {
			r.t.Errorf("%s %v: the model reads %q, want it to say %q", name, a, out.Model, want)
		}
	}
	return out.Result.Error.Message
}

func (r *rig) path(name string) string { return filepath.Join(r.dir, name) }

func (r *rig) write(name, content string) {
	r.t.Helper()
	if err := os.MkdirAll(filepath.Dir(r.path(name)), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(r.path(name), []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) link(target, name string) {
	r.t.Helper()
	if err := os.Symlink(target, r.path(name)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) read(name string) string {
	r.t.Helper()
	b, err := os.ReadFile(r.path(name))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(b)
}

// tree lists every file below the directory with its mode and content.
func (r *rig) tree() map[string]string {
	r.t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(r.dir, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content := ""
		switch {
		case info.Mode().IsRegular():
			b, rerr := os.ReadFile(p)
			content, err = string(b), rerr
		case info.Mode()&os.ModeSymlink != 0:
			content, err = os.Readlink(p)
		}
		files[p] = info.Mode().String() + " " + content
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return files
}

// accesses returns what a call declares, as "kind target".
func (r *rig) accesses(name string, a args) []string {
	r.t.Helper()
	out := r.pipe.Check(r.t.Context(), r.request(name, a))
	if !out.OK() {
		r.t.Fatalf("%s %v is refused: %v", name, a, out.Result.Error)
	}
	if out.Accesses == nil {
		r.t.Errorf("%s %v does not declare what it touches", name, a)
	}
	var list []string
	for _, acc := range out.Accesses {
		list = append(list, acc.String())
	}
	return list
}

func (r *rig) declares(name string, a args, want ...string) {
	r.t.Helper()
	if got := r.accesses(name, a); !slices.Equal(got, want) {
		r.t.Errorf("%s %v declares %q, want %q", name, a, got, want)
	}
}
