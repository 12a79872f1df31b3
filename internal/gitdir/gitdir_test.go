//go:build unix

package gitdir_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/internal/gitdir"
)

// place is a repository with the directory sub, whose .git a case plans.
type place struct {
	t        testing.TB
	top, sub string
}

func newPlace(t testing.TB) place {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := place{t, dir, filepath.Join(dir, "sub")}
	p.git(p.top, "init", "--quiet")
	p.git(p.top, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "--quiet", "--allow-empty", "--message=a")
	p.dir("sub/below")
	return p
}

func (p place) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p place) dir(name string) { p.t.Helper(); p.must(os.MkdirAll(filepath.Join(p.top, name), 0o755)) }

func (p place) file(name, text string) {
	p.t.Helper()
	p.dir(filepath.Dir(name))
	p.must(os.WriteFile(filepath.Join(p.top, name), []byte(text), 0o644))
}

func (p place) link(target, name string) {
	p.t.Helper()
	p.must(os.Symlink(target, filepath.Join(p.top, name)))
}

func (p place) remove(name string) { p.t.Helper(); p.must(os.RemoveAll(filepath.Join(p.top, name))) }

// skeleton makes the least that git takes for a repository.
func (p place) skeleton(name, head string) {
	p.t.Helper()
	p.dir(name + "/objects")
	p.dir(name + "/refs")
	p.file(name+"/HEAD", head)
}

