package filestore

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/thorough"
)

// titled creates a session with n records and sets its title after them.
func titled(t testing.TB, s *Store, id string, n event.Seq) event.Meta {
	t.Helper()
	w := create(t, s, id)
	must(t, w.Append(t.Context(), recordsUpTo(n)...))
	must(t, w.SetMeta(t.Context(), event.Meta{Title: "kept", Prompt: "p"}))
	must(t, w.Close())
	m, err := s.Meta(t.Context(), id)
	must(t, err)
	return m
}

// corrupt checks that an error is a CorruptError with a text.
func corrupt(t testing.TB, err error, says string) {
	t.Helper()
	var damage *event.CorruptError
	if !errors.As(err, &damage) || errors.Is(err, event.ErrNotFound) || !strings.Contains(err.Error(), says) {
		t.Errorf("got error %v, want a CorruptError with %q", err, says)
	}
}

// goneLogs are ways to lose a log, by name.
var goneLogs = map[string]func(path string) error{
	"removed":       os.Remove,
	"emptied":       func(path string) error { return os.Truncate(path, 0) },
	"half a header": func(path string) error { return os.Truncate(path, 20) },
	"zeroes":        func(path string) error { return os.WriteFile(path, make([]byte, 5000), filePerm) },
}

func TestStore_MissingLogIsReported(t *testing.T) {
	for name, lose := range goneLogs {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, Config{})
			saved(t, s, "other", 1)
			want := titled(t, s, "Session", 5)
			must(t, lose(s.path("Session", logName)))
			n := 0
			for m, err := range s.List(t.Context()) {
				if n++; m.ID != "Session" {
					must(t, err)
					continue
				}
				corrupt(t, err, "up to record 5")
				if encode(t, m) != encode(t, want) {
					t.Errorf("listed as %+v", m)
				}
			}
			if n != 2 {
				t.Errorf("%d sessions", n)
			}
			isGoneEverywhere(t, s, "Session", "up to record 5")
		})
	}
}

func TestStore_MissingLogAndDamagedIndexAreReported(t *testing.T) {
	s := newStore(t, Config{})
	saved(t, s, "session", 5)
	must(t, os.Truncate(s.path("session", logName), 0))
	must(t, os.Truncate(s.path("session", indexName), 10))
	for m, err := range s.List(t.Context()) {
		corrupt(t, err, "meta.json cannot be read")
		if m.ID != "session" {
			t.Errorf("listed as %+v", m)
		}
	}
	isGoneEverywhere(t, s, "session", "meta.json cannot be read")
}

// isGoneEverywhere checks all methods on a session without a log, and deletes it.
func isGoneEverywhere(t *testing.T, s *Store, id, says string) {
	t.Helper()
	ctx := t.Context()
	_, err := s.Meta(ctx, id)
	corrupt(t, err, says)
	_, err = s.Open(ctx, id)
	corrupt(t, err, says)
	corrupt(t, s.Export(ctx, id, io.Discard), says)
	for _, after := range []event.Seq{0, 3, 9} {
		records, damage := load(t, s, id, after)
		if len(records) != 0 || len(damage) != 1 {
			t.Fatalf("%d records, damage %v", len(records), damage)
		}
		corrupt(t, damage[0], says)
	}
	r, err := s.Verify(ctx, id)
	if err != nil || len(r.Problems) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	corrupt(t, r.Problems[0], says)
	for _, taken := range []string{id, strings.ToUpper(id)} {
		if _, err := s.Create(ctx, event.Meta{ID: taken}); !errors.Is(err, event.ErrExists) {
			t.Errorf("create %s: %v", taken, err)
		}
	}
	must(t, s.Delete(ctx, id))
	if _, err := s.Meta(ctx, id); !errors.Is(err, event.ErrNotFound) {
		t.Errorf("deleted: %v", err)
	}
	must(t, create(t, s, id).Close())
	clean(t, s, id)
}

