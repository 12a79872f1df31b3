package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestTake_RecordsUntrackedFilesLinksAndEmptyDirectories(t *testing.T) {
	w := newWorkspace(t)
	a := w.take()
	w.write("src/new.go", "package src\n")
	w.link("../elsewhere", "src/link")
	must(t, os.Mkdir(w.path("empty"), 0o755))
	b := w.take()
	equal(t, "diff", w.diff(a, b), "+empty +src +src/link +src/new.go")
	w.restore(a)
	same(t, "after undo", w.state(), map[string]string{})
	w.restore(b)
	equal(t, "status", w.status(b), "")
}

func TestTake_HonoursIgnoreFilesWithoutGit(t *testing.T) {
	w := newWorkspace(t)
	w.write(".gitignore", "*.log\nnode_modules/\n")
	w.write("sub/.gitignore", "!keep.log\n")
	w.write(".ignore", "secret\n")
	a := w.take()
	for _, p := range []string{"a.log", "node_modules/x/y.js", "secret", "sub/keep.log", "sub/b.log", ".hidden"} {
		w.write(p, "x")
	}
	equal(t, "recorded", w.diff(a, w.take()), "+.hidden +sub/keep.log")
}

func TestTake_NeverRecordsOrTouchesGit(t *testing.T) {
	w := newWorkspace(t)
	git := []string{".git/HEAD", ".git/index", ".git/refs/stash", "sub/.git", "mod/.GIT/config"}
	for _, p := range git {
		w.write(p, "one")
	}
	w.write("f", "1")
	a := w.take()
	for _, p := range git {
		w.write(p, "two, made since")
	}
	w.write(".git/COMMIT_EDITMSG", "new")
	w.write("f", "2")
	w.write("g", "2")
	want := w.state()
	equal(t, "status", w.status(a), "~f +g")
	w.restore(a)
	delete(want, "g")
	want["f"] = strings.ReplaceAll(want["f"], "2", "1")
	same(t, "all but f and g as before", w.state(), want)
}

func TestTake_DoesNotRecordAStoreInsideTheWorkspace(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(Config{Dir: dir, Store: filepath.Join(dir, ".reins", "undo")})
	must(t, err)
	w := &workspace{t: t, dir: dir, store: s}
	a := w.take()
	w.write("f", "1")
	equal(t, "diff", w.diff(a, w.take()), "+f")
	w.restore(a)
	w.verify()
	if _, err := Open(Config{Dir: dir, Store: dir}); err == nil {
		t.Error("the workspace was accepted as the store")
	}
}

func TestRestore_LeavesExcludedDirectoriesAlone(t *testing.T) {
	dir := t.TempDir()
	w := &workspace{t: t, dir: filepath.Join(dir, "work")}
	w.write("logs/old", "1")
	w.link("work", "../way")
	w.write("f", "1")
	c := Config{Dir: w.dir, Store: filepath.Join(w.dir, ".state", "undo")}
	all, err := Open(c)
	must(t, err)
	w.store = all
	before := w.take()
	c.Exclude = []string{filepath.Join(dir, "way", "logs"), filepath.Join(w.dir, ".state", "sessions"), dir + "-elsewhere"}
	w.store, err = Open(c)
	must(t, err)
	a := w.take()
	w.write("f", "2")
	w.write("logs/old", "2")
	w.write(".state/sessions/new", "2") // the directory is created only now
	equal(t, "status", w.status(a), "~f")
	b := w.take()
	w.restore(a)
	w.restore(before)
	equal(t, "f is restored", w.state()["f"][len(w.state()["f"])-3:], `"1"`)
	for _, p := range []string{"logs/old", ".state/sessions/new"} {
		data, err := os.ReadFile(w.path(p))
		must(t, err)
		equal(t, p, string(data), "2")
	}
	equal(t, "diff", w.diff(before, b), "~f")
	c.Exclude = []string{w.dir}
	if _, err := Open(c); err == nil {
		t.Error("the workspace itself was excluded")
	}
}

