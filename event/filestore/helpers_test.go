package filestore

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
)

func newStore(t testing.TB, c Config) *Store {
	t.Helper()
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func record(seq event.Seq) event.Record {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(seq) * time.Second)
	return event.Record{Seq: seq, Time: at, Session: "a", Data: event.Warning{Message: fmt.Sprintf("number %d, \"é\"", seq)}}
}

func recordsUpTo(n event.Seq) []event.Record {
	var out []event.Record
	for seq := event.Seq(1); seq <= n; seq++ {
		out = append(out, record(seq))
	}
	return out
}

func create(t testing.TB, s *Store, id string) *writer {
	t.Helper()
	w, err := s.Create(t.Context(), event.Meta{ID: id})
	must(t, err)
	return w.(*writer)
}

func open(t testing.TB, s *Store, id string) *writer {
	t.Helper()
	w, err := s.Open(t.Context(), id)
	must(t, err)
	return w.(*writer)
}

// saved creates a session with n records and closes it.
func saved(t testing.TB, s *Store, id string, n event.Seq) {
	t.Helper()
	w := create(t, s, id)
	must(t, w.Append(t.Context(), recordsUpTo(n)...))
	must(t, w.Close())
}

// load returns a session's records and damage.
func load(t testing.TB, s *Store, id string, after event.Seq) (records []event.Record, damage []*event.CorruptError) {
	t.Helper()
	for r, err := range s.Load(t.Context(), id, after) {
		var c *event.CorruptError
		switch {
		case errors.As(err, &c):
			damage = append(damage, c)
		case err != nil:
			t.Fatal(err)
		default:
			records = append(records, r)
		}
	}
	return records, damage
}

// holds checks that a session has exactly the first n records.
func holds(t testing.TB, s *Store, id string, n event.Seq) {
	t.Helper()
	got, damage := load(t, s, id, 0)
	if len(got) != int(n) || damage != nil {
		t.Fatalf("%s has %d records, want %d; damage %v", id, len(got), n, damage)
	}
	for i, r := range got {
		if !same(r, record(event.Seq(i+1))) {
			t.Fatalf("got record %d %+v, want %+v", i+1, r, record(event.Seq(i+1)))
		}
	}
}

func same(a, b event.Record) bool {
	x, err := a.MarshalJSON()
	y, err2 := b.MarshalJSON()
	return err == nil && err2 == nil && bytes.Equal(x, y)
}

func clean(t testing.TB, s *Store, id string) Report {
	t.Helper()
	r, err := s.Verify(t.Context(), id)
	must(t, err)
	if !r.Clean() {
		t.Fatalf("%s is not clean: %v", id, r.Problems)
	}
	return r
}

func readLogFile(t testing.TB, s *Store, id string) []byte {
	t.Helper()
	b, err := os.ReadFile(s.path(id, logName))
	must(t, err)
	return b
}

func writeLogFile(t testing.TB, s *Store, id string, b []byte) {
	t.Helper()
	must(t, os.WriteFile(s.path(id, logName), b, filePerm))
}