func TestStore_IncompleteSessionIsNotFound(t *testing.T) {
	for name, log := range map[string][]byte{"no log": nil, "empty": {}, "half a header": []byte(`{"format":1`)} {
		s := newStore(t, Config{})
		must(t, os.Mkdir(s.path("a"), dirPerm))
		if log != nil {
			writeLogFile(t, s, "a", log)
		}
		for m, err := range s.List(t.Context()) {
			t.Errorf("%s: there is %q, %v", name, m.ID, err)
		}
		_, openErr := s.Open(t.Context(), "a")
		_, metaErr := s.Meta(t.Context(), "a")
		_, verifyErr := s.Verify(t.Context(), "a")
		for _, err := range []error{openErr, metaErr, verifyErr, s.Delete(t.Context(), "a")} {
			if !errors.Is(err, event.ErrNotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, err := range s.Load(t.Context(), "a", 3) {
			if !errors.Is(err, event.ErrNotFound) {
				t.Errorf("%s: load: %v", name, err)
			}
		}
		must(t, create(t, s, "a").Close())
	}
}

// noNames is a disk that cannot flush directories.
type noNames struct{ OS }

func (noNames) SyncDir(string) error { return syscall.EIO }

func TestCreate_LeavesNoIndexAfterAFailure(t *testing.T) {
	dir := t.TempDir()
	s := newStore(t, Config{Dir: dir, FS: noNames{}})
	large := event.Meta{ID: "a", Prompt: strings.Repeat("x", 2*indexStep)} // so large that meta.json is written at once
	if _, err := s.Create(t.Context(), large); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	s = newStore(t, Config{Dir: dir})
	w, err := s.Create(t.Context(), large)
	must(t, err)
	must(t, w.Close())
	clean(t, s, "a")
}

func TestOpen_ContinuesAfterALostEnd(t *testing.T) {
	s := newStore(t, Config{})
	want := titled(t, s, "a", 3)
	whole, index := readLogFile(t, s, "a"), readIndexFile(t, s)
	for size := bytes.IndexByte(whole, '\n') + 1; size < len(whole); size += thorough.Of(5, 13) {
		must(t, os.RemoveAll(s.path("a")))
		must(t, os.Mkdir(s.path("a"), dirPerm))
		must(t, os.WriteFile(s.path("a", indexName), index, filePerm))
		cut := whole[:bytes.LastIndexByte(whole[:size], '\n')+1]
		writeLogFile(t, s, "a", whole[:size])
		reportsLoss(t, s, cut, want)

		w := open(t, s, "a")
		lost := damages(t, s) // from now on
		if len(lost) != 1 || lost[0].Offset != int64(len(cut)) {
			t.Fatalf("cut at %d, opened: %v", size, lost)
		}
		if err := w.Append(t.Context(), record(3)); !errors.Is(err, event.ErrOrder) {
			t.Fatalf("cut at %d: a used number is accepted: %v", size, err)
		}
		w = reopened(t, s, w)
		must(t, w.Append(t.Context(), record(4)))
		must(t, w.Close())
		for range 2 {
			if now := damages(t, s); len(now) != 1 || now[0].Error() != lost[0].Error() {
				t.Fatalf("cut at %d, continued: %v", size, now)
			}
			m, err := s.Meta(t.Context(), "a")
			if err != nil || m.Last != 4 || m.Title != "kept" || m.Prompt != "p" {
				t.Fatalf("cut at %d: %+v, %v", size, m, err)
			}
			must(t, os.RemoveAll(s.path("a", indexName))) // the log alone records the loss
		}
		if now := readLogFile(t, s, "a"); !bytes.HasPrefix(now, cut) {
			t.Fatalf("cut at %d: the rest of the log was changed", size)
		}
	}
}

// reopened closes a writer and opens its session again.
func reopened(t *testing.T, s *Store, w *writer) *writer {
	t.Helper()
	must(t, w.Close())
	return open(t, s, "a")
}

func readIndexFile(t *testing.T, s *Store) []byte {
	t.Helper()
	b, err := os.ReadFile(s.path("a", indexName))
	must(t, err)
	return b
}

// damages returns a session's damage, and checks that Load and Verify agree.
func damages(t *testing.T, s *Store) []*event.CorruptError {
	t.Helper()
	_, damage := load(t, s, "a", 0)
	r, err := s.Verify(t.Context(), "a")
	must(t, err)
	if len(r.Problems) != len(damage) {
		t.Fatalf("verify finds %v, load %v", r.Problems, damage)
	}
	for i, p := range r.Problems {
		if p.Error() != damage[i].Error() {
			t.Fatalf("verify finds %v, load %v", p, damage[i])
		}
	}
	return damage
}

// reportsLoss checks the reports about a log from which only the given part is left.
func reportsLoss(t *testing.T, s *Store, left []byte, want event.Meta) {
	t.Helper()
	records, _ := load(t, s, "a", 0)
	lines := bytes.Count(left, []byte("\n"))
	if len(records) != max(lines-2, 0) {
		t.Fatalf("%d records in %d lines", len(records), lines)
	}
	damage := damages(t, s)
	if len(damage) != 1 || damage[0].Offset != int64(len(left)) || damage[0].Line != lines+1 {
		t.Fatalf("with %d lines left, got damage %v", lines, damage)
	}
	says := "the log has lost its last"
	if len(records) == 3 {
		says = "its last record is intact"
	}
	corrupt(t, damage[0], says)
	if _, damage := load(t, s, "a", 3); damage != nil {
		t.Fatalf("got damage after it: %v", damage)
	}
	if m, err := s.Meta(t.Context(), "a"); err != nil || encode(t, m) != encode(t, want) {
		t.Fatalf("described as %+v, %v", m, err)
	}
	for m, err := range s.List(t.Context()) {
		if err != nil || encode(t, m) != encode(t, want) {
			t.Fatalf("listed as %+v, %v", m, err)
		}
	}
}

func TestOpen_ZeroedEndIsLost(t *testing.T) {
	s := newStore(t, Config{})
	want := titled(t, s, "a", 3)
	log := readLogFile(t, s, "a")
	cut := bytes.LastIndex(log, []byte(`{"seq":3`))
	clear(log[cut:])
	writeLogFile(t, s, "a", log)
	reportsLoss(t, s, log[:cut], want)
	w := open(t, s, "a")
	must(t, w.Append(t.Context(), record(4)))
	must(t, w.Close())
	records, damage := load(t, s, "a", 0)
	if len(records) != 3 || records[2].Seq != 4 || len(damage) != 1 {
		t.Errorf("%d records, damage %v", len(records), damage)
	}
}

func TestOpen_LargeLossTakesNoSpace(t *testing.T) {
	s := newStore(t, Config{})
	w := create(t, s, "a")
	must(t, w.Append(t.Context(), record(1)))
	for seq := event.Seq(2); seq <= 4; seq++ {
		r := record(seq)
		r.Data = event.Warning{Message: strings.Repeat("x", keepSize)}
		must(t, w.Append(t.Context(), r))
	}
	must(t, w.Close())
	log := readLogFile(t, s, "a")
	cut := int64(bytes.Index(log, []byte(`{"seq":2`)))
	must(t, os.Truncate(s.path("a", logName), cut))
	w = open(t, s, "a")
	must(t, w.Append(t.Context(), record(5)))
	must(t, w.Close())
	must(t, os.Remove(s.path("a", indexName)))
	records, damage := load(t, s, "a", 0)
	if len(records) != 2 || records[1].Seq != 5 || len(damage) != 1 || damage[0].Offset != cut {
		t.Fatalf("%d records, damage %v", len(records), damage)
	}
	corrupt(t, damage[0], "records 2 to 4")
	if m, err := s.Meta(t.Context(), "a"); err != nil || m.Last != 5 {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestOpen_LossOnAFullDiskIsReported(t *testing.T) {
	s := newStore(t, Config{})
	titled(t, s, "a", 5)
	log, index := readLogFile(t, s, "a"), readIndexFile(t, s)
	cut := bytes.Index(log, []byte(`{"seq":3`))
	for space := 0; ; space += 23 {
		disk := &faulty{writes: syscall.ENOSPC, space: space, undo: syscall.EIO}
		s := newStore(t, Config{FS: disk})
		must(t, os.Mkdir(s.path("a"), dirPerm))
		must(t, os.WriteFile(s.path("a", indexName), index, filePerm))
		writeLogFile(t, s, "a", log[:cut])
		w, err := s.Open(t.Context(), "a")
		if err == nil {
			must(t, w.Close())
			break
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("%d bytes: %v", space, err)
		}
		disk.set(func() { disk.writes, disk.undo = nil, nil })
		for range 2 {
			if m, err := s.Meta(t.Context(), "a"); err != nil || m.Last != 5 || m.Title != "kept" {
				t.Fatalf("%d bytes: %+v, %v", space, m, err)
			}
			damage := damages(t, s)
			if len(damage) != 1 || damage[0].Offset != int64(cut) {
				t.Fatalf("%d bytes: %v", space, damage)
			}
			corrupt(t, damage[0], "records 3 to 5")
			must(t, open(t, s, "a").Close())
		}
	}
}

func TestImport_LostEndIsReported(t *testing.T) {
	from, to := newStore(t, Config{}), newStore(t, Config{})
	titled(t, from, "a", 5)
	log := readLogFile(t, from, "a")
	writeLogFile(t, from, "a", log[:bytes.Index(log, []byte(`{"seq":3`))])
	var archive bytes.Buffer
	must(t, from.Export(t.Context(), "a", &archive))
	if _, err := to.Import(t.Context(), bytes.NewReader(archive.Bytes()), Import{}); err == nil || !strings.Contains(err.Error(), "records 3 to 5") {
		t.Errorf("%v", err)
	}
	report, err := to.Import(t.Context(), &archive, Import{ID: "b", Damaged: true})
	if err != nil || len(report.Problems) != 1 || report.Records != 2 {
		t.Fatalf("%+v, %v", report, err)
	}
	if m, err := to.Meta(t.Context(), "b"); err != nil || m.ID != "b" || m.Last != 5 || m.Title != "kept" {
		t.Errorf("%+v, %v", m, err)
	}
	if got := readLogFile(t, from, "a"); !bytes.HasPrefix(log, got) {
		t.Error("exporting changed the log")
	}
}

func TestStore_ConcurrentReadersSeeNoLoss(t *testing.T) {
	s := newStore(t, Config{})
	w := create(t, s, "a")
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				for _, err := range s.Load(t.Context(), "a", 0) {
					if err != nil {
						t.Errorf("load: %v", err)
					}
				}
				for _, err := range s.List(t.Context()) {
					if err != nil {
						t.Errorf("list: %v", err)
					}
				}
				if x, err := s.status("a"); err != nil || x.lost.Bytes != 0 {
					t.Errorf("status: %+v, %v", x, err)
				}
				if r, err := s.Verify(t.Context(), "a"); err != nil || !r.Clean() {
					t.Errorf("verify: %v, %v", r.Problems, err)
				}
			}
		})
	}
	for seq := event.Seq(1); seq <= 120; seq++ {
		r := record(seq)
		r.Data = event.Warning{Message: strings.Repeat("x", indexStep/4)}
		must(t, w.Append(t.Context(), r))
		if seq%10 == 0 {
			w = reopened(t, s, w) // writes meta.json
		}
	}
	close(done)
	readers.Wait()
	must(t, w.Close())
}

