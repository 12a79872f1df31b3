package session_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/session"
)

func TestFind_ByIDPrefixAndCase(t *testing.T) {
	s := newShelf(t)
	for _, id := range []string{"K3ZQAA", "K3ZQBB", "abc", "abcdef", "with@3"} {
		s.save(event.Meta{ID: id}, time.Hour, input("x"))
	}
	for name, want := range map[string]string{
		"K3ZQAA": "K3ZQAA", "k3zqaa": "K3ZQAA", "k3zqb": "K3ZQBB",
		"abc": "abc", "ABC": "abc", "abcd": "abcdef", "with@3": "with@3", "w": "with@3",
	} {
		if m, err := s.Find(t.Context(), name); m.ID != want || err != nil {
			t.Errorf("%s is %q, %v, want %q", name, m.ID, err, want)
		}
	}
}

func TestFind_ErrorsHelp(t *testing.T) {
	s := newShelf(t)
	_, err := s.Find(t.Context(), "x")
	s.fails(err, `session "x" not found: no saved sessions`)
	_, err = s.Find(t.Context(), session.Latest)
	s.fails(err, "no saved sessions")
	for i := range 10 {
		s.save(event.Meta{ID: fmt.Sprintf("K3Z%d", i)}, time.Duration(i)*time.Hour)
	}
	s.save(event.Meta{ID: "fix-the-build"}, time.Hour)
	for name, want := range map[string]string{
		"k3z":       `session ID "k3z" is ambiguous: it matches K3Z0, K3Z1, K3Z2, K3Z3, K3Z4, K3Z5, K3Z6, K3Z7 and 2 more`,
		"the-build": `session "the-build" not found; did you mean fix-the-build?`,
		"qqq":       `session "qqq" not found`,
		"":          `session "" not found`,
		"../../etc": `session "../../etc" not found`,
	} {
		_, err := s.Find(t.Context(), name)
		s.fails(err, want)
		var ambiguous *session.AmbiguousError
		if many := name == "k3z"; errors.As(err, &ambiguous) != many || errors.Is(err, event.ErrNotFound) == many {
			t.Errorf("%s: the error is a %T", name, err)
		}
	}
}

func TestFind_LatestIsWhatWasUsedLast(t *testing.T) {
	s := newShelf(t)
	s.save(event.Meta{ID: "old"}, 2*time.Hour, input("x"))
	s.save(event.Meta{ID: "new"}, time.Hour, input("x"), input("y"))
	s.save(event.Meta{ID: "latest-news"}, 9*time.Hour)
	latest := func(want string) {
		t.Helper()
		if m, err := s.Find(t.Context(), session.Latest); m.ID != want || err != nil {
			t.Errorf("latest is %q, %v, want %q", m.ID, err, want)
		}
	}
	latest("new")

	_, err := s.Fork(t.Context(), session.ForkOptions{From: "new@1", ID: "fork"})
	s.must(err)
	latest("new") // a fork counts once it was continued
	w, err := s.Store.Open(t.Context(), "fork")
	s.must(err)
	s.must(errors.Join(w.Append(t.Context(), event.Record{Seq: 2, Time: time.Now(), Session: "fork", Data: input("z")}), w.Close()))
	latest("fork")
	s.must(s.Delete(t.Context(), "fork"))

	_, err = s.Import(t.Context(), newReader(s.archive(session.ExportOptions{Session: "old"})), session.ImportOptions{ID: "foreign"})
	s.must(err)
	latest("new") // so does an imported session

	s.save(event.Meta{ID: "Latest"}, 20*time.Hour)
	latest("Latest")
}

