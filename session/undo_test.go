package session_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/checkpoint"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/session"
)

func TestUndo_PromptByPromptAndBack(t *testing.T) {
	s := newShelf(t)
	s.run("a", write("one", "1"), write("two", "2"))
	s.has("one=1 two=2")

	undo := session.UndoOptions{Session: "a"}
	dry := undo
	dry.DryRun = true
	planned, err := s.Undo(t.Context(), dry)
	s.must(err)
	s.has("one=1 two=2")
	done, err := s.Undo(t.Context(), undo)
	s.must(err)
	s.has("one=1")
	if done.Prompt != write("two", "2") || !done.Chat || !done.Files || done.Partly || len(done.Changed) != 1 ||
		done.Changed[0] != (session.Change{Path: "two", Kind: checkpoint.Deleted}) {
		t.Errorf("got %+v", done)
	}
	s.same(planned, done)

	planned, err = s.Redo(t.Context(), dry)
	s.must(err)
	s.has("one=1")
	done, err = s.Redo(t.Context(), undo)
	s.must(err)
	s.has("one=1 two=2")
	s.same(planned, done)
	for _, o := range []session.UndoOptions{undo, dry} {
		if _, err := s.Redo(t.Context(), o); !errors.Is(err, agent.ErrNothingToRedo) {
			t.Errorf("got %v", err)
		}
	}

	// Only the files, then only the conversation.
	files := undo
	files.Files = true
	done, err = s.Undo(t.Context(), files)
	s.must(err)
	s.has("one=1")
	if done.Chat || !done.Files {
		t.Errorf("got %+v", done)
	}
	planned, err = s.Undo(t.Context(), dry)
	s.must(err)
	done, err = s.Undo(t.Context(), undo)
	s.must(err)
	if !done.Chat || done.Files || len(done.Changed) > 0 {
		t.Errorf("got %+v", done)
	}
	s.same(planned, done)
	_, err = s.Undo(t.Context(), undo)
	s.must(err)
	s.has("")
	for _, o := range []session.UndoOptions{undo, dry} {
		if _, err := s.Undo(t.Context(), o); !errors.Is(err, agent.ErrNothingToUndo) {
			t.Errorf("got %v", err)
		}
	}
}

// same fails unless a preview was right.
func (s *shelf) same(planned, done session.Undone) {
	s.t.Helper()
	s.shows(planned, nil, s.encode(done))
}

func TestUndo_AsksAboutFilesThatOthersChangedToo(t *testing.T) {
	s := newShelf(t)
	s.run("a", write("both", "agent\n"), write("own", "1"))
	s.put("mine", "mine")
	s.put("both", "mine\n")

	o := session.UndoOptions{Session: "a"}
	_, err := s.Undo(t.Context(), o)
	s.must(err) // only "own"
	s.has("both=mine\n mine=mine")

	var conflict *session.ConflictError
	_, err = s.Undo(t.Context(), o)
	if !errors.As(err, &conflict) {
		t.Fatalf("got %v", err)
	}
	s.has("both=mine\n mine=mine")
	if c := conflict.Conflicts; len(c) != 1 || c[0].Path != "both" || c[0].Kind != checkpoint.Deleted || c[0].Unsure ||
		c[0].Removed != 1 || !strings.Contains(c[0].Diff, "-mine") || conflict.Unknown || conflict.Session != "a" {
		t.Errorf("got %+v", conflict)
	}
	dry := o
	dry.DryRun = true
	planned, err := s.Undo(t.Context(), dry)
	if err != nil || len(planned.Conflicts) != 1 || len(planned.Changed) > 0 || strings.Join(planned.Kept, " ") != "mine" {
		t.Errorf("the preview is %+v, %v", planned, err)
	}

	keep := o
	keep.Others = session.Keep
	done, err := s.Undo(t.Context(), keep)
	s.must(err)
	s.has("both=mine\n mine=mine")
	if strings.Join(done.Kept, " ") != "both mine" || len(done.Changed) > 0 {
		t.Errorf("got %+v", done)
	}
}

func TestUndo_OverwritesOnlyWhatWasDecided(t *testing.T) {
	s := newShelf(t)
	s.run("a", "shell "+`{"command":"echo agent > x; echo agent > y"}`)
	s.put("x", "mine\n")
	o := session.UndoOptions{Session: "a"}
	var conflict *session.ConflictError
	if _, err := s.Undo(t.Context(), o); !errors.As(err, &conflict) || len(conflict.Conflicts) != 1 {
		t.Fatalf("got %v", err)
	}
	s.put("y", "mine\n") // meanwhile
	o.Overwrite = []string{"x"}
	if _, err := s.Undo(t.Context(), o); !errors.As(err, &conflict) || len(conflict.Conflicts) != 2 {
		t.Fatalf("got %v", err)
	}
	s.has("x=mine\n y=mine\n")
	o.Overwrite = []string{"x", "y"}
	done, err := s.Undo(t.Context(), o)
	if err != nil || len(done.Changed) != 2 {
		t.Errorf("got %+v, %v", done, err)
	}
	s.has("")
	s.must2(s.Redo(t.Context(), session.UndoOptions{Session: "a"}))
	s.has("x=mine\n y=mine\n")
	s.must2(s.Undo(t.Context(), session.UndoOptions{Session: "a", Others: session.Overwrite}))
	s.has("")
}

