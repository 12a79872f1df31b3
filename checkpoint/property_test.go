package checkpoint

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// moment is a checkpoint and the workspace state at that time, without ignored files.
type moment struct {
	id    ID
	state map[string]string
}

func TestRestore_RandomHistoriesComeBackExactly(t *testing.T) {
	base := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(base, "case")
		must(rt, err)
		defer os.RemoveAll(dir)
		w := openWorkspace(rt, dir)
		w.write(".gitignore", "*.log\n/build/\n")
		w.write("build/out", "ignored")
		w.write(".git/index", "git's own")
		var history []moment
		for range rapid.IntRange(2, 5).Draw(rt, "turns") {
			for range rapid.IntRange(0, 8).Draw(rt, "edits") {
				w.edit(rt)
			}
			history = append(history, moment{w.take(), recordedState(w.state())})
		}
		w.checkDiffs(rt, history)
		for range rapid.IntRange(1, 4).Draw(rt, "restores") {
			for range rapid.IntRange(0, 4).Draw(rt, "edits") {
				w.edit(rt)
			}
			history = append(history, w.checkRestore(rt, rapid.SampledFrom(history).Draw(rt, "to")))
		}
		w.verify()
	})
}

// recordedState returns the files in a state that checkpoints record.
func recordedState(state map[string]string) map[string]string {
	state = maps.Clone(state)
	maps.DeleteFunc(state, func(p, _ string) bool { return !isRecorded(p) })
	return state
}

func isRecorded(p string) bool {
	return !strings.HasSuffix(p, ".log") && p != "build" && !strings.HasPrefix(p, "build/") && p != ".git" && !strings.HasPrefix(p, ".git/")
}

// checkRestore restores a moment, checks the result, and returns the moment before.
func (w *workspace) checkRestore(t *rapid.T, to moment) moment {
	before := w.state()
	r := w.restore(to.id)
	after := w.state()
	same(t, "restored", recordedState(after), to.state)
	for p, s := range before {
		if !isRecorded(p) && after[p] != s {
			t.Fatalf("ignored file %s: got %q, want %q", p, after[p], s)
		}
	}
	equal(t, "status", w.status(to.id), "")
	equal(t, "changes", summary(r.Changes), expectedChanges(recordedState(before), to.state))
	return moment{r.Before, recordedState(before)}
}

func (w *workspace) checkDiffs(t *rapid.T, history []moment) {
	for i, a := range history {
		for _, b := range history[i:] {
			equal(t, "diff", sorted(w.diff(a.id, b.id)), expectedChanges(a.state, b.state))
			equal(t, "reverse diff", sorted(w.diff(b.id, a.id)), expectedChanges(b.state, a.state))
		}
	}
}

func sorted(summary string) string {
	list := strings.Fields(summary)
	slices.SortFunc(list, func(a, b string) int { return strings.Compare(a[1:], b[1:]) })
	return strings.Join(list, " ")
}

func expectedChanges(a, b map[string]string) string {
	var list []string
	all := maps.Clone(a)
	maps.Copy(all, b)
	for p := range all {
		switch {
		case a[p] == "":
			list = append(list, "+"+p)
		case b[p] == "":
			list = append(list, "-"+p)
		case a[p] != b[p]:
			list = append(list, "~"+p)
		}
	}
	return sorted(strings.Join(list, " "))
}

// edit makes a random change. There are few names, so files, links and directories replace each other. It works through
// an os.Root, because links may lead out of the workspace. Edits that fail are skipped.
func (w *workspace) edit(t *rapid.T) {
	root, err := os.OpenRoot(w.dir)
	must(t, err)
	defer root.Close()
	name := rapid.SampledFrom([]string{"a", "b", "c", "a.b", "ü\xff", ".h"})
	p := strings.Join(rapid.SliceOfN(name, 1, 3).Draw(t, "path"), "/")
	root.MkdirAll(path.Dir(p), 0o755)
	switch rapid.IntRange(0, 9).Draw(t, "edit") {
	case 0, 1, 2:
		root.WriteFile(p, []byte(content(t)), rapid.SampledFrom([]fs.FileMode{0o644, 0o600, 0o755}).Draw(t, "mode"))
	case 3:
		sameSizeAndTime(root, p)
	case 4:
		if info, err := root.Lstat(p); err == nil && info.Mode()&fs.ModeSymlink == 0 {
			root.Chmod(p, rapid.SampledFrom([]fs.FileMode{0o700, 0o750, 0o755, 0o711}).Draw(t, "mode"))
		}
	case 5:
		root.Symlink(rapid.SampledFrom([]string{"a", "..", filepath.Join(w.dir, "../nowhere"), "../../c", "b/a"}).Draw(t, "target"), p)
	case 6:
		root.RemoveAll(p)
	case 7:
		root.Rename(p, name.Draw(t, "to"))
	case 8: // a file replaces a directory, or the other way round
		info, err := root.Lstat(p)
		root.RemoveAll(p)
		if err == nil && info.IsDir() {
			root.WriteFile(p, []byte("was a directory"), 0o644)
		} else {
			root.MkdirAll(path.Join(p, "empty"), 0o755)
		}
	case 9:
		root.WriteFile(rapid.SampledFrom([]string{"x.log", "build/x", ".git/x"}).Draw(t, "ignored"), []byte(content(t)), 0o644)
	}
}

func content(t *rapid.T) string {
	return fmt.Sprint(rapid.IntRange(100, 999).Draw(t, "content"), strings.Repeat("\r\n\x00", rapid.IntRange(0, 99).Draw(t, "length")))
}

// sameSizeAndTime changes a file but not its size and modification time.
func sameSizeAndTime(root *os.Root, p string) {
	info, err := root.Lstat(p)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return
	}
	data, _ := root.ReadFile(p)
	data[0]++
	root.WriteFile(p, data, 0o644)
	root.Chtimes(p, info.ModTime(), info.ModTime())
}
