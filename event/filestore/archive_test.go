package filestore

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
)

// exported returns an archive with a session that has three records, a title and two blobs.
func exported(t testing.TB, s *Store) []byte {
	t.Helper()
	w := create(t, s, "a")
	must(t, w.SetMeta(t.Context(), event.Meta{Title: "t"}))
	must(t, w.Append(t.Context(), recordsUpTo(3)...))
	for _, blob := range []string{"one", "two"} {
		_, _, err := w.PutBlob(t.Context(), strings.NewReader(blob))
		must(t, err)
	}
	var out bytes.Buffer
	must(t, s.Export(t.Context(), "a", &out)) // while it is open
	must(t, w.Close())
	return out.Bytes()
}

func TestImport_RestoresAnExport(t *testing.T) {
	from, to := newStore(t, Config{}), newStore(t, Config{})
	archive := exported(t, from)
	for _, how := range []Import{{}, {ID: "Other"}} {
		report, err := to.Import(t.Context(), bytes.NewReader(archive), how)
		must(t, err)
		id := report.Session
		holds(t, to, id, 3)
		if r := clean(t, to, id); r.Blobs != 2 || r.BlobSize != 6 || report.Records != 3 {
			t.Errorf("verify: got %+v, want %+v", r, report)
		}
		if m, err := to.Meta(t.Context(), id); err != nil || m.Title != "t" || m.ID != id || m.Last != 3 {
			t.Errorf("%+v, %v", m, err)
		}
		w := open(t, to, id)
		must(t, w.Append(t.Context(), record(4)))
		must(t, w.Close())
		holds(t, to, id, 4)
		if _, err := to.Import(t.Context(), bytes.NewReader(archive), how); !errors.Is(err, event.ErrExists) {
			t.Errorf("a second time: %v", err)
		}
	}
	holds(t, from, "a", 3)
}

func TestImport_DamageIsRefusedUnlessAllowed(t *testing.T) {
	archive := exported(t, newStore(t, Config{}))
	for _, part := range []string{"number 2", "two"} {
		bad := bytes.Replace(archive, []byte(part), []byte(strings.ToUpper(part)), 1)
		to := newStore(t, Config{})
		report, err := to.Import(t.Context(), bytes.NewReader(bad), Import{})
		if err == nil || len(report.Problems) != 1 {
			t.Errorf("%s: %v, %v", part, report.Problems, err)
		}
		empty(t, to)
		report, err = to.Import(t.Context(), bytes.NewReader(bad), Import{Damaged: true})
		if err != nil || len(report.Problems) != 1 || report.Records+report.Blobs != 4 {
			t.Errorf("%s: %+v, %v", part, report, err)
		}
	}
}

func empty(t *testing.T, s *Store) {
	t.Helper()
	for m, err := range s.List(t.Context()) {
		t.Errorf("got session %q and %v, want none", m.ID, err)
	}
	if entries, _ := os.ReadDir(s.path(".staging")); len(entries) != 0 {
		t.Errorf("files remain: %v", entries)
	}
}

func TestImport_TruncatedArchiveIsRefused(t *testing.T) {
	archive := exported(t, newStore(t, Config{}))
	to := newStore(t, Config{})
	for size := 0; size < len(archive)-3*512; size += 97 { // the archive ends in a blob and two empty blocks
		if _, err := to.Import(t.Context(), bytes.NewReader(archive[:size]), Import{}); err == nil {
			t.Fatalf("the first %d of %d bytes were accepted", size, len(archive))
		}
		empty(t, to)
	}
}

func TestImport_NamesAreNotUsedAsPaths(t *testing.T) {
	archive := exported(t, newStore(t, Config{}))
	outside := filepath.Join(t.TempDir(), "evil")
	for _, name := range []string{"../evil", outside, "blobs/../../evil", "blobs/x", "log.jsonl", "torn.jsonl"} {
		var out bytes.Buffer
		w := tar.NewWriter(&out)
		r := tar.NewReader(bytes.NewReader(archive))
		for h, err := r.Next(); err == nil; h, err = r.Next() {
			must(t, w.WriteHeader(h))
			_, err := io.Copy(w, r)
			must(t, err)
		}
		must(t, w.WriteHeader(&tar.Header{Name: name, Size: 1}))
		_, err := w.Write([]byte("x"))
		must(t, errors.Join(err, w.Close()))
		to := newStore(t, Config{})
		if _, err := to.Import(t.Context(), &out, Import{}); err == nil || !strings.Contains(err.Error(), "unexpected file") {
			t.Errorf("%s: %v", name, err)
		}
		empty(t, to)
	}
	if _, err := os.Lstat(outside); err == nil {
		t.Errorf("%s was written", outside)
	}
}

