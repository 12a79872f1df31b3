package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

// worked returns a workspace in which an agent changed, removed and created files, and then the user.
func worked(t *testing.T) (w *workspace, before, left ID) {
	w = newWorkspace(t)
	for _, name := range []string{"agent", "both", "agents-delete", "user", "users-delete"} {
		w.write(name, "old")
	}
	before = w.take()
	w.write("agent", "by the agent")
	w.write("both", "by the agent")
	w.remove("agents-delete")
	w.write("new/agent", "by the agent")
	left = w.take()
	w.write("both", "by the agent and the user")
	w.write("user", "by the user")
	w.remove("users-delete")
	w.write("new/user", "by the user")
	return w, before, left
}

func TestRestore_RefusesToUndoLaterChangesOfOthers(t *testing.T) {
	w, before, left := worked(t)
	present := w.state()
	_, err := w.store.Restore(context.Background(), before, RestoreOptions{Left: []ID{left}, Later: Refuse})
	var later *LaterError
	if !errors.As(err, &later) || later.Unknown {
		t.Fatalf("got error %v, want a LaterError", err)
	}
	equal(t, "later", summary(later.Changes), "~both -new/user ~user +users-delete")
	same(t, "refused", w.state(), present)

	var names []string
	for _, c := range later.Changes {
		names = append(names, c.Path)
	}
	o := RestoreOptions{Left: []ID{left}, Later: Refuse, Allowed: names[1:]}
	if _, err := w.store.Restore(context.Background(), before, o); !errors.As(err, &later) || len(later.Changes) != 1 {
		t.Fatalf("with all but one allowed: got error %v, want a LaterError with one change", err)
	}
	o.Allowed = names
	r, err := w.store.Restore(context.Background(), before, o)
	must(t, err)
	equal(t, "since", w.status(before), "")
	w.restore(r.Before)
	same(t, "back", w.state(), present)
}

func TestRestore_KeepsLaterChangesOfOthers(t *testing.T) {
	w, before, left := worked(t)
	want := w.state()
	_, err := w.store.Restore(context.Background(), before, RestoreOptions{Left: []ID{left}, Later: Keep})
	must(t, err)
	got := w.state()
	equal(t, "since", w.status(before, "agent", "agents-delete"), "")
	if _, there := got["new/agent"]; there {
		t.Error("a file that the agent created still exists")
	}
	for _, name := range []string{"both", "user", "new/user"} {
		equal(t, name, got[name], want[name])
	}
	if _, there := got["users-delete"]; there {
		t.Error("a file that the user removed was restored")
	}
}

func TestRestore_WithoutAKnownStateEveryChangeMayBeByOthers(t *testing.T) {
	w, before, _ := worked(t)
	present := w.state()
	for _, how := range []Later{Refuse, Keep} {
		for _, left := range [][]ID{nil, {"0000000009-00000000"}} {
			_, err := w.store.Restore(context.Background(), before, RestoreOptions{Left: left, Later: how})
			var later *LaterError
			if !errors.As(err, &later) || !later.Unknown || len(later.Changes) != 7 {
				t.Errorf("%v with %v: got error %v, want a LaterError with 7 unknown changes", how, left, err)
			}
		}
	}
	same(t, "refused", w.state(), present)
}

func TestRestore_FilesAsInOneOfTheStatesWereNotChangedByOthers(t *testing.T) {
	w, before, left := worked(t)
	all := w.take()
	w.write("user", "by the user, again")
	w.write("agent", "by the user too")
	// A file is compared with every state, not only with the first or the last.
	for _, states := range [][]ID{{left, all}, {all, left}, {all, before, left}} {
		_, err := w.store.Restore(context.Background(), before, RestoreOptions{Left: states, Later: Refuse})
		var later *LaterError
		if !errors.As(err, &later) {
			t.Fatalf("got error %v, want a LaterError", err)
		}
		equal(t, fmt.Sprint("later with ", states), summary(later.Changes), "~agent ~user")
	}
}

func TestTake_OfAnUnchangedWorkspaceReturnsTheNewestCheckpoint(t *testing.T) {
	w := newWorkspace(t)
	w.write("f", "1")
	a := w.take()
	equal(t, "again", w.take(), a)
	w.write("f", "2")
	b := w.take()
	w.write("f", "1")
	if c := w.take(); c == a || c == b {
		t.Errorf("got the older checkpoint %s, want a new one", c)
	}
}

func TestErrors_NameTheFirstThreeFiles(t *testing.T) {
	full := errors.New("disk full")
	for _, c := range []struct {
		err  error
		want string
	}{
		{&IncompleteError{ID: "2", Before: "3", Failed: []PathError{{"a", full}, {"b", full}, {"c", full}, {"d", full}}},
			"restore of checkpoint 2 is incomplete (a: disk full; b: disk full; c: disk full; and 1 more); the state before is checkpoint 3"},
		{&LaterError{Changes: []Change{{Path: "a"}, {Path: "b"}, {Path: "c"}, {Path: "d"}, {Path: "e"}}},
			"nothing restored: these files were changed by others too: a, b, c, and 2 more"},
		{&LaterError{Changes: []Change{{Path: "a"}}, Unknown: true},
			"nothing restored: these files may have been changed by others: a"},
	} {
		equal(t, "error", c.err.Error(), c.want)
	}
}
