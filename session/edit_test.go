package session_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/session"
)

func TestRename_AndTagsAreKept(t *testing.T) {
	s := newShelf(t)
	s.save(event.Meta{ID: "abc", Prompt: "p"}, time.Hour, input("p"))
	m, err := s.Rename(t.Context(), "AB", " Parser:\n off  by one ")
	if m.Title != "Parser: off by one" || m.Prompt != "p" || err != nil {
		t.Errorf("got %+v, %v", m, err)
	}
	if m, err = s.Tag(t.Context(), "abc", "bug", "x", "bug"); strings.Join(m.Tags, " ") != "bug x" || err != nil {
		t.Errorf("got %v, %v", m.Tags, err)
	}
	if m, err = s.Untag(t.Context(), "abc", "bug", "never"); strings.Join(m.Tags, " ") != "x" || err != nil {
		t.Errorf("got %v, %v", m.Tags, err)
	}
	if m, err = s.Rename(t.Context(), "abc", ""); m.Title != "" || len(m.Tags) != 1 || err != nil {
		t.Errorf("got %+v, %v", m, err)
	}
	again, err := s.Find(t.Context(), "abc")
	if again.Title != "" || strings.Join(again.Tags, " ") != "x" || err != nil || !again.Updated.Equal(m.Updated) {
		t.Errorf("it was saved as %+v, %v", again, err)
	}
}

func TestTag_MustBeOneVisibleWord(t *testing.T) {
	s := newShelf(t)
	s.save(event.Meta{ID: "abc"}, time.Hour)
	for _, tag := range []string{"", "a b", "a,b", "a\tb", "a\x1b[2Jb", "a\u200bb", "\ufeffa", "a\xff", "a\u2028b"} {
		var bad *session.TagError
		if _, err := s.Tag(t.Context(), "abc", "good", tag); !errors.As(err, &bad) || bad.Tag != tag {
			t.Errorf("%q: %v", tag, err)
		}
	}
	if m, err := s.Find(t.Context(), "abc"); len(m.Tags) > 0 || err != nil {
		t.Errorf("got the tags %v, %v", m.Tags, err)
	}
	if _, err := s.Tag(t.Context(), "abc", "#fix/this-1", "größe", "🦊"); err != nil {
		t.Error(err)
	}
}

func TestEdit_NotWhileTheSessionIsOpen(t *testing.T) {
	s := newShelf(t)
	s.save(event.Meta{ID: "abc"}, time.Hour)
	release := s.hold("abc")
	_, renamed := s.Rename(t.Context(), "abc", "x")
	_, tagged := s.Tag(t.Context(), "abc", "x")
	for _, err := range []error{renamed, tagged, s.Delete(t.Context(), "abc")} {
		if !errors.Is(err, event.ErrLocked) {
			t.Errorf("got %v", err)
		}
	}
	if _, err := s.Fork(t.Context(), session.ForkOptions{From: "abc", ID: "copy"}); err != nil {
		t.Errorf("a fork: %v", err)
	}
	release()
	s.must(s.Delete(t.Context(), "abc"))
	if err := s.Delete(t.Context(), "abc"); !errors.Is(err, event.ErrNotFound) {
		t.Errorf("removed twice: %v", err)
	}
}

func TestFork_UpToARecord(t *testing.T) {
	s := newShelf(t)
	s.save(event.Meta{ID: "abc", Title: "T"}, time.Hour, input("1"), input("2"), input("3"))
	s.save(event.Meta{ID: "x@2"}, time.Hour, input("1"))
	m, err := s.Fork(t.Context(), session.ForkOptions{From: "AB@2", ID: "copy", Title: "a\nb"})
	if m.ID != "copy" || m.Title != "a b" || m.Parent != "abc" || m.ForkedAt != 2 || m.Last != 2 || err != nil {
		t.Errorf("got %+v, %v", m, err)
	}
	if m, err = s.Fork(t.Context(), session.ForkOptions{From: "x@2"}); m.Parent != "x@2" || m.ID == "" || err != nil {
		t.Errorf("got %+v, %v", m, err)
	}
	for from, want := range map[string]string{
		"abc@0":   `invalid reference "abc@0": use ID or ID@SEQ`,
		"abc@":    `invalid reference "abc@": use ID or ID@SEQ`,
		"abc@1.5": `invalid reference "abc@1.5": use ID or ID@SEQ`,
		"abc@4":   "session abc has no record 4; the last is 3",
		"nope@1":  `session "nope" not found`,
	} {
		_, err := s.Fork(t.Context(), session.ForkOptions{From: from})
		s.fails(err, want)
	}
	if _, err := s.Fork(t.Context(), session.ForkOptions{From: "abc", ID: "COPY"}); !errors.Is(err, event.ErrExists) {
		t.Errorf("an ID that exists: %v", err)
	}
	if _, err := s.Fork(t.Context(), session.ForkOptions{From: "abc", ID: "../up"}); !errors.Is(err, event.ErrBadID) {
		t.Errorf("a bad ID: %v", err)
	}
}

func TestFork_OfADamagedSession(t *testing.T) {
	s := newShelf(t)
	s.save(event.Meta{ID: "abc"}, time.Hour, input("1"), input("2"), input("3"))
	s.spoil("abc", "log.jsonl", `"text":"2"`, `"text":"X"`)
	var damage *event.CorruptError
	if _, err := s.Fork(t.Context(), session.ForkOptions{From: "abc", ID: "copy"}); !errors.As(err, &damage) {
		t.Errorf("got %v", err)
	}
	m, err := s.Fork(t.Context(), session.ForkOptions{From: "abc", ID: "copy", Damaged: true})
	if m.Last != 3 || err != nil {
		t.Errorf("got %+v, %v", m, err)
	}
}
