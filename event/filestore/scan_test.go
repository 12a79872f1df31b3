package filestore

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

func TestScanIndex_ReadsWhatIsWritten(t *testing.T) {
	cost := 1.25
	now := time.Date(2026, 11, 19, 1, 2, 3, 4, time.UTC)
	for _, m := range []event.Meta{
		{ID: "a", Created: now, Updated: now},
		{
			ID:       "b \"\u2028 日本",
			Title:    "<title> & more",
			Prompt:   "line\nline\t\x1b",
			Summary:  "s",
			Tags:     []string{"x", "y"},
			Provider: "p",
			Model:    "m",
			Dir:      `C:\dir`,
			Branch:   "main",
			Parent:   "a",
			ForkedAt: 7,
			Imported: 9,
			Created:  now,
			Updated:  now.Add(time.Hour),
			Last:     12,
			Turns:    3,
			Usage:    llm.Usage{Input: 5, Output: 6, Tier: "flex", Raw: json.RawMessage(`{"a":[1]}`)},
			Cost:     &cost,
		},
	} {
		want := index{Format: format, Size: 100, Lines: 4, Meta: m}
		b, err := json.Marshal(want)
		must(t, err)
		got, ok := scanIndex(b)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(index{})); !ok || diff != "" {
			t.Errorf("%s: read %v (-written +read):\n%s", b, ok, diff)
		}
	}
}

func FuzzScanIndex_AgreesWithEncodingJSON(f *testing.F) {
	f.Add([]byte(`{"format":1,"log_size":2,"log_lines":3,"meta":{"id":"a","tags":[],"created":"2026-11-19T01:02:03Z",` +
		`"updated":"2026-11-19T01:02:03Z","last":1,"turns":0,"usage":{"input_tokens":1,"output_tokens":2,"reasoning_tokens":3,"cache_read_tokens":4,` +
		`"cache_write_tokens":5,"searches":6,"raw":{"a":[1]}},"cost":0.25}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, ok := scanIndex(b)
		if !ok {
			return
		}
		var want index
		if err := json.Unmarshal(b, &want); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(index{})); diff != "" {
			t.Errorf("%s (-encoding/json +scan):\n%s", b, diff)
		}
	})
}