// run runs git without the user's configuration and returns its output.
func (p place) run(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES="+filepath.Dir(p.top))
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (p place) git(dir string, args ...string) {
	p.t.Helper()
	if out, err := p.run(dir, args...); err != nil {
		p.t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

const (
	above   = "above"   // git ignores it
	here    = "here"    // git uses it
	invalid = "invalid" // git fails
	either  = "either"  // git ignores it or fails, which depends on the version; it counts as invalid
)

const detached = "0123456789abcdef0123456789abcdef01234567"

var cases = map[string]struct {
	plan func(place)
	want string
}{
	"no .git":         {func(place) {}, above},
	"empty directory": {func(p place) { p.dir("sub/.git") }, above},
	"HEAD only":       {func(p place) { p.file("sub/.git/HEAD", "ref: refs/heads/main\n") }, above},
	"other files only": {func(p place) {
		p.file("sub/.git/config", "[core]\n")
		p.file("sub/.git/hooks/post-commit", "")
	}, above},
	"no objects":             {func(p place) { p.skeleton("sub/.git", "ref: refs/heads/main\n"); p.remove("sub/.git/objects") }, above},
	"no refs":                {func(p place) { p.skeleton("sub/.git", "ref: refs/heads/main\n"); p.remove("sub/.git/refs") }, above},
	"repository":             {func(p place) { p.git(p.sub, "init", "--quiet") }, here},
	"SHA-256 repository":     {func(p place) { p.git(p.sub, "init", "--quiet", "--object-format=sha256") }, here},
	"skeleton":               {func(p place) { p.skeleton("sub/.git", "ref: refs/heads/main\n") }, here},
	"HEAD with spaces":       {func(p place) { p.skeleton("sub/.git", "ref: \t\n refs/x") }, here},
	"HEAD without a space":   {func(p place) { p.skeleton("sub/.git", "ref:refs/x") }, here},
	"HEAD to another place":  {func(p place) { p.skeleton("sub/.git", "ref: heads/main\n") }, above},
	"empty HEAD":             {func(p place) { p.skeleton("sub/.git", "") }, above},
	"HEAD is a directory":    {func(p place) { p.skeleton("sub/.git", ""); p.remove("sub/.git/HEAD"); p.dir("sub/.git/HEAD") }, above},
	"detached HEAD":          {func(p place) { p.skeleton("sub/.git", detached+"\n") }, here},
	"detached HEAD in caps":  {func(p place) { p.skeleton("sub/.git", strings.ToUpper(detached)) }, here},
	"HEAD with more behind":  {func(p place) { p.skeleton("sub/.git", detached+"zzz") }, here},
	"HEAD of 39 digits":      {func(p place) { p.skeleton("sub/.git", detached[1:]+"\n") }, above},
	"HEAD link":              {headLink("refs/heads/main"), here},
	"HEAD link to elsewhere": {headLink("../HEAD"), above},
	"HEAD link outside":      {headLink("/dev/null"), above},
	"objects is a file": {func(p place) {
		p.skeleton("sub/.git", detached)
		p.remove("sub/.git/objects")
		p.file("sub/.git/objects", "")
	}, above},
	"objects is a link": {func(p place) {
		p.skeleton("sub/.git", detached)
		p.remove("sub/.git/objects")
		p.link("../../.git/objects", "sub/.git/objects")
	}, here},
	"objects is a dangling link": {func(p place) {
		p.skeleton("sub/.git", detached)
		p.remove("sub/.git/objects")
		p.link("nowhere", "sub/.git/objects")
	}, above},
	"worktree": {func(p place) {
		p.remove("sub")
		p.git(p.top, "worktree", "add", "--quiet", "--detach", "sub")
		p.dir("sub/below")
	}, here},
	"submodule": {func(p place) {
		p.git(p.top, "init", "--quiet", "other")
		p.git(filepath.Join(p.top, "other"), "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "--quiet", "--allow-empty", "--message=a")
		p.remove("sub")
		p.git(p.top, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "./other", "sub")
		p.dir("sub/below")
	}, here},
	"worktree that was removed": {func(p place) {
		p.remove("sub")
		p.git(p.top, "worktree", "add", "--quiet", "--detach", "sub")
		p.dir("sub/below")
		p.remove(".git/worktrees")
	}, invalid},
	"link to a worktree": {func(p place) {
		p.git(p.top, "worktree", "add", "--quiet", "--detach", "w")
		p.link("../.git/worktrees/w", "sub/.git")
	}, here},
	"file with a relative path": {func(p place) { p.skeleton("real", detached); p.file("sub/.git", "gitdir: ../real") }, here},
	"file with line ends":       {func(p place) { p.skeleton("real", detached); p.file("sub/.git", "gitdir: ../real\r\n\n") }, here},
	"file without a space":      {func(p place) { p.skeleton("real", detached); p.file("sub/.git", "gitdir:../real\n") }, invalid},
	"file with a space behind":  {func(p place) { p.skeleton("real", detached); p.file("sub/.git", "gitdir: ../real \n") }, invalid},
	"file to nowhere":           {func(p place) { p.file("sub/.git", "gitdir: nowhere\n") }, invalid},
	"file to an empty directory": {func(p place) {
		p.dir("real")
		p.file("sub/.git", "gitdir: ../real\n")
	}, invalid},
	"file without a path":  {func(p place) { p.file("sub/.git", "gitdir: \n") }, invalid},
	"file with other text": {func(p place) { p.file("sub/.git", "text\n") }, invalid},
	"empty file":           {func(p place) { p.file("sub/.git", "") }, invalid},
	"huge file":            {func(p place) { p.file("sub/.git", "gitdir: "+strings.Repeat("x", 1<<20)) }, invalid},
	"link to a repository": {func(p place) { p.skeleton("real", detached); p.link("../real", "sub/.git") }, here},
	"link to a file": {func(p place) {
		p.skeleton("real", detached)
		p.file("f", "gitdir: ../real\n")
		p.link("../f", "sub/.git")
	}, here},
	"link to nothing":        {func(p place) { p.link("nowhere", "sub/.git") }, either},
	"link to a directory":    {func(p place) { p.dir("real"); p.link("../real", "sub/.git") }, above},
	"link to itself":         {func(p place) { p.link(".git", "sub/.git") }, either},
	"pipe":                   {func(p place) { p.must(syscall.Mkfifo(filepath.Join(p.sub, ".git"), 0o600)) }, either},
	"commondir":              {func(p place) { p.file("sub/.git/HEAD", detached); p.file("sub/.git/commondir", "../../.git\n") }, here},
	"commondir to nowhere":   {func(p place) { p.skeleton("sub/.git", detached); p.file("sub/.git/commondir", "no/where\n") }, invalid},
	"commondir, but no HEAD": {func(p place) { p.file("sub/.git/commondir", "../../.git\n") }, above},
	"commondir to a directory without objects": {func(p place) {
		p.skeleton("sub/.git", detached)
		p.file("sub/.git/commondir", "..\n")
	}, either},
	"empty commondir": {func(p place) { p.skeleton("sub/.git", detached); p.file("sub/.git/commondir", "") }, invalid},
}

func headLink(target string) func(place) {
	return func(p place) {
		p.skeleton("sub/.git", "")
		p.remove("sub/.git/HEAD")
		p.link(target, "sub/.git/HEAD")
	}
}

func TestFind_DecidesLikeGit(t *testing.T) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			c.plan(p)
			from := filepath.Join(p.sub, "below")
			git := p.ask(from)
			if git != c.want && (c.want != either || git == here) {
				t.Errorf("git: %s, want %s", git, c.want)
			}
			want := c.want
			if want == either {
				want = invalid
			}
			for kind, files := range p.kinds() {
				if got := p.find(files, from); got != want {
					t.Errorf("%s: %s, want %s", kind, got, want)
				}
				if got := gitdir.Stops(files, p.sub); got != (want != above) {
					t.Errorf("%s: Stops reports %t", kind, got)
				}
			}
		})
	}
}

