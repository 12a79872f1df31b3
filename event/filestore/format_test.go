package filestore

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/reins-agent/reins/event"
)

// fixture unpacks a session of a released format. The files in testdata are never changed: they
// are what users have.
func fixture(t *testing.T, s *Store, name string) (want string) {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", name))
	must(t, err)
	for _, f := range archive.Files {
		if f.Name == "want" {
			want = string(f.Data)
			continue
		}
		path := filepath.Join(s.dir, f.Name)
		must(t, os.MkdirAll(filepath.Dir(path), dirPerm))
		must(t, os.WriteFile(path, f.Data, filePerm))
	}
	return want
}

func TestFormat_EveryReleasedOneIsRead(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "format*.txtar"))
	must(t, err)
	if len(files) != Format {
		t.Fatalf("there are %d fixtures for %d formats", len(files), Format)
	}
	for _, file := range files {
		s := newStore(t, Config{})
		want := fixture(t, s, filepath.Base(file))
		clean(t, s, "Example-1")
		lines := strings.Split(strings.TrimSpace(want), "\n")
		m, err := s.Meta(t.Context(), "Example-1")
		must(t, err)
		if got := again[event.Meta](t, lines[0]); got != encode(t, m) {
			t.Errorf("%s is described as\n%s\nwant\n%s", file, encode(t, m), got)
		}
		records, damage := load(t, s, "Example-1", 0)
		if len(records) != len(lines)-1 || damage != nil {
			t.Fatalf("%s has %d records, want %d; damage %v", file, len(records), len(lines)-1, damage)
		}
		for i, r := range records {
			if want := again[event.Record](t, lines[i+1]); encode(t, r) != want {
				t.Errorf("%s has a record\n%s\nwant\n%s", file, encode(t, r), want)
			}
		}
		w := open(t, s, "Example-1")
		next := record(m.Last + 1)
		must(t, w.Append(t.Context(), next))
		must(t, w.Close())
		clean(t, s, "Example-1")
	}
}

// again is the JSON form that a value has now, which may have more in it than it used to have.
func again[T any](t *testing.T, old string) string {
	t.Helper()
	var v T
	must(t, json.Unmarshal([]byte(old), &v))
	return encode(t, v)
}

func encode(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	must(t, err)
	return string(b)
}

// A later version, whose warnings are called notices and whose sessions have no title but a name.
func later2() formats {
	swap := func(from, to string) func(json.RawMessage) (json.RawMessage, error) {
		return func(raw json.RawMessage) (json.RawMessage, error) {
			return bytes.Replace(raw, []byte(from), []byte(to), 1), nil
		}
	}
	return formats{{record: swap(`"kind":"WARNING"`, `"kind":"NOTICE"`), meta: swap(`"title":`, `"summary":`)}}
}

func TestFormat_OldLogIsMigratedAndGoesOnInTheNewOne(t *testing.T) {
	s := newStore(t, Config{})
	w := create(t, s, "a")
	must(t, w.SetMeta(t.Context(), event.Meta{Title: "t"}))
	must(t, w.Append(t.Context(), recordsUpTo(2)...))
	must(t, w.Close())
	old := readLogFile(t, s, "a")

	s.formats = later2()
	w = open(t, s, "a")
	must(t, w.Append(t.Context(), record(3)))
	must(t, w.Close())
	got, damage := load(t, s, "a", 0)
	kinds := ""
	for _, r := range got {
		kinds += string(r.Kind()) + " "
	}
	if kinds != "NOTICE NOTICE WARNING " || damage != nil {
		t.Errorf("%s, damage %v", kinds, damage)
	}
	for range 2 {
		if m, err := s.Meta(t.Context(), "a"); err != nil || m.Summary != "t" || m.Title != "" || m.Last != 3 {
			t.Errorf("%+v, %v", m, err)
		}
		must(t, os.RemoveAll(s.path("a", indexName)))
	}
	if r := clean(t, s, "a"); r.Format != 2 {
		t.Errorf("%+v", r)
	}
	if !bytes.HasPrefix(readLogFile(t, s, "a"), old) {
		t.Error("what was written was changed")
	}

	s.formats = released
	_, err := s.Meta(t.Context(), "a")
	if err == nil || !strings.Contains(err.Error(), "format 2") {
		t.Errorf("the old version says %v", err)
	}
	if _, err := s.Open(t.Context(), "a"); err == nil {
		t.Error("the old version writes to it")
	}
	records, _, err := tryLoad(t, s)
	if err == nil || len(records) != 2 {
		t.Errorf("the old version loads %d records and says %v", len(records), err)
	}
}
