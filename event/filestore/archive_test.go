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

	"github.com/reins-agent/reins/event"
)

// exported returns the archive of a session with three records, a title and two blobs.
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
	for size := 0; size < len(archive)-3*512; size += 97 { // which ends in a blob and two blocks of nothing
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
