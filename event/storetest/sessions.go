package storetest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing/iotest"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

func goodIDs(s *suite) {
	for _, id := range []string{
		"a", "A1", "0", "_x", "550e8400-e29b-41d4-a716-446655440000", "user@example.com", "a..b", "a.b", "com10", "console",
		"x,y=z+~", strings.Repeat("x", 128),
	} {
		s.must(s.create(id).Close())
		s.must(s.open(id).Close())
		if got := s.meta(id).ID; got != id {
			s.Errorf("got id %q, want %q", got, id)
		}
	}
}

func badIDs(s *suite) {
	for _, id := range []string{
		"", ".", "..", "...", ".hidden", "../a", "a/b", `a\b`, "/a", `C:\a`, "a:b", "a b", " a", "a ", "a.", "-a", "--resume",
		"a\x00b", "a\nb", "a\x7fb", "é", "a\u202eb", "\xff", "a*b", "a?b", "a\"b", "a<b", "a|b", "%41", "$HOME",
		"con", "CON", "Nul", "aux.txt", "com1", "LPT9.log", strings.Repeat("x", 129),
	} {
		_, err := s.store.Create(s.Context(), event.Meta{ID: id})
		s.wants(err, event.ErrBadID)
		_, err = s.store.Open(s.Context(), id)
		s.wants(err, event.ErrBadID)
		_, err = s.store.Meta(s.Context(), id)
		s.wants(err, event.ErrBadID)
		_, err = s.store.OpenBlob(s.Context(), id, "x")
		s.wants(err, event.ErrBadID)
		s.wants(s.store.Delete(s.Context(), id), event.ErrBadID)
		for _, err := range s.store.Load(s.Context(), id, 0) {
			s.wants(err, event.ErrBadID)
		}
	}
	if n := len(s.list()); n != 0 {
		s.Errorf("got %d sessions, want none", n)
	}
}

func collisions(s *suite) {
	w := s.create("Session")
	s.append(w, warning(1))
	s.must(w.Close())
	_, err := s.store.Create(s.Context(), event.Meta{ID: "sESSION"})
	s.wants(err, event.ErrExists)
	_, err = s.store.Open(s.Context(), "session")
	s.wants(err, event.ErrNotFound)
	_, err = s.store.Meta(s.Context(), "session")
	s.wants(err, event.ErrNotFound)
	s.wants(s.store.Delete(s.Context(), "session"), event.ErrNotFound)
	s.holds("Session", 0, warnings(1, 1))
}

func missing(s *suite) {
	if n := len(s.list()); n != 0 {
		s.Errorf("got %d sessions in an empty store", n)
	}
	_, err := s.store.Open(s.Context(), "a")
	s.wants(err, event.ErrNotFound)
	_, err = s.store.Meta(s.Context(), "a")
	s.wants(err, event.ErrNotFound)
	_, err = s.store.OpenBlob(s.Context(), "a", strings.Repeat("0", 64))
	s.wants(err, event.ErrNotFound)
	s.wants(s.store.Delete(s.Context(), "a"), event.ErrNotFound)
	n := 0
	for _, err := range s.store.Load(s.Context(), "a", 0) {
		s.wants(err, event.ErrNotFound)
		n++
	}
	if n != 1 {
		s.Errorf("got %d errors, want 1", n)
	}
}

func metaFollows(s *suite) {
	before := time.Now().Add(-time.Minute)
	w := s.create("a")
	m := s.meta("a")
	if m.ID != "a" || m.Last != 0 || m.Created.Before(before) || m.Updated.Before(m.Created) {
		s.Errorf("a new session is described as %+v", m)
	}
	s.append(w, warnings(1, 7)...)
	for range 2 {
		now := s.meta("a")
		if now.Last != 7 || !now.Updated.Equal(warning(7).Time) || !now.Created.Equal(m.Created) {
			s.Errorf("after seven records it is described as %+v", now)
		}
		s.must(w.Close())
	}
}

func metaSet(s *suite) {
	cost := 1.5
	first := event.Meta{ID: "a", Title: "t", Prompt: "p\nq", Tags: []string{"x", "y"}, Dir: "/d", Parent: "b", ForkedAt: 9, Created: epoch}
	w, err := s.store.Create(s.Context(), first)
	s.must(err)
	defer w.Close()
	if m := s.meta("a"); m.Title != "t" || m.Prompt != "p\nq" || len(m.Tags) != 2 || m.Parent != "b" || m.ForkedAt != 9 ||
		!m.Created.Equal(epoch) {
		s.Errorf("created as %+v, want %+v", m, first)
	}
	s.append(w, warnings(1, 3)...)
	s.must(
		w.SetMeta(
			s.Context(),
			event.Meta{ID: "other", Title: "new", Model: "m", Turns: 2, Usage: llm.Usage{Output: 5}, Cost: &cost, Last: 99},
		),
	)
	s.append(w, warning(4))
	for range 2 {
		m := s.meta("a")
		if m.ID != "a" || m.Title != "new" || m.Prompt != "" || m.Tags != nil || m.Turns != 2 || m.Usage.Output != 5 || m.Cost == nil ||
			*m.Cost != cost {
			s.Errorf("SetMeta set %+v", m)
		}
		if m.Last != 4 || !m.Created.Equal(epoch) || !m.Updated.Equal(warning(4).Time) {
			s.Errorf("SetMeta changed what the store maintains: %+v", m)
		}
		s.must(w.Close())
	}
	_, err = s.store.Meta(s.Context(), "other")
	s.wants(err, event.ErrNotFound)
	s.holds("a", 0, warnings(1, 4))
}