func (s *shelf) must2(_ session.Undone, err error) {
	s.t.Helper()
	s.must(err)
}

func TestUndo_AfterAnInterruptedCallAsksAboutAllThatNoCallHasRecorded(t *testing.T) {
	s := newShelf(t)
	s.run("a", write("own", "1"), write("last", "1"))
	s.endDuringLastCall("a")
	s.put("mine", "mine")
	planned, err := s.Undo(t.Context(), session.UndoOptions{Session: "a", DryRun: true})
	if c := planned.Conflicts; err != nil || len(c) != 2 || c[0].Path != "last" || c[1].Path != "mine" || len(planned.Changed) > 0 {
		t.Errorf("the preview is %+v, %v", planned, err)
	}
	done, err := s.Undo(t.Context(), session.UndoOptions{Session: "a", Others: session.Keep})
	if err != nil || strings.Join(done.Kept, " ") != "last mine" || len(done.Changed) > 0 || done.Prompt != write("last", "1") {
		t.Errorf("got %+v, %v", done, err)
	}
	s.has("last=1 mine=mine own=1")
}

func TestRestore_FilesToAState(t *testing.T) {
	s := newShelf(t)
	s.run("a", write("one", "1"), write("two", "2"), write("one", "3"))
	states, err := s.States(t.Context(), "a")
	if err != nil || len(states) != 3 {
		t.Fatalf("got %+v, %v", states, err)
	}
	second := "@" + s.encode(states[1].Input)
	restore := session.UndoOptions{Session: "a", To: second}
	dry := restore
	dry.DryRun = true
	planned, err := s.Restore(t.Context(), dry)
	s.must(err)
	done, err := s.Restore(t.Context(), restore)
	s.must(err)
	s.has("one=1")
	s.same(planned, done)
	if done.Chat || len(done.Changed) != 2 {
		t.Errorf("got %+v", done)
	}
	s.must2(s.Redo(t.Context(), session.UndoOptions{Session: "a"}))
	s.has("one=3 two=2")

	// A checkpoint, and a path over a link.
	link := filepath.Join(t.TempDir(), "link")
	s.must(os.Symlink(s.project, link))
	_, err = s.Restore(t.Context(), session.UndoOptions{Session: "a", To: states[1].Checkpoint, Paths: []string{filepath.Join(link, "two")}})
	s.must(err)
	s.has("one=3")
	_, err = s.Restore(t.Context(), session.UndoOptions{Session: "a", Paths: []string{filepath.Join(s.project, "one")}})
	s.must(err)
	s.has("one=1")

	states, err = s.States(t.Context(), "a")
	s.must(err)
	if last := states[len(states)-1]; len(states) != 7 || last.Before != "undo" || last.Checkpoint == "" || last.Prompt == "" {
		t.Errorf("got %+v", states)
	}
	for to, want := range map[string]string{
		"nonsense": `invalid state "nonsense": use a checkpoint or a prompt number`,
		"@1":       "record @1 of session a is not a prompt",
		"9999":     "record @9999 of session a is not a prompt",
	} {
		_, err := s.Restore(t.Context(), session.UndoOptions{Session: "a", To: to})
		s.fails(err, want)
	}
	if _, err := s.Restore(t.Context(), session.UndoOptions{Session: "a", To: "0000009999-00000000"}); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	for _, dryRun := range []bool{false, true} {
		if _, err := s.Restore(t.Context(), session.UndoOptions{Session: "a", DryRun: dryRun}); err == nil {
			t.Error("without a state and paths there is no error")
		}
	}
}

func TestUndo_PreviewsAnOpenSessionAndRefusesToChangeIt(t *testing.T) {
	s := newShelf(t)
	s.run("a", write("one", "1"))
	defer s.hold("a")()
	planned, err := s.Undo(t.Context(), session.UndoOptions{Session: "a", DryRun: true})
	if err != nil || len(planned.Changed) != 1 {
		t.Errorf("got %+v, %v", planned, err)
	}
	if _, err := s.Undo(t.Context(), session.UndoOptions{Session: "a"}); !errors.Is(err, event.ErrLocked) {
		t.Errorf("got %v", err)
	}
	s.has("one=1")
}

func TestUndo_NeedsTheDirectory(t *testing.T) {
	s := newShelf(t)
	s.save(event.Meta{ID: "none"}, time.Hour, input("x"))
	s.save(event.Meta{ID: "gone", Dir: filepath.Join(s.project, "gone")}, time.Hour, input("x"))
	for id, want := range map[string]string{"none": "", "gone": filepath.Join(s.project, "gone")} {
		var dir *session.DirError
		if _, err := s.Undo(t.Context(), session.UndoOptions{Session: id}); !errors.As(err, &dir) || dir.Dir != want || dir.Session != id {
			t.Errorf("%s: %v", id, err)
		}
	}
}
