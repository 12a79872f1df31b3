package filestore

import (
	"bytes"
	"encoding/json"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
)

// saveWork saves a session with about the given size.
func saveWork(t testing.TB, s *Store, id string, size int64) (bytes int64, records event.Seq) {
	t.Helper()
	w := create(t, s, id)
	session := newWork()
	var batch []event.Record
	for w.disk.Size < size {
		answer, results := session.round()
		batch = append(append(batch, answer...), results...)
		if len(batch) >= 200 {
			must(t, w.Append(t.Context(), batch...))
			batch = nil
		}
	}
	must(t, w.Close())
	return w.disk.Size, w.disk.Meta.Last
}

func BenchmarkLoad_100MB(b *testing.B) {
	s := newStore(b, Config{})
	size, records := saveWork(b, s, "a", 100e6)
	b.SetBytes(size)
	var before, after runtime.MemStats
	var peak uint64
	start := cpuTime()
	runtime.ReadMemStats(&before)
	for b.Loop() {
		runtime.GC()
		floor := heap()
		n := event.Seq(0)
		for r, err := range s.Load(b.Context(), "a", 0) {
			must(b, err)
			if n++; r.Seq != n {
				b.Fatalf("record %d comes as number %d", r.Seq, n)
			}
			if n%64 == 0 {
				peak = max(peak, heap()-min(floor, heap()))
			}
		}
		if n != records {
			b.Fatalf("%d records, want %d", n, records)
		}
	}
	b.StopTimer()
	runtime.ReadMemStats(&after)
	loads := float64(b.N)
	b.ReportMetric((cpuTime()-start).Seconds()/loads, "cpu-s/op")
	b.ReportMetric(float64(records), "records")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/loads/float64(records), "allocs/record")
	b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
	b.ReportMetric(validFloor(b, s).Seconds(), "valid-cpu-s")
}

// heap returns the memory in all objects, including garbage.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// validFloor returns the CPU time that json.Valid needs for the log.
func validFloor(b *testing.B, s *Store) time.Duration {
	log := readLogFile(b, s, "a")
	start := cpuTime()
	for line := range bytes.Lines(log) {
		if !json.Valid(line) {
			b.Fatalf("not JSON: %.100q", line)
		}
	}
	return cpuTime() - start
}

// BenchmarkLoad_End loads the last record from 100 MB.
func BenchmarkLoad_End(b *testing.B) {
	s := newStore(b, Config{})
	size, records := saveWork(b, s, "a", 100e6)
	b.SetBytes(size)
	for b.Loop() {
		for _, err := range s.Load(b.Context(), "a", records-1) {
			must(b, err)
		}
	}
}

func TestLoad_MemoryDoesNotGrowWithTheSession(t *testing.T) {
	s := newStore(t, Config{})
	saveWork(t, s, "small", 1<<20)
	large, _ := saveWork(t, s, "large", 16<<20)
	held(t, s, "small") // allocates what is allocated only once
	least, most := held(t, s, "small"), held(t, s, "large")
	t.Logf("%d bytes held for 1 MiB, %d for %d", least, most, large)
	if limit := 2*least + 1<<20; most > limit {
		t.Errorf("reading %d bytes uses %d bytes of memory, and reading 1 MiB %d", large, most, least)
	}
}

// held returns the maximum memory in use, over several samples, while a session is read.
func held(t *testing.T, s *Store, id string) uint64 {
	before := live()
	var most uint64
	n := 0
	for _, err := range s.Load(t.Context(), id, 0) {
		must(t, err)
		if n++; n%100 == 0 {
			most = max(most, live())
		}
	}
	return most - min(before, most)
}

func live() uint64 {
	runtime.GC()
	return heap()
}