// ask returns what git does in a directory.
func (p place) ask(dir string) string {
	p.t.Helper()
	switch out, err := p.run(dir, "rev-parse", "--show-toplevel"); {
	case err != nil:
		return invalid
	case out == p.sub:
		return here
	case out == p.top:
		return above
	default:
		p.t.Fatalf("git finds %s", out)
		return ""
	}
}

func (p place) kinds() map[string]gitdir.Files {
	p.t.Helper()
	e, err := local.New(local.Config{Dir: p.sub})
	p.must(err)
	p.t.Cleanup(func() { e.Close() })
	return map[string]gitdir.Files{"host": gitdir.Host, "environment": gitdir.In(p.t.Context(), e)}
}

// find returns what Find does in a directory.
func (p place) find(files gitdir.Files, dir string) string {
	p.t.Helper()
	top, r, err := gitdir.Find(files, dir)
	switch {
	case err != nil && top == p.sub && r == gitdir.Repo{}:
		return invalid
	case err != nil:
		p.t.Errorf("Find stops at %s: %v", top, err)
	case top == p.sub:
		p.sameDirs(r)
		return here
	case top == p.top:
		return above
	}
	p.t.Fatalf("Find returns %s", top)
	return ""
}

// sameDirs checks the directories for a repository in sub.
func (p place) sameDirs(r gitdir.Repo) {
	p.t.Helper()
	for flag, got := range map[string]string{"--absolute-git-dir": r.Dir, "--git-common-dir": r.Common} {
		out, err := p.run(p.sub, "rev-parse", flag)
		p.must(err)
		if !filepath.IsAbs(out) {
			out = filepath.Join(p.sub, out)
		}
		want, err := filepath.EvalSymlinks(out)
		p.must(err)
		if got != want {
			p.t.Errorf("git rev-parse %s prints %s, Find returns %s", flag, want, got)
		}
	}
}

// Git fails in a bare repository because it has no work tree. To the surrounding repository, its files are ordinary
// files, and anything that can write files can make such a directory. So it does not limit a project.
func TestFind_IgnoresBareRepositories(t *testing.T) {
	p := newPlace(t)
	p.git(p.top, "init", "--quiet", "--bare", "sub")
	below := filepath.Join(p.sub, "refs")
	if git := p.ask(below); git != invalid {
		t.Fatalf("git: %s", git)
	}
	p.git(p.top, "add", "sub/HEAD")
	for kind, files := range p.kinds() {
		if got := p.find(files, below); got != above {
			t.Errorf("%s: %s, want %s", kind, got, above)
		}
	}
}

func TestFind_WithoutRepositoryReturnsNone(t *testing.T) {
	p := newPlace(t)
	p.remove(".git")
	p.dir("sub/.git")
	if git := p.ask(p.sub); git != invalid { // not a repository
		t.Fatalf("git: %s", git)
	}
	for kind, files := range p.kinds() {
		if top, r, err := gitdir.Find(files, p.sub); top != "" || r != (gitdir.Repo{}) || err != nil {
			t.Errorf("%s: Find = %q, %v, %v, want none", kind, top, r, err)
		}
	}
}

// A repository that cannot be read is unknown, which differs from a repository that git refuses: git may run as another
// user.
func TestAt_UnreadableFilesAreAnErrorButNotInvalid(t *testing.T) {
	for name, plan := range map[string]func(place){
		"HEAD is a pipe": func(p place) {
			p.skeleton("sub/.git", "")
			p.remove("sub/.git/HEAD")
			p.must(syscall.Mkfifo(filepath.Join(p.sub, ".git", "HEAD"), 0o600))
		},
		"commondir is a directory": func(p place) { p.skeleton("sub/.git", detached); p.dir("sub/.git/commondir") },
		"refused":                  func(p place) { p.skeleton("sub/.git", detached) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			plan(p)
			for kind, files := range p.kinds() {
				if name == "refused" {
					files = refusing{files}
				}
				r, err := gitdir.At(files, p.sub)
				if err == nil || errors.Is(err, gitdir.ErrInvalid) || r != (gitdir.Repo{}) {
					t.Errorf("%s: At = %v, %v, want an error that is not ErrInvalid", kind, r, err)
				}
				if !gitdir.Stops(files, p.sub) {
					t.Errorf("%s: Stops reports false", kind)
				}
			}
		})
	}
}

// refusing are files that cannot be read.
type refusing struct{ gitdir.Files }

func (refusing) Read(string) ([]byte, error) { return nil, os.ErrPermission }
