package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/internal/thorough"
)

// rig is a repository with a store for its worktrees.
type rig struct {
	t     *testing.T
	dir   string
	env   env.Environment
	store Store
}

func newRig(t *testing.T) *rig {
	t.Helper()
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, dir: filepath.Join(root, "project")}
	r.store = Store{Dir: filepath.Join(root, "state"), Env: func(dir string) (env.Environment, error) { return local.New(local.Config{Dir: dir}) }}
	r.write("a.txt", "one\ntwo\nthree\nfour\nfive\nsix\nseven\n")
	r.write("sub/b.txt", "b\n")
	r.write(".gitignore", "*.log\n")
	r.git("init", "-q", "-b", "main")
	r.git("config", "user.name", "T")
	r.git("config", "user.email", "t@example.com")
	r.git("add", "-A")
	r.git("commit", "-qm", "first")
	r.env = r.open(r.dir)
	return r
}

func (r *rig) open(dir string) env.Environment {
	r.t.Helper()
	e, err := r.store.Env(dir)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { e.Close() })
	return e
}

func (r *rig) write(name, text string) { writeAt(r.t, r.dir, name, text) }

func writeAt(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (r *rig) git(args ...string) string { return gitAt(r.t, r.dir, args...) }

// gitAt runs git as a user does.
func gitAt(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_DATE=2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *rig) create(o Options) *Tree {
	r.t.Helper()
	tree, err := r.store.Create(context.Background(), r.env, o)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { tree.Close() })
	return tree
}

// snapshot returns every file below a directory with its mode and content, except those that skip names.
func snapshot(t *testing.T, dir string, skip ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		if below(rel, skip) {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := ""
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			text, err = os.Readlink(path)
		case d.Type().IsRegular():
			var b []byte
			b, err = os.ReadFile(path)
			text = string(b)
		}
		all[rel] = info.Mode().String() + " " + text
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func same(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	if maps.Equal(got, want) {
		return
	}
	for name := range maps.All(got) {
		if got[name] != want[name] {
			t.Errorf("%s: %s changed: got %q, want %q", what, name, got[name], want[name])
		}
	}
	for name := range want {
		if _, ok := got[name]; !ok {
			t.Errorf("%s: %s is gone", what, name)
		}
	}
}

// edit makes a random change in a worktree, as an agent with a shell could.
func edit(t *testing.T, rng *rand.Rand, dir string) {
	t.Helper()
	name := fmt.Sprintf("f%d.txt", rng.IntN(4))
	text := strings.Repeat(fmt.Sprintln(rng.Uint64()), 1+rng.IntN(5))
	switch rng.IntN(12) {
	case 0:
		writeAt(t, dir, name, text)
	case 1:
		writeAt(t, dir, "a.txt", text)
	case 2:
		_ = os.Remove(filepath.Join(dir, "a.txt"))
	case 3:
		writeAt(t, dir, "deep/"+name, text)
		_ = os.Chmod(filepath.Join(dir, "deep", name), 0o755)
	case 4:
		_ = os.Symlink("a.txt", filepath.Join(dir, fmt.Sprint("link", rng.IntN(3))))
	case 5:
		gitAt(t, dir, "add", "-A")
		gitAt(t, dir, "commit", "-q", "--allow-empty", "-m", "work")
	case 6:
		gitAt(t, dir, "branch", "-f", "main", "HEAD")
	case 7:
		writeAt(t, dir, name, text)
		gitAt(t, dir, "stash", "-u", "-q")
	case 8:
		gitAt(t, dir, "tag", "-f", "v1")
	case 9:
		gitAt(t, dir, "config", "user.name", fmt.Sprint(rng.Uint64()))
	case 10:
		gitAt(t, dir, "reset", "-q", "--hard")
		gitAt(t, dir, "update-ref", "-d", "refs/heads/other")
	case 11:
		gitAt(t, dir, "gc", "-q", "--prune=now")
	}
}

// Nothing that happens in a worktree changes the repository: its files, index, references and objects stay the same
// byte for byte. Saving a branch adds that branch and its objects.
func TestWorktree_NothingReachesTheRepository(t *testing.T) {
	r := newRig(t)
	r.git("branch", "other")
	r.write("a.txt", "one\nchanged\n")
	r.write("new.txt", "untracked\n")
	r.git("add", "a.txt")
	before := snapshot(t, r.dir)
	rounds, steps := thorough.Of(40, 1), 8
	for round := range rounds {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		rng := rand.New(rand.NewPCG(seed, 0))
		tree := r.create(Options{Changes: (round+int(seed%2))%2 == 1})
		for range steps {
			edit(t, rng, tree.Dir())
		}
		if _, err := tree.Diff(context.Background()); err != nil {
			t.Fatal(err)
		}
		same(t, "the repository", snapshot(t, r.dir), before)
		files := snapshot(t, tree.Dir(), ".git")
		branch, err := tree.SaveBranch(context.Background(), r.env, "")
		if err != nil {
			t.Fatal(err)
		}
		skip := []string{".git/objects", ".git/refs/heads/" + branch, ".git/logs/refs/heads/" + branch}
		after := snapshot(t, r.dir, skip...)
		same(t, "after saving a branch", after, snapshotOf(before, skip))
		out := t.TempDir()
		gitAt(t, r.dir, "--work-tree="+out, "-c", "core.bare=false", "archive", "--output="+out+"/all.tar", branch)
		gitAt(t, out, "init", "-q", ".")
		if b, err := exec.Command("tar", "-xf", out+"/all.tar", "-C", out).CombinedOutput(); err != nil {
			t.Fatalf("tar: %v %s", err, b)
		}
		if err := os.Remove(out + "/all.tar"); err != nil {
			t.Fatal(err)
		}
		same(t, "the branch", contents(snapshot(t, out, ".git")), contents(files))
		if err := tree.Close(); err != nil {
			t.Fatal(err)
		}
		before = snapshot(t, r.dir)
	}
}

func snapshotOf(all map[string]string, skip []string) map[string]string {
	kept := maps.Clone(all)
	maps.DeleteFunc(kept, func(name, _ string) bool { return below(name, skip) })
	return kept
}

// below reports whether a path is one of the directories or below one.
func below(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return path == d || strings.HasPrefix(path, d+"/") })
}