// order records writes, flushes and renames.
type order struct {
	OS
	mu    sync.Mutex
	calls []string
}

func (o *order) note(what, name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls = append(o.calls, what+" "+filepath.Base(name))
}

func (o *order) OpenFile(name string, flag int, perm os.FileMode) (File, error) {
	f, err := o.OS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return orderFile{f, o, name}, nil
}

func (o *order) Rename(from, to string) error {
	o.note("rename", to)
	return o.OS.Rename(from, to)
}

type orderFile struct {
	File
	order *order
	name  string
}

func (f orderFile) WriteAt(b []byte, off int64) (int, error) {
	f.order.note("write", f.name)
	return f.File.WriteAt(b, off)
}

func (f orderFile) Sync() error {
	err := f.File.Sync()
	f.order.note("flush", f.name)
	return err
}

func TestWriter_FlushesTheLogBeforeTheIndex(t *testing.T) {
	disk := &order{}
	s := newStore(t, Config{FS: disk, Now: func() time.Time { return time.Unix(1, 0) }})
	w := create(t, s, "a")
	for seq := event.Seq(1); seq <= 6; seq++ {
		r := record(seq)
		r.Data = event.Warning{Message: strings.Repeat("x", indexStep)}
		must(t, w.Append(t.Context(), r))
	}
	must(t, w.Close())
	flushed, renames := false, 0
	for _, call := range disk.calls {
		switch call {
		case "write " + logName:
			flushed = false
		case "flush " + logName:
			flushed = true
		case "rename " + indexName:
			if renames++; !flushed {
				t.Errorf("meta.json was written before the log was flushed: %v", disk.calls)
			}
		}
	}
	if renames < 2 {
		t.Errorf("meta.json was written %d times", renames)
	}
}