func TestTake_ReadsOnlyWhatChanged(t *testing.T) {
	w := newWorkspace(t)
	for i := range 50 {
		w.write(fmt.Sprintf("d%d/f%d", i%7, i), fmt.Sprint("content ", i))
	}
	w.settle()
	w.write("d1/f1", "CONTENT 1")
	id, stats, err := w.store.Take(context.Background(), "")
	must(t, err)
	equal(t, "files read", stats.Read, 1)
	equal(t, "files", stats.Files, 50)
	if id == "" || stats.Added == 0 || stats.Added > 2000 {
		t.Errorf("checkpoint %q added %d bytes, want 1 to 2000", id, stats.Added)
	}
}

// settle takes checkpoints until no file needs to be read again.
func (w *workspace) settle() ID {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		id, stats, err := w.store.Take(ctx, "settle")
		must(w.t, err)
		if stats.Read == 0 {
			return id
		}
	}
}

func TestTake_SeesChangesThatKeepSizeAndModificationTime(t *testing.T) {
	w := newWorkspace(t)
	w.write("f", "aaaa")
	info, err := os.Stat(w.path("f"))
	must(t, err)
	a := w.settle()
	w.write("f", "bbbb")
	must(t, os.Chtimes(w.path("f"), info.ModTime(), info.ModTime()))
	equal(t, "diff", w.diff(a, w.take()), "~f")
}

func TestTake_SeesChangesWithinOneTickOfTheClock(t *testing.T) {
	w := newWorkspace(t)
	w.write("f", "file")
	last := w.take()
	for i := range 40 {
		w.write("f", fmt.Sprintf("%04d", i))
		id := w.take()
		if d := w.diff(last, id); d != "~f" {
			t.Fatalf("change %d: got diff %q, want ~f", i, d)
		}
		last = id
	}
}

func TestTake_ReadsAFileAgainUntilItsTimesAreSettled(t *testing.T) {
	w := newWorkspace(t)
	w.write("f", "1")
	future := time.Now().Add(time.Hour)
	must(t, os.Chtimes(w.path("f"), future, future))
	for range 2 {
		_, stats, err := w.store.Take(context.Background(), "")
		must(t, err)
		equal(t, "files read", stats.Read, 1)
	}
}

func TestTake_ReadsAFileThatChangesMeanwhileUpTo3Times(t *testing.T) {
	w := newWorkspace(t)
	w.write("f", "x")
	reads := 1
	w.store.step = func(what string) error {
		if what == "write object" && reads < 3 {
			reads++
			w.write("f", strings.Repeat("x", reads))
		}
		return nil
	}
	a := w.take()
	w.store.step = nil
	equal(t, "status", w.status(a), "")
}

func TestTake_FailsAboveTheLimits(t *testing.T) {
	base := t.TempDir()
	w := openWorkspace(t, base)
	w.write("a", strings.Repeat("x", 600))
	w.write("b", strings.Repeat("x", 500))
	for setting, c := range map[string]Config{"MaxBytes": {MaxBytes: 1000}, "MaxFiles": {MaxFiles: 1}} {
		c.Dir, c.Store = w.dir, filepath.Join(base, "small")
		s, err := Open(c)
		must(t, err)
		_, _, err = s.Take(context.Background(), "")
		if !errors.Is(err, ErrTooLarge) || !strings.HasSuffix(err.Error(), "; add files to .gitignore or .ignore") {
			t.Errorf("%s: got error %v, want ErrTooLarge", setting, err)
		}
		if setting == "MaxBytes" && !strings.Contains(err.Error(), "1100 bytes") {
			t.Errorf("the size is missing in the error: %v", err)
		}
		list, err := s.List(context.Background())
		if err != nil || len(list) > 0 {
			t.Errorf("after the error: got %d checkpoints and error %v, want none", len(list), err)
		}
	}
}

