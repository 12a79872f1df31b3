package filestore

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/tool"
)

func TestLoad_DamagedRecordIsReportedAndSkipped(t *testing.T) {
	s := newStore(t, Config{})
	saved(t, s, "a", 5)
	log := readLogFile(t, s, "a")
	at := bytes.Index(log, []byte("number 3"))
	log[at] = 'N'
	writeLogFile(t, s, "a", log)
	records, damage := load(t, s, "a", 0)
	if len(records) != 4 || len(damage) != 1 {
		t.Fatalf("%d records, damage %v", len(records), damage)
	}
	start := int64(bytes.LastIndexByte(log[:at], '\n') + 1)
	if d := damage[0]; d.Line != 5 || d.Offset != start || d.Session != "a" {
		t.Errorf("the damage is at %+v, want line 5 at byte %d", d, start)
	}
	if _, damage := load(t, s, "a", 3); damage != nil {
		t.Errorf("got damage after it: %v", damage)
	}
	r, err := s.Verify(t.Context(), "a")
	if err != nil || r.Clean() || r.Records != 4 || r.Last != 5 {
		t.Errorf("verify: %+v, %v", r, err)
	}
	w := open(t, s, "a") // the rest is usable
	must(t, w.Append(t.Context(), record(6)))
	must(t, w.Close())
	if now := readLogFile(t, s, "a"); !bytes.HasPrefix(now, log) {
		t.Error("the log was changed")
	}
}

func TestOpen_DamagedLastRecordKeepsItsNumber(t *testing.T) {
	s := newStore(t, Config{})
	saved(t, s, "a", 3)
	log := readLogFile(t, s, "a")
	writeLogFile(t, s, "a", bytes.Replace(log, []byte("number 3"), []byte("number X"), 1))
	must(t, os.Remove(s.path("a", indexName)))
	w := open(t, s, "a")
	must(t, w.Append(t.Context(), record(4)))
	must(t, w.Close())
	records, damage := load(t, s, "a", 0)
	if len(records) != 3 || len(damage) != 1 || records[2].Seq != 4 {
		t.Errorf("%d records, damage %v", len(records), damage)
	}
}

func TestLoad_MissingRepeatedAndUnorderedRecordsAreReported(t *testing.T) {
	s := newStore(t, Config{})
	saved(t, s, "a", 5)
	must(t, os.Remove(s.path("a", indexName)))                        // it names a longer log
	lines := strings.SplitAfter(string(readLogFile(t, s, "a")), "\n") // record n is at n+1
	for name, test := range map[string]struct {
		lines []string
		want  string
		n     int
	}{
		"missing":    {[]string{lines[0], lines[1], lines[2], lines[5], lines[6]}, "records 2 to 3", 3},
		"doubled":    {[]string{lines[0], lines[1], lines[2], lines[2], lines[3]}, "record 1 follows record 1", 2},
		"disordered": {[]string{lines[0], lines[1], lines[2], lines[3], lines[2]}, "record 1 follows record 2", 2},
	} {
		writeLogFile(t, s, "a", []byte(strings.Join(test.lines, "")))
		records, damage := load(t, s, "a", 0)
		if len(records) != test.n || len(damage) != 1 || !strings.Contains(damage[0].Error(), test.want) {
			t.Errorf("%s: %d records, damage %v", name, len(records), damage)
		}
	}
}

func TestIndex_DamagedOrMissingIsRebuiltFromTheLog(t *testing.T) {
	s := newStore(t, Config{})
	saved(t, s, "a", 5)
	w := open(t, s, "a")
	must(t, w.SetMeta(t.Context(), event.Meta{Title: "kept"}))
	must(t, w.Close())
	want, err := s.Meta(t.Context(), "a")
	must(t, err)
	sound, err := os.ReadFile(s.path("a", indexName))
	must(t, err)
	for i := range sound {
		bad := bytes.Clone(sound)
		bad[i] ^= 1
		must(t, os.WriteFile(s.path("a", indexName), bad, filePerm))
		got, err := s.Meta(t.Context(), "a")
		if err != nil || got.Title != "kept" || got.Last != 5 || !got.Updated.Equal(want.Updated) || !got.Created.Equal(want.Created) {
			t.Fatalf("byte %d: %+v, %v", i, got, err)
		}
	}
	must(t, os.Remove(s.path("a", indexName)))
	for got, err := range s.List(t.Context()) {
		if err != nil || got.Title != "kept" || got.Last != 5 {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// TestLoad_DamageIsNeverSilent checks that Load returns only records that were saved, and reports every loss, whatever
// happens to a log's bytes.
func TestLoad_DamageIsNeverSilent(t *testing.T) {
	s := newStore(t, Config{})
	const n = 8
	saved(t, s, "a", n)
	sound := readLogFile(t, s, "a")
	rapid.Check(t, func(rt *rapid.T) {
		log := bytes.Clone(sound)
		for range rapid.IntRange(1, 4).Draw(rt, "changes") {
			log = damage(rt, log)
		}
		must(t, os.WriteFile(s.path("a", logName), log, filePerm))
		records, reports, err := tryLoad(t, s)
		if err != nil {
			return // refused as a whole, which is a report
		}
		last := event.Seq(0)
		for _, r := range records {
			if r.Seq <= last || r.Seq > n || !same(r, record(r.Seq)) {
				rt.Fatalf("got record %+v after %d", r, last)
			}
			last = r.Seq
		}
		if len(records) < n && len(reports) == 0 {
			rt.Fatalf("got %d of %d records and no error", len(records), n)
		}
		report, err := s.Verify(t.Context(), "a")
		if len(records) < n && err == nil && report.Clean() {
			rt.Fatalf("got %d of %d records, and verify reports %+v", len(records), n, report)
		}
	})
}

func tryLoad(t *testing.T, s *Store) (records []event.Record, reports []error, err error) {
	for r, err := range s.Load(t.Context(), "a", 0) {
		switch err.(type) {
		case nil:
			records = append(records, r)
		case *event.CorruptError:
			reports = append(reports, err)
		default:
			return records, reports, err
		}
	}
	return records, reports, nil
}

// damage changes, removes, repeats or adds bytes.
func damage(t *rapid.T, log []byte) []byte {
	if len(log) == 0 {
		return log
	}
	at := rapid.IntRange(0, len(log)-1).Draw(t, "at")
	end := min(len(log), at+rapid.IntRange(1, 300).Draw(t, "size"))
	switch rapid.IntRange(0, 4).Draw(t, "sort") {
	case 0:
		log[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
		return log
	case 1:
		return append(log[:at:at], log[end:]...)
	case 2:
		return append(log[:end:end], log[at:]...)
	case 3:
		clear(log[at:end])
		return log
	}
	return append(append(log[:at:at], rapid.SliceOfN(rapid.Byte(), 1, 50).Draw(t, "bytes")...), log[at:]...)
}

func TestVerify_MissingBlobIsReported(t *testing.T) {
	dir := t.TempDir()
	s, err := New(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Create(t.Context(), event.Meta{ID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	large := event.Record{Seq: 1, Time: time.Now(), Data: event.ToolCallEnd{ID: "c", Output: tool.Text(strings.Repeat("x", 100_000))}}
	if err := errors.Join(event.Save(t.Context(), w, large), w.Close()); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Verify(t.Context(), "a"); err != nil || len(r.Problems) != 0 || r.Blobs != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "a", "blobs")); err != nil {
		t.Fatal(err)
	}
	r, err := s.Verify(t.Context(), "a")
	if err != nil || len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Error(), "of record 1 is missing") {
		t.Errorf("%+v, %v", r, err)
	}
}
