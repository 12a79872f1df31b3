package checkpoint

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/internal/search"
)

// benchFiles is the number of files in each benchmark.
const benchFiles = 20_000

// bigWorkspace creates a workspace with 2,000 directories and some ignore rules.
func bigWorkspace(b *testing.B) *workspace {
	w := newWorkspace(b)
	w.write(".gitignore", "*.o\n*.log\nnode_modules/\n/dist/\n!keep.log\n")
	for i := range benchFiles {
		w.write(benchPath(i), strings.Repeat(fmt.Sprintf("line of file %d\n", i), 20+i%200))
	}
	w.settle()
	return w
}

func benchPath(i int) string {
	return fmt.Sprintf("top%d/package%d/inner%d/source_file_%d.go", i%20, i%400, i%2000, i)
}

// BenchmarkTake takes a checkpoint of 20,000 files of which 5 changed, with a newly opened store, as after a restart.
// The floor is a walk over the same tree with an lstat per file.
func BenchmarkTake(b *testing.B) {
	w := bigWorkspace(b)
	b.Run("floor=lstat", func(b *testing.B) {
		withCPU(b, func() {
			for b.Loop() {
				must(b, filepath.WalkDir(w.dir, func(_ string, d os.DirEntry, err error) error {
					if err == nil {
						_, err = d.Info()
					}
					return err
				}))
			}
		})
	})
	b.Run("floor=tree", func(b *testing.B) {
		withCPU(b, func() {
			local := &search.Local{Dir: w.dir}
			for b.Loop() {
				must(b, local.Tree(context.Background(), search.TreeQuery{}, func(*search.TreeEntry) error { return nil }))
			}
		})
	})
	b.Run("changed=0", func(b *testing.B) { benchTake(b, w, 0) })
	b.Run("changed=5", func(b *testing.B) { benchTake(b, w, 5) })
	w.git("init", "-q")
	w.git("add", ".")
	b.Run("git/changed=0", func(b *testing.B) { benchTake(b, w, 0) })
	b.Run("git/changed=5", func(b *testing.B) { benchTake(b, w, 5) })
}

// BenchmarkView compares the workspace before and after a command that changes 5 of 20,000 files.
func BenchmarkView(b *testing.B) {
	w := bigWorkspace(b)
	_, _, err := w.store.Take(b.Context(), "")
	must(b, err)
	n := 0
	withCPU(b, func() {
		for b.Loop() {
			before, err := w.store.View(b.Context(), nil)
			must(b, err)
			for i := range 5 {
				n++
				w.write(benchPath(i*3999), fmt.Sprintf("change %d\n", n))
			}
			after, err := w.store.View(b.Context(), before)
			must(b, err)
			if got := len(before.Writes(after)); got != 5 {
				b.Fatalf("%d changes, want 5", got)
			}
		}
	})
}

func benchTake(b *testing.B, w *workspace, changed int) {
	b.ReportAllocs()
	n := 0
	startCPU := cpuTime()
	var editing time.Duration
	for b.Loop() {
		b.StopTimer()
		before := cpuTime()
		for i := range changed {
			n++
			w.write(benchPath(i*3999), fmt.Sprintf("change %d\n", n))
		}
		s, err := Open(Config{Dir: w.dir, Store: w.store.dir})
		must(b, err)
		editing += cpuTime() - before
		b.StartTimer()
		_, stats, err := s.Take(context.Background(), "bench")
		must(b, err)
		if stats.Read < changed || stats.Files != benchFiles+1 {
			b.Fatalf("read %d of %d files, want at least %d of %d", stats.Read, stats.Files, changed, benchFiles+1)
		}
	}
	b.ReportMetric(float64((cpuTime()-startCPU-editing).Microseconds())/1000/float64(b.N), "cpu-ms/op")
}

// BenchmarkFirstTake records 20,000 files into an empty store.
func BenchmarkFirstTake(b *testing.B) {
	w := bigWorkspace(b)
	for b.Loop() {
		s, err := Open(Config{Dir: w.dir, Store: b.TempDir()})
		must(b, err)
		_, stats, err := s.Take(context.Background(), "bench")
		must(b, err)
		b.SetBytes(stats.Bytes)
	}
}

// BenchmarkRestore restores 5 of 20,000 files.
func BenchmarkRestore(b *testing.B) {
	w := bigWorkspace(b)
	id := w.take()
	n := 0
	for b.Loop() {
		b.StopTimer()
		for i := range 5 {
			n++
			w.write(benchPath(i*3999), fmt.Sprintf("change %d\n", n))
		}
		b.StartTimer()
		if r := w.restore(id); len(r.Changes) != 5 {
			b.Fatalf("restored %s, want 5 changes", summary(r.Changes))
		}
	}
}

// withCPU runs a benchmark loop and reports the CPU time per iteration.
func withCPU(b *testing.B, loop func()) {
	start := cpuTime()
	loop()
	b.ReportMetric(float64((cpuTime()-start).Microseconds())/1000/float64(b.N), "cpu-ms/op")
}