func TestTake_SucceedsAtTheLimits(t *testing.T) {
	base := t.TempDir()
	w := openWorkspace(t, base)
	w.write("a", strings.Repeat("x", 600))
	w.write("b", strings.Repeat("x", 500))
	s, err := Open(Config{Dir: w.dir, Store: filepath.Join(base, "exact"), MaxBytes: 1100, MaxFiles: 2})
	must(t, err)
	_, stats, err := s.Take(context.Background(), "")
	must(t, err)
	equal(t, "files", stats.Files, 2)
}

func TestTake_LargeFilesShareTheirPieces(t *testing.T) {
	w := newWorkspace(t)
	big := strings.Repeat("0123456789abcdef", 4<<20/16)
	w.write("big", big+big+"end")
	a := w.take()
	w.write("big", big+big+"another end")
	b, stats, err := w.store.Take(context.Background(), "")
	must(t, err)
	if stats.Added > 10_000 {
		t.Errorf("appending to a large file added %d bytes, want at most 10,000", stats.Added)
	}
	equal(t, "diff", w.diff(a, b), "~big")
	want := w.state()
	w.restore(a)
	w.restore(b)
	same(t, "restored", w.state(), want)
	w.verify()
}

func TestTake_UnusualNames(t *testing.T) {
	w := newWorkspace(t)
	a := w.take()
	for _, p := range []string{"sp ace", "new\nline", "tab\t", "\xff\xfe", "-rf", "ünïcode/日本", "*", "[a]", "back\\slash", "...", strings.Repeat("n", 255), ".reins-checkpoint-dir/f", "a.git/f"} {
		w.write(p, p)
	}
	want := w.state()
	b := w.take()
	w.restore(a)
	same(t, "undone", w.state(), map[string]string{})
	w.restore(b)
	same(t, "redone", w.state(), want)
}

