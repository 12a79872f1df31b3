package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRestore_CanBeUndoneAndRedone(t *testing.T) {
	w := newWorkspace(t)
	first, one, two := build(w)
	undo := w.restore(first)
	same(t, "undo", w.state(), one)
	redo := w.restore(undo.Before)
	same(t, "redo", w.state(), two)
	w.restore(redo.Before)
	same(t, "undo again", w.state(), one)
	equal(t, "changes", len(undo.Changes) > 0, true)
	equal(t, "same changes both ways", len(undo.Changes), len(redo.Changes))
}

func TestRestore_KeepsTheCheckpointThatItRestoresAboveTheLimit(t *testing.T) {
	w := newWorkspace(t)
	w.store.keep = 2
	w.write("f", "1")
	first := w.take()
	want := w.state()
	w.write("f", "2")
	w.take()
	for i := range 3 {
		w.write("f", fmt.Sprint("later ", i))
		w.restore(first)
		same(t, "restored", w.state(), want)
	}
}

func TestRestore_OneFileLeavesTheOthers(t *testing.T) {
	w := newWorkspace(t)
	w.write("d/a", "1")
	w.write("d/b", "1")
	must(t, os.Chmod(w.path("d"), 0o750))
	a := w.take()
	w.write("d/a", "2")
	w.write("d/b", "2")
	w.write("d/c", "2")
	r := w.restore(a, "d/a")
	equal(t, "changes", summary(r.Changes), "~d/a")
	equal(t, "status", w.status(a), "~d/b +d/c")
	equal(t, "status of paths", w.status(a, "d/c", w.path("d/a")), "+d/c")
	w.restore(a, "d/c")
	equal(t, "a newer file is removed", w.status(a), "~d/b")
	w.remove("d")
	w.restore(a, "d/b")
	equal(t, "its directory is made", w.status(a), "-d/a")
	if _, err := w.store.Restore(context.Background(), a, RestoreOptions{Paths: []string{"nowhere"}}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a path that does not exist: got error %v, want ErrNotExist", err)
	}
	if _, err := w.store.Restore(context.Background(), a, RestoreOptions{Paths: []string{"../store"}}); err == nil {
		t.Error("a path outside was accepted")
	}
}

func TestRestore_KeepsIgnoredFiles(t *testing.T) {
	w := newWorkspace(t)
	w.write(".gitignore", "*.log\nout/\n")
	a := w.take()
	w.write("made/x.log", "ignored")
	w.write("made/x", "recorded")
	w.write("out/bin", "ignored")
	w.restore(a)
	equal(t, "recorded file", w.state()["made/x"], "")
	for _, p := range []string{"made/x.log", "out/bin"} {
		if w.state()[p] == "" {
			t.Errorf("%s is gone", p)
		}
	}
}

func TestRestore_KeepsFilesThatTheRulesOfTheCheckpointIgnore(t *testing.T) {
	w := newWorkspace(t)
	w.write(".gitignore", "out/\n")
	w.write("out/bin", "precious")
	a := w.take()
	// Without the rule, out looks like a file created later.
	w.remove(".gitignore")
	w.write("new", "x")
	w.restore(a)
	equal(t, "out/bin", w.state()["out/bin"] != "", true)
	equal(t, "new", w.state()["new"], "")
}

func TestRestore_SavesFilesThatAreIgnoredNow(t *testing.T) {
	w := newWorkspace(t)
	w.write("config", "old")
	w.write("d/f", "old")
	a := w.take()
	w.write(".gitignore", "config\nd/\n")
	w.write("config", "new, and ignored")
	w.write("d/f", "new, and ignored")
	want := w.state()
	r := w.restore(a)
	equal(t, "status", w.status(a), "")
	w.restore(r.Before)
	same(t, "redo", w.state(), want)
}

func TestRestore_DoesNotRemoveIgnoredFilesToMakeRoom(t *testing.T) {
	w := newWorkspace(t)
	w.write("p", "a file")
	w.write("q", "1")
	a := w.take()
	w.write(".ignore", "*.log\n")
	w.remove("p")
	w.write("p/keep.log", "ignored")
	w.write("p/x", "recorded")
	w.write("q", "2")
	_, err := w.store.Restore(context.Background(), a, RestoreOptions{})
	incomplete := (*IncompleteError)(nil)
	if !errors.As(err, &incomplete) || len(incomplete.Failed) != 1 || incomplete.Failed[0].Path != "p" {
		t.Fatalf("got error %v, want an IncompleteError for p", err)
	}
	s := w.state()
	equal(t, "ignored file", strings.Contains(s["p/keep.log"], "ignored"), true)
	equal(t, "the rest is restored", strings.Contains(s["q"], "1"), true)
}

