//go:build unix

package fileindex

import (
	"runtime"
	"syscall"
	"testing"
	"time"
)

// cpuTime returns the processor time that this process has used, which depends less on load than the time of day.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkFind looks for a file among 500,000, as with one key.
func BenchmarkFind(b *testing.B) {
	x := repository(500_000)
	for _, q := range []string{"", "h", "handler_77", "srvcmpt9", "zzz"} {
		b.Run("q="+q, func(b *testing.B) {
			start := cpuTime()
			for b.Loop() {
				x.last.query = "" // as if it were the first key
				x.Find(q, 50)
			}
			b.ReportMetric(float64((cpuTime()-start).Microseconds())/1000/float64(b.N), "cpu-ms/op")
		})
	}
}

func BenchmarkIndex(b *testing.B) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	x := repository(500_000)
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportAllocs()
	for b.Loop() {
		repository(500_000)
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB-kept")
	runtime.KeepAlive(x)
}
