//go:build unix

package filestore

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestList_DoesNotBlockOnAFIFO(t *testing.T) {
	for _, name := range []string{logName, indexName} {
		s := newStore(t, Config{})
		saved(t, s, "a", 3)
		saved(t, s, "b", 3)
		must(t, os.Remove(s.path("a", name)))
		must(t, unix.Mkfifo(s.path("a", name), 0o600))
		described, failed := 0, 0
		for m, err := range s.List(t.Context()) {
			switch {
			case err == nil:
				described++
			case m.ID == "a" && errors.Is(err, errNotRegular):
				failed++
			default:
				t.Error(err)
			}
		}
		want := 2 // the log has everything in meta.json
		if name == logName {
			want = 1
		}
		if described != want || failed != 2-want {
			t.Errorf("%s: got %d sessions and %d errors", name, described, failed)
		}
		if _, err := s.Open(t.Context(), "a"); name == logName && !errors.Is(err, errNotRegular) {
			t.Errorf("%s: %v", name, err)
		}
		_, err := s.Verify(t.Context(), "a")
		if (name == logName) != (err != nil) {
			t.Errorf("%s: verify: %v", name, err)
		}
	}
}

func TestOpenBlob_DoesNotBlockOnAFIFO(t *testing.T) {
	s := newStore(t, Config{})
	w := create(t, s, "a")
	defer w.Close()
	must(t, os.MkdirAll(s.path("a", blobsName), dirPerm))
	hash := "0000000000000000000000000000000000000000000000000000000000000000"
	must(t, unix.Mkfifo(s.path("a", blobsName, hash), 0o600))
	if _, err := s.OpenBlob(t.Context(), "a", hash); !errors.Is(err, errNotRegular) {
		t.Error(err)
	}
}
