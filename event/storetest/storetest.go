// Package storetest tests implementations of [event.Store].
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) event.Store { return mystore.New(t.TempDir()) })
//	}
package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
)

// Run tests a store. Each call to open must return a new, empty store.
func Run(t *testing.T, open func(t *testing.T) event.Store) {
	for _, test := range []struct {
		name string
		run  func(*suite)
	}{
		{"RecordsComeBackAsTheyWere", records},
		{"LoadStartsAfterANumber", loadAfter},
		{"LoadCanBeStoppedAndCancelled", loadStops},
		{"NumbersAreConsecutive", order},
		{"UnknownKindsSurvive", unknown},
		{"LargeRecordsSurvive", large},
		{"WriterContinuesAfterReopening", reopen},
		{"OneWriterAtATime", oneWriter},
		{"ReadersNeedNoLock", readers},
		{"ClosedWriterRefuses", closed},
		{"ValidIDsAreAccepted", goodIDs},
		{"InvalidIDsAreRefused", badIDs},
		{"IDsThatDifferInCaseCollide", collisions},
		{"MissingSessionIsNotFound", missing},
		{"MetaFollowsRecords", metaFollows},
		{"SetMetaKeepsWhatTheStoreMaintains", metaSet},
		{"UpdatedNeverDecreases", clock},
		{"ListIsOrderedByLastWrite", list},
		{"DeleteRemovesEverything", remove},
		{"DeleteOfAnOpenSessionIsRefused", removeOpen},
		{"BlobsAreStoredByHash", blobs},
		{"FailedBlobIsNotStored", blobFails},
		{"CancelledContextWritesNothing", cancelled},
		{"SessionsAreWrittenConcurrently", concurrent},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(&suite{t, open(t)}) })
	}
}

type suite struct {
	*testing.T
	store event.Store
}

func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *suite) wants(err, want error) {
	s.Helper()
	if !errors.Is(err, want) {
		s.Errorf("got error %v, want %v", err, want)
	}
}

// create creates a session and closes its writer after the test.
func (s *suite) create(id string) event.Writer {
	s.Helper()
	w, err := s.store.Create(s.Context(), event.Meta{ID: id})
	s.must(err)
	s.Cleanup(func() { _ = w.Close() })
	return w
}

func (s *suite) open(id string) event.Writer {
	s.Helper()
	w, err := s.store.Open(s.Context(), id)
	s.must(err)
	s.Cleanup(func() { _ = w.Close() })
	return w
}

// epoch is the first record's time.
var epoch = time.Date(2100, 1, 2, 3, 4, 5, 6, time.UTC)

// warning returns a small record.
func warning(seq event.Seq) event.Record {
	return event.Record{
		Seq:     seq,
		Time:    epoch.Add(time.Duration(seq) * time.Second),
		Session: "a",
		Data:    event.Warning{Message: fmt.Sprint("number ", seq)},
	}
}

func warnings(from, to event.Seq) []event.Record {
	var out []event.Record
	for seq := from; seq <= to; seq++ {
		out = append(out, warning(seq))
	}
	return out
}

func (s *suite) append(w event.Writer, records ...event.Record) {
	s.Helper()
	s.must(w.Append(s.Context(), records...))
}

func (s *suite) load(id string, after event.Seq) []event.Record {
	s.Helper()
	var out []event.Record
	for r, err := range s.store.Load(s.Context(), id, after) {
		s.must(err)
		out = append(out, r)
	}
	return out
}

// holds checks a session's records after a number.
func (s *suite) holds(id string, after event.Seq, want []event.Record) {
	s.Helper()
	got := s.load(id, after)
	if len(got) != len(want) {
		s.Fatalf("%s has %d records after %d, want %d", id, len(got), after, len(want))
	}
	for i := range want {
		if a, b := s.json(got[i]), s.json(want[i]); a != b {
			s.Fatalf("record %d: got\n%.2000s\nwant\n%.2000s", i, a, b)
		}
	}
}

func (s *suite) json(v any) string {
	s.Helper()
	b, err := json.Marshal(v)
	s.must(err)
	return string(b)
}

func (s *suite) meta(id string) event.Meta {
	s.Helper()
	m, err := s.store.Meta(s.Context(), id)
	s.must(err)
	return m
}

func (s *suite) list() []event.Meta {
	s.Helper()
	var out []event.Meta
	for m, err := range s.store.List(s.Context()) {
		s.must(err)
		out = append(out, m)
	}
	return out
}