func TestFind_UnusedForksAreBetterThanNothing(t *testing.T) {
	s := newShelf(t)
	s.save(event.Meta{ID: "a", Dir: s.project}, time.Hour, input("x"))
	_, err := s.Fork(t.Context(), session.ForkOptions{From: "a", ID: "fork"})
	s.must(err)
	s.must(s.Delete(t.Context(), "a"))
	if m, err := s.Find(t.Context(), session.Latest); m.ID != "fork" || err != nil {
		t.Errorf("latest is %q, %v", m.ID, err)
	}
	if m, above, err := s.Nearest(t.Context(), s.project); m.ID != "fork" || above || err != nil {
		t.Errorf("the nearest is %q, %v, %v", m.ID, above, err)
	}
}

func TestFind_SessionsThatCannotBeReadHaveTheirID(t *testing.T) {
	s := newShelf(t)
	s.save(event.Meta{ID: "lost"}, time.Hour, input("x"))
	s.save(event.Meta{ID: "good"}, time.Hour, input("x"))
	s.lose("lost")
	for _, name := range []string{"lost", "LOST", "lo"} {
		if m, err := s.Find(t.Context(), name); m.ID != "lost" || err == nil {
			t.Errorf("%s is %q, %v", name, m.ID, err)
		}
	}
	found, err := s.FindAll(t.Context(), "lo", "good", "lost", "g")
	if err != nil || len(found) != 2 || found[0].ID != "lost" || found[1].ID != "good" {
		t.Errorf("got %v, %v", found, err)
	}
	if _, err := s.FindAll(t.Context(), "good", "nothing-like-it"); !errors.Is(err, event.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if m, err := s.Find(t.Context(), session.Latest); m.ID != "good" || err != nil {
		t.Errorf("latest is %q, %v", m.ID, err)
	}
}

func TestNearest_IsOfTheDirectoryOrAParent(t *testing.T) {
	s := newShelf(t)
	inner := filepath.Join(s.project, "a", "b")
	s.must(os.MkdirAll(inner, 0o755))
	s.must(os.MkdirAll(filepath.Join(s.project, "ab"), 0o755))
	link := filepath.Join(t.TempDir(), "link")
	s.must(os.Symlink(s.project, link))
	nearest := func(dir, want string, wantAbove bool) {
		t.Helper()
		if m, above, err := s.Nearest(t.Context(), dir); m.ID != want || above != wantAbove || err != nil {
			t.Errorf("got %q, %v, %v, want %q, %v", m.ID, above, err, want, wantAbove)
		}
	}
	_, _, err := s.Nearest(t.Context(), inner)
	var missing *session.NotFoundError
	if !errors.As(err, &missing) || missing.Dir == "" {
		t.Errorf("without sessions: %v", err)
	}

	s.save(event.Meta{ID: "gone", Dir: filepath.Join(s.project, "gone")}, time.Minute)
	s.save(event.Meta{ID: "lost", Dir: inner}, time.Minute)
	s.lose("lost")
	s.save(event.Meta{ID: "sibling", Dir: filepath.Join(s.project, "ab")}, time.Minute)
	s.save(event.Meta{ID: "root", Dir: s.project}, 3*time.Hour, input("x"))
	s.save(event.Meta{ID: "older", Dir: s.project}, 4*time.Hour, input("x"))
	nearest(inner, "root", true)
	nearest(s.project, "root", false)
	nearest(link, "root", false)
	nearest(filepath.Join(link, "a"), "root", true)

	s.save(event.Meta{ID: "linked", Dir: filepath.Join(link, "a")}, 9*time.Hour, input("x"))
	nearest(filepath.Join(s.project, "a"), "linked", false)
	nearest(inner, "linked", true) // the nearest directory, not the latest session

	_, err = s.Fork(t.Context(), session.ForkOptions{From: "root", ID: "fork"})
	s.must(err)
	nearest(s.project, "root", false)
	_, err = s.Import(t.Context(), newReader(s.archive(session.ExportOptions{Session: "root"})), session.ImportOptions{ID: "foreign"})
	s.must(err)
	nearest(s.project, "root", false)

	var dir *session.DirError
	if _, _, err := s.Nearest(t.Context(), filepath.Join(s.project, "gone")); !errors.As(err, &dir) {
		t.Errorf("in a directory that does not exist: %v", err)
	}
}
