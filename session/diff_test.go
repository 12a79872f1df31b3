package session_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/session"
)

// diff returns what Diff yields, as "path change +added -removed" with "others" after what only others changed.
func (s *shelf) diff(o session.DiffOptions) string {
	s.t.Helper()
	var list []string
	for d, err := range s.Diff(s.t.Context(), o) {
		s.must(err)
		text := d.Path + " " + string(d.Kind) + " +" + s.encode(d.Added) + " -" + s.encode(d.Removed)
		if d.Others {
			text += " others"
		}
		if o.Stat != (d.Diff == "") && (!d.Others || o.All) {
			s.t.Errorf("%s: the difference is %q", d.Path, d.Diff)
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

func TestDiff_TellsWhatTheAgentChangedFromWhatOthersChanged(t *testing.T) {
	s := newShelf(t)
	s.put("old", "1\n2\n")
	s.run("a", write("first", "1\n"), "shell "+`{"command":"echo 3 >> old; echo new > new"}`)
	s.put("mine", "mine\n")
	for _, c := range []struct {
		o    session.DiffOptions
		want string
	}{
		{session.DiffOptions{}, "mine added +0 -0 others, new added +1 -0, old modified +1 -0"},
		{session.DiffOptions{All: true}, "mine added +1 -0 others, new added +1 -0, old modified +1 -0"},
		{session.DiffOptions{Stat: true, Paths: []string{filepath.Join(s.project, "new")}}, "new added +1 -0"},
		{session.DiffOptions{From: "@2"}, "first added +1 -0, mine added +1 -0, new added +1 -0, old modified +1 -0"},
	} {
		c.o.Session = "a"
		if got := s.diff(c.o); got != c.want {
			t.Errorf("%+v: got %s, want %s", c.o, got, c.want)
		}
	}
	states, err := s.States(t.Context(), "a")
	if err != nil || len(states) != 2 {
		t.Fatalf("got %+v, %v", states, err)
	}
	if got := s.diff(session.DiffOptions{Session: "a", From: states[0].Checkpoint, To: states[1].Checkpoint}); got != "first added +1 -0" {
		t.Errorf("between two checkpoints: %s", got)
	}
	defer s.hold("a")()
	link := filepath.Join(t.TempDir(), "link")
	s.must(os.Symlink(s.project, link))
	if got := s.diff(session.DiffOptions{Session: "a", Paths: []string{filepath.Join(link, "old")}}); got != "old modified +1 -0" {
		t.Errorf("over a link, while the session is open: %s", got)
	}
}

func TestDiff_ASecondSessionIsAmongTheOthers(t *testing.T) {
	s := newShelf(t)
	s.run("a", write("one", "1\n"))
	s.run("b", write("two", "2\n"))
	if got := s.diff(session.DiffOptions{Session: "a"}); got != "one added +1 -0, two added +0 -0 others" {
		t.Errorf("got %s", got)
	}
	if got := s.diff(session.DiffOptions{Session: "b"}); got != "two added +1 -0" {
		t.Errorf("got %s", got)
	}
}

func TestDiff_Errors(t *testing.T) {
	s := newShelf(t)
	s.save(event.Meta{ID: "reader", Dir: s.project}, time.Hour, input("look"))
	fails := func(o session.DiffOptions) error {
		t.Helper()
		for _, err := range s.Diff(t.Context(), o) {
			return err
		}
		t.Errorf("%+v: no error", o)
		return nil
	}
	if err := fails(session.DiffOptions{Session: "reader"}); !errors.Is(err, session.ErrUnchanged) {
		t.Errorf("got %v", err)
	}
	s.fails(fails(session.DiffOptions{Session: "reader", From: "1"}), "prompt @1 changed no files, so it has no checkpoint")
	s.fails(fails(session.DiffOptions{Session: "reader", From: "@7"}), "record @7 of session reader is not a prompt")
	s.fails(fails(session.DiffOptions{Session: "reader", From: "@x"}), `invalid state "@x": use a checkpoint or a prompt number`)
	s.fails(fails(session.DiffOptions{Session: "none"}), `session "none" not found`)
	states, err := s.States(t.Context(), "reader")
	if err != nil || len(states) != 1 || states[0].Prompt != "look" || states[0].Checkpoint != "" {
		t.Errorf("got %+v, %v", states, err)
	}
}

func TestStates_OfADamagedSession(t *testing.T) {
	s := newShelf(t)
	s.save(event.Meta{ID: "a"}, time.Hour, input("one"), input("two"))
	s.spoil("a", "log.jsonl", `"text":"one"`, `"text":"xxx"`)
	states, err := s.States(t.Context(), "a")
	if err != nil || len(states) != 1 || states[0].Prompt != "two" {
		t.Errorf("got %+v, %v", states, err)
	}
}