// contents drops directories, and the modes of files except whether they are executable.
func contents(all map[string]string) map[string]string {
	files := map[string]string{}
	for name, text := range all {
		if mode, content, _ := strings.Cut(text, " "); mode[0] != 'd' {
			files[name] = fmt.Sprint(mode[0], mode[3] == 'x') + content
		}
	}
	return files
}

func TestWorktree_DirtyIsNeverRemoved(t *testing.T) {
	r := newRig(t)
	commit := func(dir string) {
		gitAt(t, dir, "add", "-A")
		gitAt(t, dir, "commit", "-qm", "work")
	}
	run, i := thorough.OneIn(6), 0
	for name, change := range map[string]func(dir string){
		"changed file": func(dir string) { writeAt(t, dir, "a.txt", "x\n") },
		"new file":     func(dir string) { writeAt(t, dir, "n.txt", "x\n") },
		"staged file":  func(dir string) { writeAt(t, dir, "n.txt", "x\n"); gitAt(t, dir, "add", "n.txt") },
		"removed file": func(dir string) { os.Remove(filepath.Join(dir, "a.txt")) },
		"mode":         func(dir string) { os.Chmod(filepath.Join(dir, "a.txt"), 0o755) },
		"commit":       func(dir string) { writeAt(t, dir, "n.txt", "x\n"); commit(dir) },
		"reverted": func(dir string) {
			writeAt(t, dir, "n.txt", "x\n")
			commit(dir)
			gitAt(t, dir, "revert", "--no-edit", "HEAD")
		},
		"other branch": func(dir string) {
			gitAt(t, dir, "switch", "-qc", "x")
			writeAt(t, dir, "n.txt", "x\n")
			commit(dir)
			gitAt(t, dir, "switch", "-q", "-")
		},
		"stash":          func(dir string) { writeAt(t, dir, "a.txt", "x\n"); gitAt(t, dir, "stash", "-q") },
		"added, ignored": func(dir string) { writeAt(t, dir, "n.log", "x\n"); gitAt(t, dir, "add", "-f", "n.log") },
		"repository":     func(dir string) { gitAt(t, dir, "init", "-q", "nested"); writeAt(t, dir, "nested/n.txt", "x\n") },
		"assume unchanged": func(dir string) {
			gitAt(t, dir, "update-index", "--assume-unchanged", "a.txt")
			writeAt(t, dir, "a.txt", "x\n")
		},
		"excluded by the agent": func(dir string) { writeAt(t, dir, ".git/info/exclude", "n.txt\n"); writeAt(t, dir, "n.txt", "x\n") },
		"broken index":          func(dir string) { writeAt(t, dir, ".git/index", "x") },
	} {
		always := slices.Contains([]string{"reverted", "stash"}, name)
		if i++; !always && !run(i) { // the order is random
			continue
		}
		t.Run(name, func(t *testing.T) {
			tree := r.create(Options{})
			change(tree.Dir())
			before := snapshot(t, tree.Dir())
			if err := tree.Remove(context.Background()); !errors.Is(err, ErrDirty) {
				t.Errorf("got %v, want ErrDirty", err)
			}
			same(t, "the worktree", snapshot(t, tree.Dir()), before)
		})
	}
}

