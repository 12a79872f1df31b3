package event

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Each file in testdata/records-*.jsonl holds one record per kind, as a release wrote it. The files must not change:
// logs are read for ever. To add a file for the present format, encode the examples in sections().
func TestRecords_OfOlderReleasesAreRead(t *testing.T) {
	files, err := filepath.Glob("testdata/records-*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %v, %v", files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			var r Record
			if err := json.Unmarshal(line, &r); err != nil {
				t.Errorf("%s: %v in %s", file, err, line)
				continue
			}
			if _, unknown := r.Data.(Unknown); unknown {
				t.Errorf("%s: unknown kind in %s", file, line)
			}
			now, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			var old, read any
			if json.Unmarshal(line, &old) != nil || json.Unmarshal(now, &read) != nil || !has(read, old) {
				t.Errorf("%s: read as\n%s\nwant at least\n%s", file, now, line)
			}
		}
	}
}

// has reports whether a JSON value has all members that another value has, with equal values.
func has(got, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		have, ok := got.(map[string]any)
		for name, v := range want {
			ok = ok && has(have[name], v)
		}
		return ok
	case []any:
		have, ok := got.([]any)
		ok = ok && len(have) == len(want)
		for i := range want {
			ok = ok && has(have[i], want[i])
		}
		return ok
	}
	return got == want
}
