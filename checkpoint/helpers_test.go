package checkpoint

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tb is the part of testing.TB that rapid.T has.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

func must(t tb, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// workspace is a directory and its checkpoint store.
type workspace struct {
	t     tb
	dir   string
	store *Store
}

func newWorkspace(t testing.TB) *workspace {
	t.Helper()
	return openWorkspace(t, t.TempDir())
}

func openWorkspace(t tb, base string) *workspace {
	t.Helper()
	w := &workspace{t: t, dir: filepath.Join(base, "work")}
	must(t, os.MkdirAll(w.dir, 0o755))
	s, err := Open(Config{Dir: w.dir, Store: filepath.Join(base, "store")})
	must(t, err)
	w.store = s
	return w
}

func (w *workspace) path(p string) string { return filepath.Join(w.dir, filepath.FromSlash(p)) }

func (w *workspace) write(p, content string) {
	w.t.Helper()
	must(w.t, os.MkdirAll(filepath.Dir(w.path(p)), 0o755))
	must(w.t, os.WriteFile(w.path(p), []byte(content), 0o644))
}

func (w *workspace) link(target, p string) {
	w.t.Helper()
	must(w.t, os.MkdirAll(filepath.Dir(w.path(p)), 0o755))
	must(w.t, os.Symlink(target, w.path(p)))
}

func (w *workspace) remove(p string) {
	w.t.Helper()
	must(w.t, os.RemoveAll(w.path(p)))
}

func (w *workspace) take() ID {
	w.t.Helper()
	id, _, err := w.store.Take(context.Background(), "test")
	must(w.t, err)
	return id
}

func (w *workspace) restore(id ID, paths ...string) Restored {
	w.t.Helper()
	r, err := w.store.Restore(context.Background(), id, RestoreOptions{Paths: paths})
	must(w.t, err)
	return r
}

// prune removes all checkpoints except the newest keep and the named ones.
func (w *workspace) prune(keep int, named ...ID) (removed []ID, err error) {
	err = w.store.locked(context.Background(), "prune", func() error {
		removed, err = w.store.prune(context.Background(), keep, named)
		return err
	})
	return removed, err
}

// verify fails the test if the store is damaged.
func (w *workspace) verify() {
	w.t.Helper()
	faults, err := Verify(context.Background(), w.store.dir)
	if err != nil || len(faults) > 0 {
		w.t.Fatalf("Verify: %v, %v", faults, err)
	}
}

// state describes every file, link and directory: kind, mode and content.
func (w *workspace) state() map[string]string {
	w.t.Helper()
	return stateOf(w.t, w.dir)
}

func stateOf(t tb, dir string) map[string]string {
	t.Helper()
	state := map[string]string{}
	must(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		rel = filepath.ToSlash(rel)
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(p)
			state[rel] = "link to " + target
			return err
		case d.IsDir():
			state[rel] = fmt.Sprint(info.Mode())
		default:
			data, err := os.ReadFile(p)
			state[rel] = fmt.Sprintf("%v %q", info.Mode(), data)
			return err
		}
		return nil
	}))
	return state
}

// same compares two states.
func same(t tb, what string, got, want map[string]string) {
	t.Helper()
	if d := difference(want, got); len(d) > 0 {
		t.Fatalf("%s:\n%s", what, strings.Join(d, "\n"))
	}
}

func difference(want, got map[string]string) []string {
	all := maps.Clone(want)
	maps.Copy(all, got)
	var d []string
	for _, p := range slices.Sorted(maps.Keys(all)) {
		if want[p] != got[p] {
			d = append(d, fmt.Sprintf("%s: want %.80q, got %.80q", p, want[p], got[p]))
		}
	}
	return d
}

// summary formats changes as "+path", "~path" and "-path".
func summary(changes []Change) string {
	signs := map[ChangeKind]string{Added: "+", Modified: "~", Deleted: "-"}
	var list []string
	for _, c := range changes {
		list = append(list, signs[c.Kind]+c.Path)
	}
	return strings.Join(list, " ")
}

func (w *workspace) diff(a, b ID, paths ...string) string {
	w.t.Helper()
	changes, err := w.store.Diff(context.Background(), a, b, paths...)
	must(w.t, err)
	return summary(changes)
}

// status summarizes the changes since a checkpoint.
func (w *workspace) status(id ID, paths ...string) string {
	w.t.Helper()
	return w.diff(id, w.take(), paths...)
}

func equal[T comparable](t tb, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}
