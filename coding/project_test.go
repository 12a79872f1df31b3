//go:build unix

package coding_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/env/sandbox"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// project is a directory on disk in which sessions start.
type project struct {
	t   *testing.T
	dir string
}

func newProject(t *testing.T) project {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return project{t, dir}
}

func (p project) write(name, content string) {
	p.t.Helper()
	full := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p project) read(name string) string {
	p.t.Helper()
	b, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}

func (p project) git(args ...string) {
	p.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", p.dir, "-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgSign=false"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// repository is a project with one commit on the branch main.
func repository(t *testing.T) project {
	t.Helper()
	p := newProject(t)
	p.git("init", "-q", "-b", "main")
	p.write("kept.txt", "kept\n")
	p.git("add", ".")
	p.git("commit", "-q", "-m", "Begin here")
	return p
}

// env returns an environment without a sandbox, which is the default of [coding.Open].
func (p project) env(below string) env.Environment { return p.open(below, sandbox.Config{}) }

// boxed returns an environment with the default sandbox.
func (p project) boxed(below string) env.Environment {
	return p.open(below, sandbox.Config{Mode: sandbox.WorkspaceWrite})
}

func (p project) open(below string, box sandbox.Config) env.Environment {
	p.t.Helper()
	e, err := local.New(local.Config{Dir: filepath.Join(p.dir, below), SpoolDir: p.t.TempDir(), Sandbox: box})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { e.Close() })
	return e
}

// rig runs the tools of a profile in a project, through the whole pipeline.
type rig struct {
	project
	local env.Environment
	pipe  *tool.Pipeline
}

type args map[string]any

func newRig(t *testing.T, p *coding.Profile) *rig {
	t.Helper()
	reg, err := p.Registry()
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{project: newProject(t), pipe: &tool.Pipeline{Registry: reg, Policy: policy.AllowAll{}}}
	r.local = r.env("")
	return r
}

func (r *rig) run(name string, a args) tool.Outcome {
	r.t.Helper()
	b, err := json.Marshal(a)
	if err != nil {
		r.t.Fatal(err)
	}
	return r.pipe.Run(r.t.Context(), tool.Call{ID: "1", Name: name, Args: b, Env: r.local, Vision: true})
}

// ok runs a call that must succeed and returns its whole output.
func (r *rig) ok(name string, a args) string {
	r.t.Helper()
	out := r.run(name, a)
	if !out.OK() {
		r.t.Errorf("%s %v failed: %+v", name, a, out.Result.Error)
	}
	return tool.String(out.Result.Output)
}

// inOrder checks that texts occur one after the other.
func inOrder(t *testing.T, text string, want ...string) {
	t.Helper()
	rest := text
	for _, w := range want {
		_, after, found := strings.Cut(rest, w)
		if !found {
			t.Errorf("%q is missing or too early in:\n%s", w, text)
			return
		}
		rest = after
	}
}