func TestStore_ConcurrentUse(t *testing.T) {
	w := newWorkspace(t)
	w.write("f", "0")
	first := w.take()
	other, err := Open(Config{Dir: w.dir, Store: w.store.dir})
	must(t, err)
	var wg sync.WaitGroup
	for i := range 24 {
		s := []*Store{w.store, other}[i%2]
		wg.Go(func() {
			var err error
			switch i % 4 {
			case 0, 1:
				_, _, err = s.Take(context.Background(), fmt.Sprint(i))
			case 2:
				_, err = s.Restore(context.Background(), first, RestoreOptions{})
			case 3:
				_, err = (&workspace{store: s}).prune(3, first)
			}
			if err != nil {
				t.Errorf("call %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	w.verify()
	equal(t, "status", w.status(first), "")
}

func TestStore_WaitingForTheLockEndsWithTheContext(t *testing.T) {
	w := newWorkspace(t)
	unlock, err := w.store.lock(context.Background())
	must(t, err)
	defer unlock()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := w.store.Take(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("Take: got error %v, want context.Canceled", err)
	}
}

func TestList_ReturnsCheckpointsInOrderWithTheirLabels(t *testing.T) {
	w := newWorkspace(t)
	for i := range 12 {
		w.write("f", fmt.Sprint(i))
		_, _, err := w.store.Take(context.Background(), fmt.Sprint("turn ", i))
		must(t, err)
	}
	list, err := w.store.List(context.Background())
	must(t, err)
	for i, c := range list {
		equal(t, "label", c.Label, fmt.Sprint("turn ", i))
	}
	equal(t, "checkpoints", len(list), 12)
	for _, id := range []ID{"", "../index", "0000000001-ffffffff", "0000000001-../../xx"} {
		if _, err := w.store.Restore(context.Background(), id, RestoreOptions{}); !errors.Is(err, ErrNotFound) {
			t.Errorf("Restore(%q): got error %v, want ErrNotFound", id, err)
		}
	}
}

func TestPrune_KeepsTheNewestAndTheNamed(t *testing.T) {
	w := newWorkspace(t)
	var ids []ID
	states := map[ID]map[string]string{}
	for i := range 40 {
		w.write("f", strings.Repeat(fmt.Sprint(i, " "), 200))
		w.write(fmt.Sprint("only", i), fmt.Sprint("content of ", i))
		id := w.take()
		ids = append(ids, id)
		states[id] = w.state()
		w.remove(fmt.Sprint("only", i))
	}
	removed, err := w.prune(3, ids[5])
	must(t, err)
	equal(t, "removed", len(removed), 36)
	w.verify()
	packs, err := os.ReadDir(w.store.packs())
	must(t, err)
	if len(packs) > 5 {
		t.Errorf("got %d packs, want at most 5", len(packs))
	}
	for _, id := range []ID{ids[5], ids[37], ids[38], ids[39]} {
		w.restore(id)
		same(t, string(id), w.state(), states[id])
	}
	if _, err := w.store.Diff(context.Background(), ids[0], ids[39]); !errors.Is(err, ErrNotFound) {
		t.Errorf("diff with a pruned checkpoint: got error %v, want ErrNotFound", err)
	}
	w.write("only0", "content of 0")
	w.take()
	w.verify()
}

func TestUnified_ShowsTextModesLinksAndBinaries(t *testing.T) {
	w := newWorkspace(t)
	w.write("text", "one\ntwo\n")
	w.write("mode", "#!/bin/sh\n")
	w.write("bin", "\x00\x01")
	w.write("gone", "bye\n")
	w.link("a", "link")
	a := w.take()
	w.write("text", "one\nthree\n")
	must(t, os.Chmod(w.path("mode"), 0o755))
	w.write("bin", "\x00\x02")
	w.remove("gone")
	w.remove("link")
	w.link("b", "link")
	must(t, os.Mkdir(w.path("dir"), 0o755))
	b := w.take()
	changes, err := w.store.Diff(context.Background(), a, b)
	must(t, err)
	got := ""
	for _, c := range changes {
		text, err := w.store.Unified(context.Background(), c)
		must(t, err)
		got += text
	}
	want := `diff --git a/bin b/bin
Binary files a/bin and b/bin differ
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-bye
diff --git a/link b/link
--- a/link
+++ b/link
@@ -1 +1 @@
-a
\ No newline at end of file
+b
\ No newline at end of file
diff --git a/mode b/mode
old mode 100644
new mode 100755
diff --git a/text b/text
--- a/text
+++ b/text
@@ -1,2 +1,2 @@
 one
-two
+three
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestUnified_IsAPatchThatGitReads(t *testing.T) {
	git, err := exec.LookPath("git")
	must(t, err)
	w := newWorkspace(t)
	w.write("was a file", "1\n")
	w.link("a", "was a link")
	a := w.take()
	if runtime.GOOS != "windows" {
		w.write("escape\x1b[31m", "1\n")
		w.write("line\nbreak", "1\n")
		w.write("quote\"back\\slash", "1\n")
		w.write("tab\tand\x7f", "1\n")
	}
	if runtime.GOOS == "linux" {
		w.write("no\xfftext", "1\n")
	}
	w.write("with space/\u00fc", "1\n")
	w.write("bidi\u202e", "1\n")
	w.remove("was a file")
	w.link("b", "was a file")
	w.remove("was a link")
	w.write("was a link", "2\n")
	want := w.state()
	changes, err := w.store.Diff(context.Background(), a, w.take())
	must(t, err)
	w.restore(a)
	patch := ""
	for _, c := range changes {
		text, err := w.store.Unified(context.Background(), c)
		must(t, err)
		patch += text
	}
	cmd := exec.Command(git, "apply", "-")
	cmd.Dir, cmd.Stdin = w.dir, strings.NewReader(patch)
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(w.dir))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v\n%s\n%s", err, out, patch)
	}
	same(t, "applied", w.state(), want)
}