// rawHeader returns a tar header that the tar package would not write.
func rawHeader(name string, kind byte, size int, magic string, rest map[int]string) []byte {
	b := make([]byte, 512)
	put := func(at int, text string) { copy(b[at:], text) }
	put(0, name)
	put(100, "0000600\x000000000\x000000000\x00")
	put(124, fmt.Sprintf("%011o\x0000000000000\x00        ", size))
	b[156] = kind
	put(257, magic)
	for at, text := range rest {
		put(at, text)
	}
	sum := 0
	for _, c := range b {
		sum += int(c)
	}
	put(148, fmt.Sprintf("%06o\x00 ", sum))
	return b
}

func TestImport_SparseFilesAndLinksAreRefused(t *testing.T) {
	archive := exported(t, newStore(t, Config{}))
	first, err := tar.NewReader(bytes.NewReader(archive)).Next()
	must(t, err)
	start := archive[:512+(first.Size+511)/512*512]
	const huge = 1 << 32
	pax := ""
	for _, r := range []string{"GNU.sparse.major=1", "GNU.sparse.minor=0", "GNU.sparse.name=log.jsonl", fmt.Sprintf("GNU.sparse.realsize=%d", huge)} {
		pax += fmt.Sprintf("%d %s\n", len(r)+4, r)
	}
	block := func(text string) []byte { return append([]byte(text), make([]byte, 512-len(text))...) }
	for kind, log := range map[string][]byte{
		"old": rawHeader(logName, 'S', 0, "ustar  \x00", map[int]string{
			386: fmt.Sprintf("%011o\x00%011o\x00", huge, 0), 483: fmt.Sprintf("%011o\x00", huge)}),
		"new": slices.Concat(rawHeader("x", 'x', len(pax), "ustar\x0000", nil), block(pax),
			rawHeader(logName, '0', 512, "ustar\x0000", nil), block(fmt.Sprintf("1\n%d\n0\n", huge))),
		"link": rawHeader(logName, '2', 0, "ustar\x0000", map[int]string{157: filepath.Join(t.TempDir(), "x")}),
	} {
		to := newStore(t, Config{})
		_, err := to.Import(t.Context(), bytes.NewReader(slices.Concat(start, log, make([]byte, 1024))), Import{})
		if err == nil || !strings.Contains(err.Error(), `"log.jsonl" is `) {
			t.Errorf("%s: %v", kind, err)
		}
		empty(t, to)
	}
}

func TestImport_EndsWithTheContext(t *testing.T) {
	archive := exported(t, newStore(t, Config{}))
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	to := newStore(t, Config{})
	in := io.MultiReader(bytes.NewReader(archive[:2048]), readerFunc(func(p []byte) (int, error) {
		cancel(stopped)
		return copy(p, archive[2048:2049]), nil // and so on without end
	}))
	if _, err := to.Import(ctx, in, Import{}); !errors.Is(err, stopped) {
		t.Error(err)
	}
	empty(t, to)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestImport_IDOfAnArchiveIsChecked(t *testing.T) {
	archive := exported(t, newStore(t, Config{}))
	to := newStore(t, Config{})
	if _, err := to.Import(t.Context(), bytes.NewReader(archive), Import{ID: "../x"}); !errors.Is(err, event.ErrBadID) {
		t.Error(err)
	}
}

func FuzzImport(f *testing.F) {
	f.Add(exported(f, newStore(f, Config{})))
	f.Add([]byte("x"))
	f.Fuzz(func(t *testing.T, archive []byte) {
		s := newStore(t, Config{})
		report, err := s.Import(t.Context(), bytes.NewReader(archive), Import{ID: "a"})
		if err != nil {
			return
		}
		if r := clean(t, s, "a"); r.Records != report.Records {
			t.Errorf("%+v, then %+v", report, r)
		}
	})
}

// forged returns an archive with a session that has three records from the year 2999 and a directory.
func forged(t *testing.T) []byte {
	t.Helper()
	future := time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)
	s := newStore(t, Config{Now: func() time.Time { return future }})
	w, err := s.Create(t.Context(), event.Meta{ID: "a", Dir: "/here", Created: future, Imported: 1})
	must(t, err)
	for _, r := range recordsUpTo(3) {
		r.Time = future
		must(t, w.Append(t.Context(), r))
	}
	must(t, w.SetMeta(t.Context(), event.Meta{Title: "t", Dir: "/here"}))
	must(t, w.Close())
	var out bytes.Buffer
	must(t, s.Export(t.Context(), "a", &out))
	return out.Bytes()
}