func TestRestore_DoesNotFollowLinksThatReplacedDirectories(t *testing.T) {
	base := t.TempDir()
	w := openWorkspace(t, base)
	w.write("d/f", "mine")
	w.write("other/f", "other")
	want := w.state()
	a := w.take()
	outside := filepath.Join(base, "outside")
	must(t, os.Mkdir(outside, 0o755))
	for _, target := range []string{outside, "other", "..", ".git"} {
		w.write(".git/f", "git's")
		must(t, os.WriteFile(filepath.Join(outside, "f"), []byte("theirs"), 0o644))
		w.remove("d")
		w.link(target, "d")
		w.restore(a)
		git := w.state()
		equal(t, "git's file", strings.Contains(git[".git/f"], "git's"), true)
		data, err := os.ReadFile(filepath.Join(outside, "f"))
		must(t, err)
		equal(t, "file outside", string(data), "theirs")
		w.remove(".git")
		same(t, "link to "+target, w.state(), want)
	}
	// The link in the way is not among the paths to restore.
	w.remove("d")
	w.link(outside, "d")
	if _, err := w.store.Restore(context.Background(), a, RestoreOptions{Paths: []string{"d/f"}}); err == nil {
		t.Error("d/f was restored through a link")
	}
	equal(t, "outside", len(stateOf(t, outside)), 1)
}

func TestRestore_LeavesAFileThatChangesMeanwhile(t *testing.T) {
	for _, change := range []string{"a change that no checkpoint has", "3"} { // the second has the same size as the first content
		w := newWorkspace(t)
		w.write("a", "1")
		w.write("b", "1")
		a := w.take()
		w.write("a", "2")
		w.write("b", "2")
		must(t, os.Chtimes(w.path("b"), time.Time{}, time.Now().Add(-time.Hour)))
		w.store.step = func(what string) error {
			if what == "write file" {
				w.write("b", change)
			}
			return nil
		}
		_, err := w.store.Restore(context.Background(), a, RestoreOptions{})
		incomplete := (*IncompleteError)(nil)
		if !errors.As(err, &incomplete) || incomplete.Failed[0].Path != "b" {
			t.Fatalf("got error %v, want an IncompleteError for b", err)
		}
		equal(t, "b", strings.Contains(w.state()["b"], change), true)
	}
}

func TestRestore_StopsWithTheContext(t *testing.T) {
	w := newWorkspace(t)
	first, one, two := build(w)
	ctx, cancel := context.WithCancel(context.Background())
	w.store.step = func(what string) error {
		if what == "write file" {
			cancel()
		}
		return nil
	}
	r, err := w.store.Restore(ctx, first, RestoreOptions{})
	if !errors.Is(err, context.Canceled) || r.Before == "" {
		t.Fatalf("got error %v and checkpoint %q, want context.Canceled and a checkpoint", err, r.Before)
	}
	w.restore(r.Before)
	same(t, "back", w.state(), two)
	w.restore(first)
	same(t, "forth", w.state(), one)
}

func TestRestore_RestoresModesExactly(t *testing.T) {
	w := newWorkspace(t)
	modes := map[string]fs.FileMode{"a": 0o600, "b": 0o777, "c": 0o444, "d": 0o4755 & 0o777, "e": 0o640}
	for p, m := range modes {
		w.write("dir/"+p, "x")
		must(t, os.Chmod(w.path("dir/"+p), m))
	}
	must(t, os.Chmod(w.path("dir/d"), 0o755|fs.ModeSetuid))
	must(t, os.Chmod(w.path("dir"), 0o777|fs.ModeSticky))
	want := w.state()
	a := w.take()
	w.remove("dir")
	w.restore(a)
	same(t, "made anew", w.state(), want)
	for p := range modes {
		must(t, os.Chmod(w.path("dir/"+p), 0o664))
	}
	must(t, os.Chmod(w.path("dir"), 0o755))
	w.restore(a)
	same(t, "changed back", w.state(), want)
}
