package session_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/session"
)

func newReader(b []byte) io.Reader { return bytes.NewReader(b) }

func TestList_Filters(t *testing.T) {
	s := newShelf(t)
	link := filepath.Join(t.TempDir(), "link")
	s.must(os.Symlink(s.project, link))
	s.save(event.Meta{ID: "old", Dir: s.project, Tags: []string{"bug"}}, 72*time.Hour)
	s.save(event.Meta{ID: "linked", Dir: link}, 5*time.Hour)
	s.save(event.Meta{ID: "other", Dir: t.TempDir(), Tags: []string{"bug", "x"}}, time.Hour)
	s.save(event.Meta{ID: "nowhere"}, 2*time.Hour)
	s.save(event.Meta{ID: "lost", Dir: s.project}, time.Hour)
	s.lose("lost")
	yesterday := time.Now().Add(-24 * time.Hour)
	for _, c := range []struct {
		filter session.Filter
		want   string
		more   int
	}{
		{session.Filter{}, "other nowhere linked old", 0},
		{session.Filter{Limit: 3}, "other nowhere linked", 1},
		{session.Filter{Dir: s.project}, "linked old", 0},
		{session.Filter{Dir: link, Limit: 1}, "linked", 1},
		{session.Filter{Tag: "bug"}, "other old", 0},
		{session.Filter{Tag: "bu"}, "", 0},
		{session.Filter{Since: yesterday}, "other nowhere linked", 0},
		{session.Filter{Before: yesterday}, "old", 0},
		{session.Filter{Since: yesterday, Before: yesterday}, "", 0},
	} {
		list, err := s.List(t.Context(), c.filter)
		var ids []string
		for _, m := range list.Sessions {
			ids = append(ids, m.ID)
		}
		if got := strings.Join(ids, " "); got != c.want || list.More != c.more || err != nil {
			t.Errorf("%+v: got %q, %d more, %v, want %q, %d more", c.filter, got, list.More, err, c.want, c.more)
		}
		if len(list.Damaged) != 1 || list.Damaged[0].ID != "lost" || list.Damaged[0].Error == "" {
			t.Errorf("%+v: damaged are %v", c.filter, list.Damaged)
		}
	}
	var dir *session.DirError
	if _, err := s.List(t.Context(), session.Filter{Dir: filepath.Join(s.project, "none")}); !errors.As(err, &dir) {
		t.Errorf("a directory that does not exist: %v", err)
	}
}

func TestSearch_OnlySelectedSessions(t *testing.T) {
	s := newShelf(t)
	s.save(event.Meta{ID: "here", Dir: s.project}, time.Hour, input("a needle"), input("another NEEDLE"))
	s.save(event.Meta{ID: "tagged", Tags: []string{"bug"}}, 2*time.Hour, input("needle"))
	s.save(event.Meta{ID: "none"}, 2*time.Hour, input("hay"))
	for _, c := range []struct {
		o    session.SearchOptions
		want string
	}{
		{session.SearchOptions{}, "here@1 here@2 tagged@1"},
		{session.SearchOptions{PerSession: 1}, "here@1 tagged@1"},
		{session.SearchOptions{Hits: 2}, "here@1 here@2"},
		{session.SearchOptions{Filter: session.Filter{Dir: s.project}}, "here@1 here@2"},
		{session.SearchOptions{Filter: session.Filter{Tag: "bug"}}, "tagged@1"},
		{session.SearchOptions{Filter: session.Filter{Dir: "/none/at/all"}}, "error"},
	} {
		c.o.Text = "needle"
		var got []string
		for hit, err := range s.Search(t.Context(), c.o) {
			if err != nil {
				got = append(got, "error")
				continue
			}
			got = append(got, hit.Session.ID+"@"+string('0'+rune(hit.Seq)))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v: got %v, want %s", c.o, got, c.want)
		}
	}
}
