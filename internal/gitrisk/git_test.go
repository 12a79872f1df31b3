//go:build unix

package gitrisk_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/internal/gitrisk"
)

// project is a repository in a temporary directory, with a program that leaves a mark when it runs: the canary.
type project struct {
	t            testing.TB
	base, dir    string // dir is the repository, in base
	canary, mark string
	global       string // the user's configuration
}

func newProject(t testing.TB) *project {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &project{t: t, base: base, dir: filepath.Join(base, "repo"), canary: filepath.Join(base, "canary"), global: filepath.Join(base, "gitconfig")}
	p.mark = p.canary + ".ran"
	p.put(p.canary, "#!/bin/sh\necho \"$0 $*\" >> "+p.mark+"\nexit 1\n", 0o755)
	p.put(p.global, "[user]\nname = A\nemail = a@b.c\n[protocol \"file\"]\nallow = always\n[init]\ndefaultBranch = main\n", 0o644)
	p.fill(p.dir)
	return p
}

// filled is a repository to copy.
var filled struct {
	sync.Once
	base string
}

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(filled.base)
	os.Exit(code)
}

// fill makes a repository with a merge and a change that is not committed.
func (p *project) fill(dir string) {
	p.t.Helper()
	filled.Do(func() {
		base, err := os.MkdirTemp("", "repo-test-")
		if err != nil {
			p.t.Fatal(err)
		}
		filled.base = base
		p.git(base, "init", "-q", "sha1")
		p.history(filepath.Join(base, "sha1"))
		p.git(base, "init", "-q", "--object-format=sha256", "sha256")
		p.history(filepath.Join(base, "sha256"))
	})
	format := "sha1"
	if strings.Contains(dir, "sha256") {
		format = "sha256"
	}
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(filled.base, format))); err != nil {
		p.t.Fatal(err)
	}
	_ = p.command(dir, "update-index", "-q", "--refresh").Run() // fails because of the change
}

func (p *project) history(dir string) {
	p.t.Helper()
	p.write(dir, "a.txt", "one\n")
	p.write(dir, "b.txt", "one\ntwo\nthree\n")
	p.git(dir, "add", ".")
	p.git(dir, "commit", "-qm", "one")
	p.git(dir, "checkout", "-qb", "side")
	p.write(dir, "b.txt", "ONE\ntwo\nthree\n")
	p.git(dir, "commit", "-qam", "side")
	p.git(dir, "checkout", "-q", "main")
	p.write(dir, "b.txt", "one\ntwo\nTHREE\n")
	p.git(dir, "commit", "-qam", "main")
	p.git(dir, "merge", "-q", "--no-edit", "side")
	p.write(dir, "a.txt", "two\n")
}

func (p *project) put(name, text string, mode os.FileMode) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) write(dir, name, text string) {
	p.t.Helper()
	p.put(filepath.Join(dir, name), text, 0o644)
}

// command returns a git command that uses only the test's configuration.
func (p *project) command(dir string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	p.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.base, "GIT_CONFIG_GLOBAL=" + p.global, "GIT_CONFIG_NOSYSTEM=1", "PAGER=cat",
		"GIT_EDITOR=" + p.canary + ".none", "GIT_TERMINAL_PROMPT=0"}
	return cmd
}

func (p *project) git(dir string, args ...string) string {
	p.t.Helper()
	cmd := p.command(dir, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("git %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

func (p *project) config(key, value string) { p.t.Helper(); p.git(p.dir, "config", key, value) }

// show runs git on a terminal, where it uses pagers, and returns the canary's report.
func (p *project) show(dir, line string) (ran string) {
	p.t.Helper()
	os.Remove(p.mark)
	cmd := p.command(dir, strings.Fields(line)...)
	tty, err := pty.Start(cmd)
	if err != nil {
		p.t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, tty)
	_ = cmd.Wait()
	tty.Close()
	text, _ := os.ReadFile(p.mark)
	return string(text)
}

// runs calls Runs for a directory in the project.
func (p *project) runs(below string) string {
	p.t.Helper()
	e, err := local.New(local.Config{Dir: p.base})
	if err != nil {
		p.t.Fatal(err)
	}
	defer e.Close()
	return gitrisk.Runs(p.t.Context(), e, filepath.Join(p.dir, below))
}

// object stores an object and returns its name.
func (p *project) object(kind, text string) string {
	p.t.Helper()
	cmd := p.command(p.dir, "hash-object", "-t", kind, "-w", "--stdin")
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// forge makes a commit with these headers the current one.
func (p *project) forge(headers string) {
	tree := p.git(p.dir, "rev-parse", "HEAD^{tree}")
	p.git(p.dir, "update-ref", "HEAD", p.object("commit", "tree "+tree+"\n"+headers+"author A <a@b.c> 1 +0000\ncommitter A <a@b.c> 1 +0000\n"+signature+"\nForged\n"))
}

const signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n"

// hook links a hook to the canary. The index has to be saved again, because a file looks changed but is not.
func (p *project) hook(dir, name string) {
	p.t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Symlink(p.canary, filepath.Join(dir, name)); err != nil {
		p.t.Fatal(err)
	}
	p.git(p.dir, "checkout", "-q", "a.txt")
	if err := os.Chtimes(filepath.Join(p.dir, "a.txt"), time.Unix(1e9, 0), time.Unix(1e9, 0)); err != nil {
		p.t.Fatal(err)
	}
}

// missing makes git fetch an object from a partial clone's remote.
func (p *project) missing(url string) {
	p.config("core.repositoryFormatVersion", "1")
	p.config("extensions.partialClone", "origin")
	p.config("remote.origin.url", url)
	p.forge("parent 1111111111111111111111111111111111111111\n")
}

// submodule adds a submodule.
func (p *project) submodule(path string) string {
	p.t.Helper()
	source := filepath.Join(p.base, "source")
	p.fill(source)
	p.git(p.dir, "submodule", "--quiet", "add", source, path)
	p.git(p.dir, "commit", "-qm", "submodule")
	return filepath.Join(p.dir, path)
}

func (p *project) attributes(text string) { p.write(p.dir, ".gitattributes", text) }

func (p *project) copyGit(to string) {
	p.t.Helper()
	if out, err := exec.Command("cp", "-r", filepath.Join(p.dir, ".git"), filepath.Join(p.dir, to)).CombinedOutput(); err != nil {
		p.t.Fatalf("%v: %s", err, out)
	}
}
