//go:build unix

package prompt_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/internal/prompt"
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

func (p project) link(target, name string) {
	p.t.Helper()
	if err := os.Symlink(target, filepath.Join(p.dir, name)); err != nil {
		p.t.Fatal(err)
	}
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

func (p project) env(below string) env.Environment {
	p.t.Helper()
	e, err := local.New(local.Config{Dir: filepath.Join(p.dir, below), SpoolDir: p.t.TempDir()})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { e.Close() })
	return e
}

// build builds a prompt for an environment.
func build(t *testing.T, e env.Environment, c prompt.Config) string {
	t.Helper()
	c.Date = time.Date(2026, 11, 5, 23, 0, 0, 0, time.UTC)
	b := prompt.Base{Instructions: "Be good.", Model: "Model 1", DocFiles: []string{"AGENTS.md", ".codex/instructions.md"}}
	text, err := b.Build(t.Context(), e, c)
	if err != nil {
		t.Fatal(err)
	}
	return text
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