// Git ignores an empty .git. What is in a .git is never applied, so any other counts as a repository.
func TestWorktree_AppliesFilesBesideAnEmptyGitDirectory(t *testing.T) {
	for name, c := range map[string]struct{ file, want string }{
		"empty":      {"", ""},
		"incomplete": {"sub/.git/HEAD", "contains another repository, sub,"},
		"broken":     {"sub/.git", "contains another repository, sub,"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			tree := r.create(Options{})
			writeAt(t, tree.Dir(), "sub/n.txt", "x\n")
			if c.file != "" {
				writeAt(t, tree.Dir(), c.file, "ref: refs/heads/main\n")
			} else if err := os.MkdirAll(filepath.Join(tree.Dir(), "sub", ".git", "hooks"), 0o755); err != nil {
				t.Fatal(err)
			}
			_, err := tree.Apply(context.Background(), r.env, nil)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want an error with %q", err, c.want)
				}
				return
			}
			if got, _ := os.ReadFile(filepath.Join(r.dir, "sub", "n.txt")); err != nil || string(got) != "x\n" {
				t.Errorf("got %q, %v, want the file", got, err)
			}
		})
	}
}

func TestWorktree_RemovesSavedWorktrees(t *testing.T) {
	for name, save := range map[string]func(r *rig, tree *Tree) error{
		"nothing to save": func(*rig, *Tree) error { return nil },
		"ignored":         func(_ *rig, tree *Tree) error { writeAt(t, tree.Dir(), "n.log", "x\n"); return nil },
		"applied": func(r *rig, tree *Tree) error {
			writeAt(t, tree.Dir(), "n.txt", "x\n")
			_, err := tree.Apply(context.Background(), r.env, nil)
			return err
		},
		"branch": func(r *rig, tree *Tree) error {
			writeAt(t, tree.Dir(), "n.txt", "x\n")
			_, err := tree.SaveBranch(context.Background(), r.env, "")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			tree := r.create(Options{})
			if err := save(r, tree); err != nil {
				t.Fatal(err)
			}
			if name == "branch" { // also after a restart
				tree.Close()
				var err error
				if tree, err = r.store.Open(context.Background(), tree.ID); err != nil {
					t.Fatal(err)
				}
				writeAt(t, tree.Dir(), "n.txt", "y\n")
				if err := tree.Clean(context.Background()); !errors.Is(err, ErrDirty) {
					t.Errorf("changed after saving: got %v, want ErrDirty", err)
				}
				writeAt(t, tree.Dir(), "n.txt", "x\n")
			}
			if err := tree.Remove(context.Background()); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(tree.place); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the worktree is still there: %v", err)
			}
			if list, _ := r.store.List(); len(list) > 0 {
				t.Errorf("the worktree is still listed: %v", list)
			}
		})
	}
}