func clock(s *suite) {
	w := s.create("a")
	s.append(w, warning(1))
	late := s.meta("a").Updated
	back := warning(2)
	back.Time = epoch.AddDate(-150, 0, 0)
	s.append(w, back)
	s.must(w.SetMeta(s.Context(), event.Meta{Title: "x"}))
	s.must(w.Close())
	if m := s.meta("a"); !m.Updated.Equal(late) || m.Last != 2 {
		s.Errorf("got %+v, want Updated %v and Last 2", m, late)
	}
	s.holds("a", 0, []event.Record{warning(1), back})
}

func list(s *suite) {
	for i, id := range []string{"a", "b", "c"} {
		w := s.create(id)
		r := warning(1)
		r.Time = epoch.Add(time.Duration(i) * time.Hour)
		s.append(w, r)
		s.must(w.Close())
	}
	w := s.open("a")
	r := warning(2)
	r.Time = epoch.Add(24 * time.Hour)
	s.append(w, r)
	got := ""
	for _, m := range s.list() {
		got += m.ID
	}
	if got != "acb" {
		s.Errorf("got order %s, want acb", got)
	}
	for m, err := range s.store.List(s.Context()) {
		s.must(err)
		if m.ID != "a" || m.Last != 2 {
			s.Errorf("the first session is %+v, want a with 2 records", m)
		}
		break
	}
}

func remove(s *suite) {
	w := s.create("a")
	s.append(w, warning(1))
	hash, _, err := w.PutBlob(s.Context(), strings.NewReader("x"))
	s.must(err)
	s.must(w.Close())
	s.must(s.store.Delete(s.Context(), "a"))
	s.wants(s.store.Delete(s.Context(), "a"), event.ErrNotFound)
	if n := len(s.list()); n != 0 {
		s.Errorf("got %d sessions, want none", n)
	}
	s.create("a")
	s.holds("a", 0, nil)
	_, err = s.store.OpenBlob(s.Context(), "a", hash)
	s.wants(err, fs.ErrNotExist)
}

func removeOpen(s *suite) {
	w := s.create("a")
	s.wants(s.store.Delete(s.Context(), "a"), event.ErrLocked)
	s.append(w, warning(1))
	s.holds("a", 0, warnings(1, 1))
}

func blobs(s *suite) {
	w := s.create("a")
	s.create("b")
	for _, data := range [][]byte{{}, []byte("x"), []byte("x"), bytes.Repeat([]byte{0, 255, '\n'}, 1<<20)} {
		hash, size, err := w.PutBlob(s.Context(), bytes.NewReader(data))
		s.must(err)
		if sum := sha256.Sum256(data); hash != hex.EncodeToString(sum[:]) || size != int64(len(data)) {
			s.Errorf("PutBlob of %d bytes returned %s and %d", len(data), hash, size)
		}
		r, err := s.store.OpenBlob(s.Context(), "a", hash)
		s.must(err)
		got, err := io.ReadAll(r)
		s.must(errors.Join(err, r.Close()))
		if !bytes.Equal(got, data) {
			s.Errorf("got %d bytes, want %d", len(got), len(data))
		}
		_, err = s.store.OpenBlob(s.Context(), "b", hash)
		s.wants(err, fs.ErrNotExist)
	}
	for _, hash := range []string{"", "x", "../log.jsonl", strings.Repeat("0", 64)} {
		_, err := s.store.OpenBlob(s.Context(), "a", hash)
		s.wants(err, fs.ErrNotExist)
	}
}

func blobFails(s *suite) {
	w := s.create("a")
	broken := errors.New("broken")
	_, _, err := w.PutBlob(s.Context(), io.MultiReader(strings.NewReader("x"), iotest.ErrReader(broken)))
	s.wants(err, broken)
	sum := sha256.Sum256([]byte("x"))
	_, err = s.store.OpenBlob(s.Context(), "a", hex.EncodeToString(sum[:]))
	s.wants(err, fs.ErrNotExist)
	s.append(w, warning(1))
}
