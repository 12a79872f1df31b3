package filestore

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/reins-agent/reins/event"
)

// fixture unpacks a session in a released format. Its file in testdata must not change.
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

func TestFormat_EveryReleasedFormatIsRead(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "format*.txtar"))
	must(t, err)
	if len(files) != format {
		t.Fatalf("%d fixtures for %d formats", len(files), format)
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

// again decodes a value and encodes it again, which may add new members.
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

func TestFormat_NewerFormatIsRefused(t *testing.T) {
	s := newStore(t, Config{})
	saved(t, s, "a", 2)
	log, err := appendJSON(readLogFile(t, s, "a"), header{2, "a"})
	must(t, err)
	writeLogFile(t, s, "a", log)
	_, err = s.Meta(t.Context(), "a")
	if err == nil || !strings.Contains(err.Error(), "format 2") {
		t.Errorf("Meta returns %v, want an error about format 2", err)
	}
	if _, err := s.Open(t.Context(), "a"); err == nil {
		t.Error("Open does not refuse it")
	}
	records, _, err := tryLoad(t, s)
	if err == nil || len(records) != 2 {
		t.Errorf("Load returns %d records and %v, want 2 and an error", len(records), err)
	}
}
