//go:build unix

package trust

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/reins-agent/reins/internal/gitdir/gitdirtest"
)

// workspace is a directory with projects, and the user's store outside of it.
type workspace struct {
	t     *testing.T
	dir   string
	store *Store
}

func newWorkspace(t *testing.T) workspace {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return workspace{t, dir, Open(filepath.Join(t.TempDir(), "trust"))}
}

func (w workspace) path(name string) string { return filepath.Join(w.dir, name) }

func (w workspace) write(name, content string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.path(name), []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w workspace) repo(name string) { w.t.Helper(); gitdirtest.Init(w.t, w.path(name)) }

func (w workspace) mkdir(name string) {
	w.t.Helper()
	if err := os.MkdirAll(w.path(name), 0o755); err != nil {
		w.t.Fatal(err)
	}
}

func (w workspace) link(target, name string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Symlink(target, w.path(name)); err != nil {
		w.t.Fatal(err)
	}
}

func (w workspace) remove(name string) {
	w.t.Helper()
	if err := os.RemoveAll(w.path(name)); err != nil {
		w.t.Fatal(err)
	}
}

func (w workspace) trust(dir string) {
	w.t.Helper()
	p, err := w.store.Inspect(w.path(dir))
	if err == nil {
		err = w.store.Trust(p)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// expect checks a directory's state: whether it is trusted, and which files have changed.
func (w workspace) expect(dir string, trusted bool, changed ...string) {
	w.t.Helper()
	st, err := w.store.State(w.path(dir))
	if err != nil || st.Trusted != trusted || !slices.Equal(st.Changed, changed) {
		w.t.Errorf("%s: got trusted %v, changed %q, error %v, want %v and %q", dir, st.Trusted, st.Changed, err, trusted, changed)
	}
}

func TestState_IsUntrustedByDefault(t *testing.T) {
	w := newWorkspace(t)
	w.repo("p")
	w.write("p/sub/x", "")
	w.expect("p", false)
	w.trust("p")
	w.expect("p", true)
	w.expect("p/sub", true)
	if root, was, err := w.store.Untrust(w.path("p/sub")); root != w.path("p") || !was || err != nil {
		t.Errorf("got %s, %v, %v", root, was, err)
	}
	w.expect("p", false)
	if _, was, err := w.store.Untrust(w.path("p")); was || err != nil {
		t.Errorf("again: got %v, %v", was, err)
	}
}

func TestAttack_TrustedConfigurationThatChangesIsUntrusted(t *testing.T) {
	for _, file := range []string{
		".reins/config.toml", ".reins/config.local.toml", ".reins/hooks/deep/run.sh", ".reins/skills/deep/run.sh", ".reins/agents/deep/run.sh",
		".agents/skills/deep/run.sh", ".claude/skills/deep/run.sh", ".claude/commands/deep/run.sh", ".claude/agents/deep/run.sh",
		".codex/prompts/deep/run.sh", ".gemini/commands/deep/run.sh", ".claude/hooks/deep/run.sh", ".claude/settings.json",
		".claude/settings.local.json", ".mcp.json",
	} {
		t.Run(file, func(t *testing.T) {
			w := newWorkspace(t)
			w.repo("p")
			w.trust("p")
			w.write("p/"+file, "echo 1")
			w.expect("p", false, file)
			w.trust("p")
			w.expect("p", true)
			w.write("p/"+file, "echo 2")
			w.expect("p", false, file)
			w.write("p/"+file, "echo 1")
			w.expect("p", true)
			w.remove("p/" + file)
			w.expect("p", false, file)
		})
	}
}

func TestAttack_TrustCoversOnlyTheFilesShown(t *testing.T) {
	w := newWorkspace(t)
	w.write("p/.mcp.json", "{}")
	seen, err := w.store.Inspect(w.path("p"))
	if err != nil {
		t.Fatal(err)
	}
	w.write("p/.mcp.json", `{"mcpServers":{"evil":{}}}`) // while the question waits
	if err := w.store.Trust(seen); err != nil {
		t.Fatal(err)
	}
	w.expect("p", false, ".mcp.json")
}

func TestAttack_NestedRepositoriesNeedTheirOwnTrust(t *testing.T) {
	w := newWorkspace(t)
	w.repo("p")
	w.repo("p/vendor/dir")
	w.write("p/vendor/file/.git", "gitdir: ../../.git") // a forged worktree
	w.write("p/vendor/broken/.git", "gitdir: nowhere")
	w.write("p/vendor/empty/.git", "")
	w.link("../../.git", "p/vendor/link/.git")
	w.link("nowhere", "p/vendor/dangling/.git")
	w.mkdir("p/vendor/pipe")
	if err := syscall.Mkfifo(w.path("p/vendor/pipe/.git"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.trust("p")
	w.expect("p/vendor", true)
	for _, name := range []string{"dir", "file", "broken", "empty", "link", "dangling", "pipe"} {
		w.expect("p/vendor/"+name, false)
	}
	w.trust("p/vendor/dir")
	w.expect("p/vendor/dir", true)
	w.expect("p/vendor/file", false)
}

// Git ignores a .git directory that is not a repository. It must not take a directory out of its project either: the
// project's rules would no longer apply there.
func TestState_DirectoriesWithAnIgnoredGitBelongToTheProject(t *testing.T) {
	w := newWorkspace(t)
	w.repo("p")
	w.mkdir("p/empty/.git")
	w.write("p/partial/.git/HEAD", "ref: refs/heads/main\n")
	w.trust("p")
	for _, name := range []string{"empty", "partial"} {
		w.expect("p/"+name, true)
		w.write("p/"+name+"/.mcp.json", "{}") // what it brings is not trusted
		w.expect("p/"+name, false, name+"/.mcp.json")
	}
}

func TestAttack_SubdirectoriesCannotBringTheirOwnConfiguration(t *testing.T) {
	w := newWorkspace(t)
	w.repo("p")
	w.write("p/.mcp.json", "{}")
	w.write("p/a/.mcp.json", "{}")
	w.write("p/b/x", "")
	w.trust("p")
	w.expect("p/b", true)
	w.expect("p/a", false, "a/.mcp.json")
	w.trust("p/a")
	w.expect("p/a", true)
	w.trust("p") // keeps the trusted directories in a
	w.expect("p/a", true)
	w.write("p/a/.mcp.json", "[]")
	w.expect("p/a", false, "a/.mcp.json")
	w.expect("p", true)
}

func TestState_CoversSubdirectoriesOutsideRepositories(t *testing.T) {
	w := newWorkspace(t)
	w.write("top/plain/x", "")
	w.repo("top/repo")
	w.trust("top")
	w.expect("top/plain", true)
	w.expect("top/repo", false)
	w.expect(".", false)
}

func TestAttack_PathsAreReal(t *testing.T) {
	w := newWorkspace(t)
	w.repo("good")
	w.write("evil/x", "")
	w.trust("good")
	w.link("good", "link")
	w.expect("link", true)
	w.remove("link")
	w.link("evil", "link") // swapped
	w.expect("link", false)
	w.link("../evil", "good/inner")
	w.expect("good/inner", false)
	w.write("good-evil/x", "") // has the trusted path as a prefix
	w.expect("good-evil", false)
}

func TestAttack_FilesThatCannotBeCheckedAreNotTrusted(t *testing.T) {
	for name, plant := range map[string]func(w workspace){
		"a link that leaves the project": func(w workspace) {
			w.write("outside", "secret")
			w.link("../outside", "p/.mcp.json")
		},
		"a directory link that leaves the project": func(w workspace) {
			w.write("outside/run.sh", "secret")
			w.link("../../outside", "p/.reins/hooks")
		},
		"a link to a directory": func(w workspace) {
			w.write("p/tools/run.sh", "x")
			w.link("../../tools", "p/.reins/hooks/more")
		},
		"a FIFO": func(w workspace) {
			if err := syscall.Mkfifo(w.path("p/.mcp.json"), 0o600); err != nil {
				w.t.Fatal(err)
			}
		},
		"a large file": func(w workspace) {
			w.write("p/.mcp.json", "")
			if err := os.Truncate(w.path("p/.mcp.json"), 16<<20+1); err != nil {
				w.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t)
			w.repo("p")
			w.trust("p")
			plant(w)
			st, err := w.store.State(w.path("p"))
			if st.Trusted || err == nil || !strings.Contains(err.Error(), "p cannot be trusted: .") {
				t.Errorf("got trusted %v, error %v", st.Trusted, err)
			}
		})
	}
}

func TestState_FollowsLinksInsideTheProject(t *testing.T) {
	w := newWorkspace(t)
	w.repo("p")
	w.write("p/real.json", "1")
	w.link("real.json", "p/.mcp.json")
	w.trust("p")
	w.expect("p", true)
	w.write("p/real.json", "2")
	w.expect("p", false, ".mcp.json")
}

func TestAttack_ProjectsDoNotBringDecisions(t *testing.T) {
	w := newWorkspace(t)
	w.write("p/x", "")
	w.store = Open(w.path("p/state")) // REINS_HOME points into the project
	p, err := w.store.Inspect(w.path("p"))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.store.Trust(p); err == nil || !strings.Contains(err.Error(), "REINS_HOME") {
		t.Errorf("got %v", err)
	}
	if err := w.store.write(w.store.file(p.Root), record{Root: p.Root}); err != nil { // as if it came with the project
		t.Fatal(err)
	}
	if st, err := w.store.State(w.path("p")); st.Trusted || err == nil {
		t.Errorf("got trusted %v, error %v", st.Trusted, err)
	}
}

func TestAttack_RecordsOfOtherDirectoriesDoNotCount(t *testing.T) {
	w := newWorkspace(t)
	w.repo("good")
	w.repo("evil")
	w.trust("good")
	if err := os.Rename(w.store.file(w.path("good")), w.store.file(w.path("evil"))); err != nil {
		t.Fatal(err)
	}
	if st, err := w.store.State(w.path("evil")); st.Trusted || err == nil {
		t.Errorf("got trusted %v, error %v", st.Trusted, err)
	}
	if err := os.WriteFile(w.store.file(w.path("evil")), []byte(`{"root":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if st, err := w.store.State(w.path("evil")); st.Trusted || err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("damaged: got trusted %v, error %v", st.Trusted, err)
	}
}

func TestStore_FilesAreForTheUserOnly(t *testing.T) {
	w := newWorkspace(t)
	w.write("p/x", "")
	w.write("q/x", "")
	w.trust("q")
	w.trust("p")
	for name, want := range map[string]os.FileMode{w.store.dir: 0o700, w.store.file(w.path("p")): 0o600} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: got %v, %v, want %v", name, info.Mode(), err, want)
		}
	}
	list, err := w.store.List()
	if err != nil || len(list) != 2 || list[0].Root != w.path("p") || list[1].Root != w.path("q") || list[0].Time.IsZero() {
		t.Errorf("got %v, %v", list, err)
	}
	files, err := os.ReadDir(w.store.dir)
	if err != nil || len(files) != 2 {
		t.Errorf("got %v, %v, want two records and nothing else", files, err)
	}
	if list, err := Open(t.TempDir()).List(); err != nil || len(list) != 0 {
		t.Errorf("an empty store lists %v, %v", list, err)
	}
}

func (w workspace) notice(dir string) bool {
	w.t.Helper()
	p, err := w.store.Inspect(w.path(dir))
	if err != nil {
		w.t.Fatal(err)
	}
	isNew, err := w.store.Notice(p)
	if err != nil {
		w.t.Fatal(err)
	}
	return isNew
}

func TestNotice_IsForFilesThatAreNewOrChanged(t *testing.T) {
	w := newWorkspace(t)
	w.repo("p")
	w.mkdir("p/sub")
	for i, step := range []struct {
		change func()
		dir    string
		want   bool
	}{
		{func() {}, "p", false}, // no files
		{func() { w.write("p/.mcp.json", "{}") }, "p", true},
		{func() {}, "p", false},
		{func() {}, "p/sub", false},
		{func() { w.write("p/sub/.mcp.json", "{}") }, "p", false},
		{func() {}, "p/sub", true},
		{func() {}, "p", false},
		{func() {}, "p/sub", false}, // still known
		{func() { w.write("p/.mcp.json", "{  }") }, "p", true},
		{func() {}, "p/sub", false},
		{func() { w.write("p/.mcp.json", "{ }") }, "p/sub", true},
		{func() { w.remove("p/.mcp.json") }, "p", false},
		{func() { w.trust("p") }, "p", false},
		{func() { w.write("p/.claude/settings.json", "{}") }, "p", true},
		{func() { w.write("q/.mcp.json", "{}") }, "q", true}, // another project
	} {
		step.change()
		if got := w.notice(step.dir); got != step.want {
			t.Errorf("step %d in %s: new is %v, want %v", i+1, step.dir, got, step.want)
		}
	}
	list, err := w.store.List()
	if err != nil || len(list) != 1 || list[0].Root != w.path("p") {
		t.Errorf("the list is %v, %v, want the trusted project alone", list, err)
	}
}

// A project that contains the store could say that its files are known.
func TestNotice_IsRepeatedIfItCannotBeRemembered(t *testing.T) {
	w := newWorkspace(t)
	w.write("p/.mcp.json", "{}")
	w.store = Open(w.path("p/state"))
	p, err := w.store.Inspect(w.path("p"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if isNew, err := w.store.Notice(p); !isNew || err == nil {
			t.Errorf("new is %v, error %v", isNew, err)
		}
	}
}