func TestApply_MakesTheSameChanges(t *testing.T) {
	r := newRig(t)
	r.write("bin", "\x00\x01binary")
	r.write("gone.txt", "gone\n")
	r.git("add", "-A")
	r.git("commit", "-qm", "second")
	r.write("sub/b.txt", "not committed\n")
	r.write("untracked.txt", "u\n")
	tree := r.create(Options{})
	dir := tree.Dir()
	writeAt(t, dir, "bin", "\x00\x02\xff other \r\n bytes")
	writeAt(t, dir, "deep/new.txt", "new, no newline")
	writeAt(t, dir, "a.txt", "ONE\ntwo\nthree\nfour\nfive\nsix\nseven\n")
	os.Remove(filepath.Join(dir, "gone.txt"))
	os.Symlink("a.txt", filepath.Join(dir, "link"))
	writeAt(t, dir, "run.sh", "#!/bin/sh\n")
	os.Chmod(filepath.Join(dir, "run.sh"), 0o755)
	r.write("a.txt", "one\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n") // merged
	index := snapshot(t, filepath.Join(r.dir, ".git"))
	files, err := tree.Apply(context.Background(), r.env, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a.txt", "bin", "deep/new.txt", "gone.txt", "link", "run.sh"}; !slices.Equal(files, want) {
		t.Errorf("changed %q, want %q", files, want)
	}
	same(t, "the repository's own files", snapshot(t, filepath.Join(r.dir, ".git")), index)
	want := snapshot(t, dir, ".git")
	want["a.txt"] = want[".gitignore"][:10] + " ONE\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n"
	want["sub/b.txt"] = want[".gitignore"][:10] + " not committed\n"
	want["untracked.txt"] = want[".gitignore"][:10] + " u\n"
	same(t, "the files", contents(snapshot(t, r.dir, ".git")), contents(want))
	if files, err = tree.Apply(context.Background(), r.env, nil); err != nil || len(files) > 0 {
		t.Errorf("applied again: %q, %v, want nothing to do", files, err)
	}
}

func TestPlan_MatchesApply(t *testing.T) {
	r := newRig(t)
	tree := r.create(Options{})
	writeAt(t, tree.Dir(), "a.txt", "changed\n")
	writeAt(t, tree.Dir(), "new.txt", "new\n")
	if err := os.Remove(filepath.Join(tree.Dir(), "sub/b.txt")); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(r.dir, "a.txt"))
	if err != nil {
		t.Fatal(err)
	}
	changes, err := tree.Plan(context.Background(), true)
	if err != nil {
		t.Fatal(err)
	}
	want := []Change{
		{Path: filepath.Join(r.dir, "a.txt"), Before: before, After: []byte("changed\n"), Existed: true, Exists: true},
		{Path: filepath.Join(r.dir, "new.txt"), After: []byte("new\n"), Exists: true},
		{Path: filepath.Join(r.dir, "sub/b.txt"), Before: []byte("b\n"), Existed: true},
	}
	if !reflect.DeepEqual(changes, want) {
		t.Errorf("got  %+v\nwant %+v", changes, want)
	}
}

func TestApply_ConflictChangesNothing(t *testing.T) {
	run, i := thorough.OneIn(4), 0
	for name, parent := range map[string]func(r *rig){
		"same lines":    func(r *rig) { r.write("a.txt", "eins\ntwo\nthree\nfour\nfive\nsix\nseven\n") },
		"removed":       func(r *rig) { os.Remove(filepath.Join(r.dir, "a.txt")) },
		"same new file": func(r *rig) { r.write("new.txt", "other\n") },
		"directory":     func(r *rig) { r.write("new.txt/x", "other\n") },
		"link in a path": func(r *rig) {
			os.RemoveAll(filepath.Join(r.dir, "sub"))
			os.Symlink(r.t.TempDir(), filepath.Join(r.dir, "sub"))
		},
	} {
		if i++; name != "same lines" && !run(i) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			tree := r.create(Options{})
			writeAt(t, tree.Dir(), "0.txt", "first in order\n")
			writeAt(t, tree.Dir(), "a.txt", "ONE\ntwo\nthree\nfour\nfive\nsix\nseven\n")
			writeAt(t, tree.Dir(), "new.txt", "new\n")
			writeAt(t, tree.Dir(), "sub/c.txt", "c\n")
			parent(r)
			before := snapshot(t, r.dir)
			files, err := tree.Apply(context.Background(), r.env, nil)
			if err == nil {
				t.Errorf("applied %q, want a conflict", files)
			}
			t.Log(err)
			var conflict *ConflictError
			if name == "same lines" && (!errors.As(err, &conflict) || !slices.Equal(conflict.Files, []string{"a.txt"})) {
				t.Errorf("got %v, want a conflict in a.txt", err)
			}
			same(t, "the repository", snapshot(t, r.dir), before)
			if err := tree.Remove(context.Background()); !errors.Is(err, ErrDirty) {
				t.Errorf("removing: %v, want ErrDirty", err)
			}
		})
	}
}

