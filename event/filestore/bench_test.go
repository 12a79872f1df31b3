package filestore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// typical is a record as they come in a session of some length.
func typical(seq event.Seq) event.Record {
	r := event.Record{Seq: seq, Time: time.Unix(int64(seq), 0).UTC(), Session: "a"}
	code := strings.Repeat("func main() {\n\tfmt.Println(\"hello, world\")\n}\n", 20)
	switch seq % 4 {
	case 0:
		r.Data = event.ToolCallStart{ID: fmt.Sprint("call", seq), Name: "read_file", Arguments: []byte(`{"file_path":"main.go","offset":0,"limit":200}`)}
	case 1:
		r.Data = event.ToolCallEnd{ID: fmt.Sprint("call", seq), Name: "read_file", Output: tool.Text(code), Model: code}
	case 2:
		r.Data = event.TextEnd{Call: int(seq), Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: code[:len(code)/4]}, llm.ToolCall{ID: "c", Name: "read_file", Arguments: `{"file_path":"main.go"}`}}}}
	default:
		r.Data = event.ModelCallEnd{Call: int(seq), Model: "m", Usage: llm.Usage{Input: 1000, Output: 100}, Duration: time.Second}
	}
	return r
}

// floor is what the disk takes to write and flush the same bytes, in the middle of all tries.
func floor(b *testing.B, size int) time.Duration {
	f, err := os.Create(filepath.Join(b.TempDir(), "floor"))
	must(b, err)
	defer f.Close()
	var took []time.Duration
	for range 200 {
		start := time.Now()
		_, err := f.Write(make([]byte, size))
		must(b, err)
		must(b, f.Sync())
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return took[len(took)/2]
}

func BenchmarkAppend_One(b *testing.B) {
	s := newStore(b, Config{})
	w := create(b, s, "a")
	defer w.Close()
	r := typical(2)
	object, err := r.MarshalJSON()
	must(b, err)
	least := floor(b, len(object))
	var took []time.Duration
	for b.Loop() {
		r.Seq = event.Seq(len(took) + 1)
		start := time.Now()
		must(b, w.Append(b.Context(), r))
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "median-µs")
	b.ReportMetric(float64(least.Microseconds()), "floor-µs")
}

// BenchmarkAppend_Queued is one session whose records come faster than the disk is.
func BenchmarkAppend_Queued(b *testing.B) {
	s := newStore(b, Config{})
	w := create(b, s, "a")
	defer w.Close()
	seq := event.Seq(0)
	var window []func() error
	for b.Loop() {
		seq++
		window = append(window, w.Queue(typical(seq)))
		if len(window) == 64 {
			must(b, window[0]())
			window = window[1:]
		}
	}
	for _, wait := range window {
		must(b, wait())
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkAppend_Sessions is many sessions at once, each of which waits for every record.
func BenchmarkAppend_Sessions(b *testing.B) {
	s := newStore(b, Config{})
	const n = 64
	var writers [n]*Writer
	for i := range writers {
		writers[i] = create(b, s, fmt.Sprint("s", i))
		defer writers[i].Close()
	}
	b.ResetTimer()
	var wg sync.WaitGroup
	for i, w := range writers {
		wg.Go(func() {
			for seq := event.Seq(1); int(seq)*n+i < b.N+n; seq++ {
				if err := w.Append(b.Context(), typical(seq)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
	b.StopTimer()
	b.ReportMetric(manyFloor(b, n), "floor-records/s")
}

// manyFloor is what the disk does if as many files are flushed at once.
func manyFloor(b *testing.B, n int) float64 {
	dir := b.TempDir()
	const each = 30
	start := time.Now()
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			f, err := os.Create(filepath.Join(dir, fmt.Sprint(i)))
			if err != nil {
				b.Error(err)
				return
			}
			defer f.Close()
			for range each {
				if _, err := f.Write(make([]byte, 1000)); err != nil {
					b.Error(err)
				}
				if err := f.Sync(); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	return float64(n*each) / time.Since(start).Seconds()
}

// largeSession has 100 MB of records.
func largeSession(b *testing.B, s *Store) int64 {
	w := create(b, s, "a")
	var seq event.Seq
	for size := int64(0); size < 100e6; {
		var batch []event.Record
		for range 1000 {
			seq++
			batch = append(batch, typical(seq))
		}
		must(b, w.Append(b.Context(), batch...))
		size = w.disk.Size
	}
	must(b, w.Close())
	return w.disk.Size
}

func BenchmarkLoad_100MB(b *testing.B) {
	s := newStore(b, Config{})
	b.SetBytes(largeSession(b, s))
	b.ReportAllocs()
	var peak uint64
	for b.Loop() {
		runtime.GC()
		n := 0
		for _, err := range s.Load(b.Context(), "a", 0) {
			must(b, err)
			n++
			if n%20_000 == 0 {
				b.StopTimer()
				peak = max(peak, live())
				b.StartTimer()
			}
		}
	}
	b.ReportMetric(float64(peak)/(1<<20), "live-MiB")
	b.StopTimer()
	b.ReportMetric(validFloor(b, s).Seconds(), "valid-s")
}

// validFloor is what encoding/json takes to check the syntax of the log once, and nothing else.
func validFloor(b *testing.B, s *Store) time.Duration {
	log := readLogFile(b, s, "a")
	start := time.Now()
	for line := range bytes.Lines(log) {
		if !json.Valid(line) {
			b.Fatalf("not JSON: %.100q", line)
		}
	}
	return time.Since(start)
}

func live() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkLoad_End is the last record of 100 MB.
func BenchmarkLoad_End(b *testing.B) {
	s := newStore(b, Config{})
	b.SetBytes(largeSession(b, s))
	m, err := s.Meta(b.Context(), "a")
	must(b, err)
	for b.Loop() {
		for _, err := range s.Load(b.Context(), "a", m.Last-1) {
			must(b, err)
		}
	}
}

func BenchmarkList_10000(b *testing.B) {
	s := newStore(b, Config{})
	for i := range 10_000 {
		must(b, os.MkdirAll(s.path(fmt.Sprint("s", i)), dirPerm))
		log, err := appendJSON(nil, header{1, fmt.Sprint("s", i)})
		must(b, err)
		must(b, os.WriteFile(s.path(fmt.Sprint("s", i), logName), log, filePerm))
		m := event.Meta{ID: fmt.Sprint("s", i), Title: "a title", Prompt: strings.Repeat("prompt ", 20), Model: "m", Updated: time.Unix(int64(i), 0)}
		must(b, s.writeIndex(s.path(m.ID), index{Size: int64(len(log)), Lines: 1, Meta: m}))
	}
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range s.List(b.Context()) {
			must(b, err)
			n++
		}
		if n != 10_000 {
			b.Fatal(n)
		}
	}
}
