package checkpoint

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func (w *workspace) git(args ...string) {
	w.t.Helper()
	gitIn(w.t, w.dir, args...)
}

func gitIn(t tb, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=e@example.com"}, args...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestRestore_RestoresIgnoredFilesThatGitTracks(t *testing.T) {
	for name, setup := range map[string][]string{
		"usual":   nil,
		"short":   {"update-index", "--index-version", "4"},
		"flagged": {"update-index", "--skip-worktree", "a"}, // needs index version 3
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t)
			w.git("init", "-q")
			w.write(".gitignore", "*.log\ndist/\n")
			w.write("a", "tracked")
			w.write("dist/deep/tracked", "old")
			w.write("dist/gone", "old")
			w.write("other.log", "old")
			w.write("dist/untracked", "mine")
			w.git("add", "a", ".gitignore")
			w.git("add", "-f", "dist/deep/tracked", "dist/gone", "other.log")
			if setup != nil {
				w.git(setup...)
			}
			id := w.take()
			w.write("dist/deep/tracked", "new")
			w.remove("dist/gone")
			w.write("other.log", "new")
			w.write("dist/untracked", "still mine")
			want := "~dist/deep/tracked +dist/gone ~other.log"
			r, err := w.store.Restore(context.Background(), id, RestoreOptions{})
			must(t, err)
			equal(t, "changes", summary(r.Changes), want)
			for name, text := range map[string]string{"dist/deep/tracked": "old", "dist/gone": "old", "other.log": "old", "dist/untracked": "still mine"} {
				if got, err := os.ReadFile(w.path(name)); err != nil || string(got) != text {
					t.Errorf("%s: got %q and error %v, want %q", name, got, err, text)
				}
			}
		})
	}
}

func TestRestore_KeepsAnIgnoredFileThatIsTrackedNow(t *testing.T) {
	w := newWorkspace(t)
	w.git("init", "-q")
	w.write(".gitignore", "dist/\n")
	w.write("dist/f", "there before, though no checkpoint has it")
	id := w.take()
	w.git("add", "-f", "dist/f")
	w.restore(id)
	if _, err := os.Stat(w.path("dist/f")); err != nil {
		t.Error(err)
	}
}

func TestTake_FindsTheIndexOfTheEnclosingRepository(t *testing.T) {
	w := newWorkspace(t)
	w.git("init", "-q")
	w.write(".gitignore", "*.log\n")
	w.write("sub/x.log", "tracked")
	w.write("sub/y.log", "not tracked")
	w.write("x.log", "tracked, elsewhere")
	w.git("add", "-f", "sub/x.log", "x.log")
	w.git("commit", "-qm", "m")
	tree := t.TempDir() + "/tree"
	w.git("worktree", "add", "-q", tree)
	for _, dir := range []string{w.path("sub"), tree + "/sub"} {
		must(t, os.Mkdir(dir+"/.git", 0o755)) // git ignores it
		s, err := Open(Config{Dir: dir, Store: t.TempDir()})
		must(t, err)
		_, stats, err := s.Take(context.Background(), "")
		must(t, err)
		equal(t, "files in "+dir, stats.Files, 1)
	}
}

func FuzzGitIndex(f *testing.F) {
	dir := f.TempDir()
	gitIn(f, dir, "init", "-q")
	must(f, os.WriteFile(dir+"/a", nil, 0o644))
	must(f, os.WriteFile(dir+"/ab", nil, 0o644))
	gitIn(f, dir, "add", ".")
	for _, version := range []string{"2", "4"} {
		gitIn(f, dir, "update-index", "--index-version", version)
		index, err := os.ReadFile(dir + "/.git/index")
		must(f, err)
		f.Add(index)
	}
	f.Fuzz(func(t *testing.T, index []byte) {
		trackedFiles(index, func(string) error { return nil })
	})
}