func TestApply_ChangesNothingIfAPathIsNotPermitted(t *testing.T) {
	r := newRig(t)
	tree := r.create(Options{})
	before := snapshot(t, r.dir)
	writeAt(t, tree.Dir(), "a.txt", "changed\n")
	writeAt(t, tree.Dir(), "sub/b.txt", "changed\n")
	only := func(path string) bool { return path == filepath.Join(r.dir, "a.txt") }
	if files, err := tree.Apply(context.Background(), r.env, only); err == nil || !strings.Contains(err.Error(), "b.txt") {
		t.Errorf("applied %q, %v; want an error that names sub/b.txt", files, err)
	}
	same(t, "the repository", snapshot(t, r.dir), before)
	if err := tree.Clean(context.Background()); !errors.Is(err, ErrDirty) {
		t.Errorf("got %v, want %v", err, ErrDirty)
	}
}

// breaks is an environment in which git fails after it has applied a patch.
type breaks struct{ env.Environment }

func (b breaks) Start(ctx context.Context, c env.Command) (env.Process, error) {
	if slices.Contains(c.Args, "apply") && !slices.Contains(c.Args, "--check") {
		c.Args = append([]string{"sh", "-c", `"$@"; exit 1`, "sh"}, c.Args...)
	}
	return b.Environment.Start(ctx, c)
}

func TestApply_RestoresAllFilesIfWritingFails(t *testing.T) {
	r := newRig(t)
	r.write("gone.txt", "here\n")
	tree := r.create(Options{Changes: true})
	before := snapshot(t, r.dir)
	writeAt(t, tree.Dir(), "a.txt", "changed\n")
	writeAt(t, tree.Dir(), "new/c.txt", "new\n")
	if err := os.Remove(filepath.Join(tree.Dir(), "gone.txt")); err != nil {
		t.Fatal(err)
	}
	if _, err := tree.Apply(context.Background(), breaks{r.env}, nil); err == nil {
		t.Error("a failure of git is not reported")
	}
	got := snapshot(t, r.dir)
	delete(got, "new") // empty directories stay
	same(t, "the repository", got, before)
	if err := tree.Clean(context.Background()); !errors.Is(err, ErrDirty) {
		t.Errorf("got %v, want %v", err, ErrDirty)
	}
}

func TestCreate_TheBranchIsNewEvenIfTheNameIsTaken(t *testing.T) {
	r := newRig(t)
	r.git("branch", "worktree-x")
	r.write("a.txt", "second\n")
	r.git("commit", "-qam", "second")
	head := r.git("rev-parse", "HEAD")
	tree := r.create(Options{Name: "x"})
	if got := gitAt(t, tree.Dir(), "for-each-ref", "--format=%(objectname)", "refs/heads/worktree-x"); got != head {
		t.Errorf("worktree-x is %q, want %q", got, head)
	}
}

