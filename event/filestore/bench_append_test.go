package filestore

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
)

// Each benchmark alternates with a floor: a bare WriteAt and Sync with the same bytes.

// bare is a file for the floor.
type bare struct {
	file *os.File
	size int64
}

func newBare(b *testing.B) *bare {
	f, err := os.Create(filepath.Join(b.TempDir(), "bare"))
	must(b, err)
	b.Cleanup(func() { _ = f.Close() })
	return &bare{file: f}
}

func (f *bare) append(b *testing.B, size int64) {
	n, err := f.file.WriteAt(make([]byte, size), f.size)
	must(b, err)
	must(b, f.file.Sync())
	f.size += int64(n)
}

// turns alternates between a writer and the floor.
type turns struct {
	w            *writer
	bare         *bare
	records      int
	ours, theirs []time.Duration
}

func newTurns(b *testing.B) *turns {
	w := create(b, newStore(b, Config{}), "a")
	b.Cleanup(func() { _ = w.Close() })
	return &turns{w: w, bare: newBare(b)}
}

// append appends batches, then as many bytes to the floor.
func (t *turns) append(b *testing.B, batches ...[]event.Record) {
	sizes := make([]int64, len(batches))
	start := time.Now()
	for i, batch := range batches {
		before := t.w.disk.Size
		must(b, t.w.Append(b.Context(), batch...))
		sizes[i] = t.w.disk.Size - before
		t.records += len(batch)
	}
	ours := time.Now()
	for _, size := range sizes {
		t.bare.append(b, size)
	}
	t.ours, t.theirs = append(t.ours, ours.Sub(start)), append(t.theirs, time.Since(ours))
}

func (t *turns) report(b *testing.B) {
	total, share := time.Duration(0), time.Duration(0)
	for i := range t.ours {
		total, share = total+t.ours[i], share+t.theirs[i]
	}
	b.ReportMetric(float64(t.records)/total.Seconds(), "records/s")
	b.ReportMetric(100*share.Seconds()/total.Seconds(), "%disk")
	b.ReportMetric(float64(median(t.ours).Microseconds()), "median-µs")
	b.ReportMetric(float64(median(t.theirs).Microseconds()), "floor-µs")
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func BenchmarkAppend_One(b *testing.B) {
	t, session := newTurns(b), newWork()
	for b.Loop() {
		t.append(b, []event.Record{session.record(event.Warning{Message: "x"})})
	}
	t.report(b)
}

// BenchmarkAppend_Round appends both batches of one round.
func BenchmarkAppend_Round(b *testing.B) {
	t, session := newTurns(b), newWork()
	for b.Loop() {
		answer, results := session.round()
		t.append(b, answer, results)
	}
	t.report(b)
}

// BenchmarkAppend_Encode appends a round without flushing.
func BenchmarkAppend_Encode(b *testing.B) {
	session := newWork()
	answer, results := session.round()
	w := create(b, newStore(b, Config{FS: quick{}}), "a")
	defer w.Close()
	seq, start, size := event.Seq(0), cpuTime(), w.disk.Size
	b.ReportAllocs()
	for b.Loop() {
		for _, batch := range [][]event.Record{answer, results} {
			for i := range batch {
				seq++
				batch[i].Seq = seq
			}
			must(b, w.Append(b.Context(), batch...))
		}
	}
	b.ReportMetric(float64((cpuTime()-start).Microseconds())/float64(b.N), "cpu-µs/op")
	b.SetBytes((w.disk.Size - size) / int64(b.N))
}

// quick is a disk that does not flush.
type quick struct{ OS }

type quickFile struct{ File }

func (quick) OpenFile(name string, flag int, perm os.FileMode) (File, error) {
	f, err := OS{}.OpenFile(name, flag, perm)
	return quickFile{f}, err
}

func (quickFile) Sync() error { return nil }

// BenchmarkAppend_Sessions appends to 64 sessions at once.
func BenchmarkAppend_Sessions(b *testing.B) {
	s := newStore(b, Config{})
	var writers [64]*writer
	var sessions [64]*work
	for i := range writers {
		writers[i], sessions[i] = create(b, s, fmt.Sprint("s", i)), &work{}
		defer writers[i].Close()
	}
	together(b, len(writers), func(i int) error {
		return writers[i].Append(b.Context(), sessions[i].record(event.Warning{Message: "x"}))
	})
	b.ReportMetric(manyFloor(b, len(writers)), "floor-records/s")
}

// together calls add b.N times in total, from n goroutines.
func together(b *testing.B, n int, add func(i int) error) {
	b.ResetTimer()
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			for k := i; k < b.N; k += n {
				if err := add(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

// manyFloor returns writes per second for n bare files at once.
func manyFloor(b *testing.B, n int) float64 {
	files := make([]*bare, n)
	for i := range files {
		files[i] = newBare(b)
	}
	const each = 100
	start := time.Now()
	var wg sync.WaitGroup
	for _, f := range files {
		wg.Go(func() {
			for range each {
				f.append(b, 160)
			}
		})
	}
	wg.Wait()
	return float64(n*each) / time.Since(start).Seconds()
}
