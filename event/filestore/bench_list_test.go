package filestore

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// BenchmarkList_10000 lists 10,000 sessions: for the first time, and when .list has copies of all of them.
func BenchmarkList_10000(b *testing.B) {
	s := newStore(b, Config{})
	for i := range 10_000 {
		m := event.Meta{
			ID:       fmt.Sprintf("20260102-%06d", i),
			Title:    fmt.Sprint("Fix the parser for case ", i),
			Prompt:   strings.Repeat("prompt ", 20),
			Provider: "anthropic",
			Model:    "model-1",
			Dir:      fmt.Sprint("/home/me/project-", i%50),
			Branch:   "main",
			Created:  time.Unix(int64(i), 0).UTC(),
			Updated:  time.Unix(int64(i), 0).UTC(),
			Last:     120,
			Turns:    9,
			Usage:    llm.Usage{Input: 123_456, Output: 7890, Reasoning: 1234, CacheRead: 1_234_567, CacheWrite: 23_456},
			Cost:     new(1.2345),
		}
		old(b, s, m)
	}
	list := func(b *testing.B, before func()) {
		b.ReportAllocs()
		start := cpuTime()
		for b.Loop() {
			before()
			count(b, s, 10_000)
		}
		b.ReportMetric(float64((cpuTime()-start).Milliseconds())/float64(b.N), "cpu-ms/op")
	}
	b.Run("first", func(b *testing.B) { list(b, s.forgetCopies) })
	b.Run("again", func(b *testing.B) { list(b, func() {}) })
}

// count checks how many sessions are listed.
func count(t testing.TB, s *Store, want int) {
	t.Helper()
	n := 0
	for _, err := range s.List(t.Context()) {
		must(t, err)
		n++
	}
	if n != want {
		t.Fatalf("%d sessions are listed, want %d", n, want)
	}
}

// old saves a session that was written an hour ago.
func old(t testing.TB, s *Store, m event.Meta) {
	t.Helper()
	must(t, os.MkdirAll(s.path(m.ID), dirPerm))
	log, err := appendJSON(nil, header{format, m.ID})
	must(t, err)
	log, err = appendJSON(log, description{m})
	must(t, err)
	must(t, os.WriteFile(s.path(m.ID, logName), log, filePerm))
	age(t, s, m.ID)
	must(t, s.writeIndex(s.path(m.ID), index{Size: int64(len(log)), Lines: 2, Meta: m}))
}

// age makes a session's log look as if it was written an hour ago.
func age(t testing.TB, s *Store, id string) {
	t.Helper()
	hourAgo := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(s.path(id, logName), hourAgo, hourAgo))
}