func TestCreate_CarriesUncommittedChanges(t *testing.T) {
	r := newRig(t)
	r.write("a.txt", "changed\n")
	r.write("staged.txt", "staged\n")
	r.git("add", "staged.txt")
	r.write("staged.txt", "and changed\n")
	r.write("untracked.txt", "u\n")
	r.write("ignored.log", "i\n")
	r.write(".git/info/exclude", "*.tmp\n")
	r.write("excluded.tmp", "e\n")
	os.Remove(filepath.Join(r.dir, "sub/b.txt"))
	before := snapshot(t, r.dir)
	tree := r.create(Options{Changes: true})
	want := snapshot(t, r.dir, ".git", "ignored.log", "excluded.tmp")
	same(t, "the worktree", contents(snapshot(t, tree.Dir(), ".git")), contents(want))
	same(t, "the repository", snapshot(t, r.dir), before)
	if files, err := tree.Changed(context.Background()); err != nil || len(files) > 0 {
		t.Errorf("changed %q, %v: what was carried is not a change of the worktree", files, err)
	}
	if out := gitAt(t, tree.Dir(), "status", "--porcelain"); out != "" {
		t.Errorf("git status in the worktree: %s", out)
	}
	writeAt(t, tree.Dir(), "more.tmp", "excluded here too\n")
	if files, err := tree.Changed(context.Background()); err != nil || len(files) > 0 {
		t.Errorf("changed %q, %v: info/exclude does not apply", files, err)
	}
	if got, want := gitAt(t, tree.Dir(), "log", "--format=%s"), "Uncommitted changes\nfirst"; got != want {
		t.Errorf("history %q, want %q", got, want)
	}
	if err := tree.Remove(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestSaveBranch_KeepsCommitsAndContinues(t *testing.T) {
	r := newRig(t)
	tree := r.create(Options{Name: "fix"})
	if got := gitAt(t, tree.Dir(), "branch", "--show-current"); got != "worktree-fix" {
		t.Errorf("branch %q, want worktree-fix", got)
	}
	writeAt(t, tree.Dir(), "n.txt", "1\n")
	gitAt(t, tree.Dir(), "add", "-A")
	gitAt(t, tree.Dir(), "commit", "-qm", "by the agent")
	writeAt(t, tree.Dir(), "n.txt", "2\n")
	for i, text := range []string{"3\n", "4\n"} {
		if branch, err := tree.SaveBranch(context.Background(), r.env, "saved"); err != nil || branch != "worktree-fix" {
			t.Fatalf("save %d: %q, %v", i, branch, err)
		}
		writeAt(t, tree.Dir(), "n.txt", text)
	}
	if got, want := r.git("log", "--format=%s", "worktree-fix"), "saved\nsaved\nby the agent\nfirst"; got != want {
		t.Errorf("history %q, want %q", got, want)
	}
	if got := r.git("show", "worktree-fix:n.txt"); got != "3" {
		t.Errorf("n.txt is %q, want 3", got)
	}
}

func TestCreate_RefusesUnusableRepositories(t *testing.T) {
	r := newRig(t)
	empty := t.TempDir()
	if _, err := r.store.Create(context.Background(), r.open(empty), Options{}); !errors.Is(err, ErrNoRepository) {
		t.Errorf("not a repository: %v", err)
	}
	gitAt(t, empty, "init", "-q")
	if _, err := r.store.Create(context.Background(), r.open(empty), Options{}); err == nil || !strings.Contains(err.Error(), "no commit") {
		t.Errorf("no commit: %v", err)
	}
	for _, name := range []string{"../x", "a/b", "-x", ".git", strings.Repeat("x", 41)} {
		if _, err := r.store.Create(context.Background(), r.env, Options{Name: name}); err == nil {
			t.Errorf("name %q was accepted", name)
		}
	}
	r.create(Options{Name: "x"})
	if _, err := r.store.Create(context.Background(), r.env, Options{Name: "x"}); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("second one of the same name: %v", err)
	}
	if list, err := r.store.List(); err != nil || len(list) != 1 {
		t.Errorf("left behind: %v, %v, want one", list, err)
	}
	for _, id := range []string{"../../etc", "x", "", "a/../b"} {
		if _, err := r.store.Open(context.Background(), id); !errors.Is(err, ErrNotFound) {
			t.Errorf("open %q: %v, want ErrNotFound", id, err)
		}
	}
}

// A repository, or an agent in its worktree, may configure programs for git. None of them runs.
func TestWorktree_RunsNoRepositoryPrograms(t *testing.T) {
	r := newRig(t)
	ran := filepath.Join(t.TempDir(), "ran")
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"$0 $*\" >> "+ran+"\ncat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	arm := func(dir string) {
		for _, key := range []string{"core.fsmonitor", "filter.f.clean", "filter.f.smudge", "diff.external", "diff.d.textconv", "core.sshCommand", "gpg.program", "merge.m.driver"} {
			gitAt(t, dir, "config", key, program)
		}
		gitAt(t, dir, "config", "commit.gpgSign", "true")
		for _, hook := range []string{"post-index-change", "post-checkout", "reference-transaction", "pre-commit"} {
			path := filepath.Join(dir, ".git", "hooks", hook)
			os.MkdirAll(filepath.Dir(path), 0o755)
			if err := os.Symlink(program, path); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.write(".gitattributes", "*.txt filter=f diff=d merge=m\n")
	r.git("add", "-A")
	r.git("commit", "-qm", "attributes")
	tree := r.create(Options{})
	writeAt(t, tree.Dir(), "a.txt", "x\n")
	arm(tree.Dir())
	os.Remove(ran)
	for _, op := range []struct {
		name string
		run  func() error
	}{
		{"diff", func() error { _, err := tree.Diff(context.Background()); return err }},
		{"branch", func() error { _, err := tree.SaveBranch(context.Background(), r.env, ""); return err }},
		{"apply", func() error { _, err := tree.Apply(context.Background(), r.env, nil); return err }},
		{"clean", func() error { return tree.Clean(context.Background()) }},
	} {
		if err := op.run(); err != nil {
			t.Errorf("%s: %v", op.name, err)
		}
	}
	arm(r.dir)
	os.Remove(ran)
	if _, err := r.store.Create(context.Background(), r.env, Options{}); err == nil || !strings.Contains(err.Error(), "program") {
		t.Errorf("a repository that names programs: %v, want an error", err)
	}
	if b, err := os.ReadFile(ran); err == nil {
		t.Errorf("git ran:\n%s", b)
	}
}

func TestOpen_OneAtATime(t *testing.T) {
	r := newRig(t)
	tree := r.create(Options{})
	if _, err := r.store.Open(context.Background(), tree.ID); !errors.Is(err, ErrLocked) {
		t.Errorf("got %v, want ErrLocked", err)
	}
	tree.Close()
	again, err := r.store.Open(context.Background(), tree.ID)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

func TestFind_OnlyTheDirectorysWorktrees(t *testing.T) {
	r := newRig(t)
	r.create(Options{Name: "here"})
	other := r.open(filepath.Join(r.dir, "sub"))
	there, err := r.store.Create(context.Background(), other, Options{Name: "there"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { there.Close() })
	for from, names := range map[string]map[string]bool{r.dir: {"here": true, "there": false}, other.Info().Dir: {"here": false, "there": true}} {
		for name, want := range names {
			i, err := r.store.Find(from, name)
			if want && (err != nil || i.From != from || i.Name() != name) || !want && !errors.Is(err, ErrNotFound) {
				t.Errorf("%s from %s: got %s of %s, error %v; want it to be found: %v", name, from, i.ID, i.From, err, want)
			}
		}
	}
}

func TestEnv_StaysInTheWorktree(t *testing.T) {
	r := newRig(t)
	tree := r.create(Options{})
	e, err := tree.Env()
	if err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, r.dir)
	os.Symlink(r.dir, filepath.Join(tree.Dir(), "out"))
	outside, _ := env.Outside(e)
	for _, e := range []env.Environment{e, env.NoLinks(e), outside} {
		for _, path := range []string{filepath.Join(r.dir, "a.txt"), "out/a.txt", "../git/config", filepath.Join(tree.place, infoFile)} {
			if err := e.WriteFile(context.Background(), path, []byte("x"), 0o644); err == nil {
				t.Errorf("%s was written", path)
			}
		}
	}
	if err := e.WriteFile(context.Background(), "a.txt", []byte("x"), 0o644); err != nil {
		t.Error(err)
	}
	if dir := e.Info().Dir; dir != tree.Dir() {
		t.Errorf("works in %s, want %s", dir, tree.Dir())
	}
	same(t, "the repository", snapshot(t, r.dir), before)
}

func TestCreate_SubdirectoriesSubmodulesAndSparseCheckouts(t *testing.T) {
	r := newRig(t)
	inner := filepath.Join(t.TempDir(), "inner")
	os.MkdirAll(inner, 0o755)
	gitAt(t, inner, "init", "-q")
	gitAt(t, inner, "-c", "user.name=T", "-c", "user.email=t@example.com", "commit", "-q", "--allow-empty", "-m", "inner")
	r.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner, "module")
	r.git("commit", "-qm", "module")
	r.git("sparse-checkout", "set", "sub")
	r.git("config", "--unset", "extensions.worktreeConfig")
	before := snapshot(t, r.dir)
	r.store.Trusted = true
	sub := r.open(filepath.Join(r.dir, "sub"))
	tree, err := r.store.Create(context.Background(), sub, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	if got, _ := os.ReadFile(filepath.Join(tree.Dir(), "b.txt")); !bytes.Equal(got, []byte("b\n")) {
		t.Errorf("the working directory %s has no b.txt", tree.Dir())
	}
	if _, err := os.Stat(filepath.Join(tree.root(), "a.txt")); err != nil {
		t.Errorf("all files are checked out: %v", err)
	}
	if list, err := os.ReadDir(filepath.Join(tree.root(), "module")); err != nil || len(list) > 0 {
		t.Errorf("the submodule has %v, %v, want an empty directory", list, err)
	}
	writeAt(t, tree.Dir(), "b.txt", "c\n")
	if files, err := tree.Apply(context.Background(), sub, nil); err != nil || !slices.Equal(files, []string{"sub/b.txt"}) {
		t.Errorf("applied %q, %v", files, err)
	}
	for _, name := range []string{"top.txt", "sub2/d.txt"} {
		writeAt(t, tree.root(), name, "c\n")
		if _, err := tree.Apply(context.Background(), sub, nil); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s, outside of the working directory: %v", name, err)
		}
		os.Remove(filepath.Join(tree.root(), name))
	}
	before["sub/b.txt"] = before["sub/b.txt"][:10] + " c\n"
	same(t, "the repository", snapshot(t, r.dir), before)
}

func TestPrune_RemovesOnlyUnusedAndSavedWorktrees(t *testing.T) {
	r := newRig(t)
	used, clean, dirty := r.create(Options{Name: "used"}), r.create(Options{Name: "clean"}), r.create(Options{Name: "dirty"})
	writeAt(t, dirty.Dir(), "n.txt", "x\n")
	clean.Close()
	dirty.Close()
	unfinished := filepath.Join(filepath.Dir(clean.place), "unfinished")
	writeAt(t, unfinished, "tree/a.txt", "a\n")
	for name, f := range []func(context.Context) ([]Finding, error){r.store.Check, r.store.Prune} {
		all, err := f(context.Background())
		if err != nil || len(all) != 3 {
			t.Fatalf("%d: %v, %v", name, all, err)
		}
		for _, found := range all {
			want := map[string]error{"used": ErrLocked, "dirty": ErrDirty}[found.Name()]
			if !errors.Is(found.Why, want) {
				t.Errorf("%d: %s: %v, want %v", name, found.Name(), found.Why, want)
			}
		}
	}
	for _, tree := range []*Tree{used, dirty} {
		if _, err := os.Stat(tree.Dir()); err != nil {
			t.Errorf("%s is gone: %v", tree.Name(), err)
		}
	}
	for _, gone := range []string{clean.place, unfinished} {
		if _, err := os.Stat(gone); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", gone, err)
		}
	}
}

// In the repository, a submodule is only a commit. An agent's changes in it are not part of the result.
func TestWorktree_ChangesInASubmoduleAreNotLost(t *testing.T) {
	r := newRig(t)
	inner := t.TempDir()
	gitAt(t, inner, "init", "-q")
	gitAt(t, inner, "-c", "user.name=T", "-c", "user.email=t@example.com", "commit", "-q", "--allow-empty", "-m", "inner")
	r.git("update-index", "--add", "--cacheinfo", "160000,"+gitAt(t, inner, "rev-parse", "HEAD")+",module")
	r.git("commit", "-qm", "module")
	tree := r.create(Options{})
	gitAt(t, tree.Dir(), "clone", "-q", inner, "module")
	writeAt(t, tree.Dir(), "module/n.txt", "x\n")
	if err := tree.Remove(context.Background()); !errors.Is(err, ErrDirty) || !strings.Contains(err.Error(), "module") {
		t.Errorf("got %v, want ErrDirty because of the submodule", err)
	}
	if _, err := tree.SaveBranch(context.Background(), r.env, ""); err == nil {
		t.Error("a branch was saved without the files of the submodule")
	}
	if _, err := os.Stat(filepath.Join(tree.Dir(), "module", "n.txt")); err != nil {
		t.Error(err)
	}
}
