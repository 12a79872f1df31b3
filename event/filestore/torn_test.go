package filestore

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/thorough"
)

func TestOpen_ContinuesALogTornAtAnyByte(t *testing.T) {
	s := newStore(t, Config{})
	saved(t, s, "a", 2)
	whole := readLogFile(t, s, "a")
	chosen := thorough.OneIn(3)
	for size := range len(whole) {
		if end := size == len(whole)-1 || whole[max(size-1, 0)] == '\n'; !chosen(size) && !end {
			continue
		}
		must(t, os.RemoveAll(s.path("a")))
		must(t, os.Mkdir(s.path("a"), dirPerm))
		writeLogFile(t, s, "a", whole[:size])
		if header := bytes.IndexByte(whole, '\n') + 1; size%2 == 0 && size >= header {
			must(t, s.writeIndex(s.path("a"), index{Size: int64(header), Lines: 1, Meta: event.Meta{ID: "a"}}))
		}
		goOn(t, s, whole[:size])
	}
}

// goOn continues a session whose log was truncated.
func goOn(t *testing.T, s *Store, cut []byte) {
	t.Helper()
	lines := bytes.Count(cut, []byte("\n"))
	if lines == 0 { // incomplete
		must(t, create(t, s, "a").Close())
		holds(t, s, "a", 0)
		return
	}
	n := event.Seq(max(lines-2, 0)) // the others are a header and a description
	holds(t, s, "a", n)
	torn := cut[bytes.LastIndexByte(cut, '\n')+1:]
	if r := clean(t, s, "a"); r.Torn != int64(len(torn)) {
		t.Fatalf("cut at %d: %d bytes are reported as torn, want %d", len(cut), r.Torn, len(torn))
	}
	w := open(t, s, "a")
	must(t, w.Append(t.Context(), record(n+1)))
	must(t, w.Close())
	holds(t, s, "a", n+1)
	if r := clean(t, s, "a"); r.Torn != 0 {
		t.Fatalf("%d bytes are still torn", r.Torn)
	}
	if kept := keptTorn(t, s); !bytes.Equal(kept, torn) {
		t.Fatalf("cut at %d: torn.jsonl has %q, want %q", len(cut), kept, torn)
	}
}

// keptTorn returns the content of torn.jsonl.
func keptTorn(t *testing.T, s *Store) []byte {
	t.Helper()
	b, err := os.ReadFile(s.path("a", tornName))
	if os.IsNotExist(err) {
		return nil
	}
	must(t, err)
	var line tornLine
	must(t, json.Unmarshal(b, &line))
	return line.Bytes
}

func TestOpen_ZeroesAtTheEndAreTorn(t *testing.T) {
	s := newStore(t, Config{})
	saved(t, s, "a", 3)
	writeLogFile(t, s, "a", append(readLogFile(t, s, "a"), make([]byte, 4096)...))
	holds(t, s, "a", 3)
	w := open(t, s, "a")
	must(t, w.Append(t.Context(), record(4)))
	must(t, w.Close())
	holds(t, s, "a", 4)
	clean(t, s, "a")
}