func TestAttack_ImportedSessionIsMarkedAndNotFromTheFuture(t *testing.T) {
	now := time.Date(2026, 11, 16, 6, 0, 0, 0, time.UTC)
	s := newStore(t, Config{Now: func() time.Time { return now }})
	_, err := s.Import(t.Context(), bytes.NewReader(forged(t)), Import{})
	must(t, err)
	check := func(what string, foreign bool, last event.Seq) {
		t.Helper()
		m, err := s.Meta(t.Context(), "a")
		must(t, err)
		if m.Created.After(now) || m.Updated.After(now) || m.Foreign() != foreign || m.Imported != 4 || m.Last != last || m.Title != "t" {
			t.Errorf("%s: %+v", what, m)
		}
	}
	check("imported", true, 3)
	must(t, os.Remove(s.path("a", indexName)))
	check("without an index", true, 3)
	records, damage := load(t, s, "a", 0)
	if len(records) != 3 || damage != nil {
		t.Fatalf("got %d records, damage %v", len(records), damage)
	}
	for _, r := range records {
		if !r.Time.Equal(now) {
			t.Errorf("record %d is from %v, want %v", r.Seq, r.Time, now)
		}
	}
	clean(t, s, "a")

	w := open(t, s, "a")
	must(t, w.SetMeta(t.Context(), event.Meta{Title: "t", Imported: 1}))
	check("renamed", true, 3)
	must(t, w.Append(t.Context(), record(4)))
	check("continued", false, 4)
	must(t, w.Close())
	fork, err := event.Fork(t.Context(), s, "a", 2, event.Meta{ID: "early"})
	if err != nil || !fork.Foreign() {
		t.Errorf("a fork of imported records: %+v, %v", fork, err)
	}
	if fork, err = event.Fork(t.Context(), s, "a", 0, event.Meta{ID: "late"}); err != nil || fork.Foreign() {
		t.Errorf("a fork of the continued session: %+v, %v", fork, err)
	}
}

func TestImport_SizeIsLimited(t *testing.T) {
	archive := exported(t, newStore(t, Config{}))
	to := newStore(t, Config{})
	size := int64(len(archive))
	for _, limit := range []int64{1, 512, 5000, size / 2} {
		if _, err := to.Import(t.Context(), bytes.NewReader(archive), Import{MaxSize: limit}); !errors.Is(err, ErrTooLarge) {
			t.Errorf("with a limit of %d bytes: %v", limit, err)
		}
		empty(t, to)
	}
	if _, err := to.Import(t.Context(), bytes.NewReader(archive), Import{MaxSize: size}); err != nil {
		t.Error(err)
	}
	if DefaultMaxSize != 1_073_741_824 {
		t.Errorf("the default limit is %d", DefaultMaxSize)
	}
}

// TestAttack_ArchiveOfDamagedLinesNeedsLittleMemory imports a log of empty lines, each of which is a problem.
func TestAttack_ArchiveOfDamagedLinesNeedsLittleMemory(t *testing.T) {
	archive := exported(t, newStore(t, Config{}))
	var out bytes.Buffer
	w, r := tar.NewWriter(&out), tar.NewReader(bytes.NewReader(archive))
	for h, err := r.Next(); err == nil; h, err = r.Next() {
		data, err := io.ReadAll(r)
		must(t, err)
		if h.Name == logName {
			data = append(data, bytes.Repeat([]byte("\n"), 1<<20)...)
			h.Size = int64(len(data))
		}
		must(t, w.WriteHeader(h))
		_, err = w.Write(data)
		must(t, err)
	}
	must(t, w.Close())
	to := newStore(t, Config{})
	report, err := to.Import(t.Context(), &out, Import{Damaged: true})
	if err == nil || !strings.Contains(err.Error(), "more than 10000 problems") || len(report.Problems) > 10_001 {
		t.Errorf("got %v and %d problems", err, len(report.Problems))
	}
	empty(t, to)
}
