package local_test

import (
	"bytes"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
)

// cpu returns the processor time used by this process and its ended children.
func cpu() (sum time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return sum
}

// cost is the cost of several runs.
type cost struct {
	wall []time.Duration
	cpu  time.Duration
}

func (c *cost) of(run func()) {
	start, used := time.Now(), cpu()
	run()
	c.wall = append(c.wall, time.Since(start))
	c.cpu += cpu() - used
}

func (c *cost) report(b *testing.B, name string) (median, mean float64) {
	slices.Sort(c.wall)
	median = float64(c.wall[len(c.wall)/2].Nanoseconds()) / 1e3
	mean = float64(c.cpu.Nanoseconds()) / 1e3 / float64(len(c.wall))
	b.ReportMetric(median, name+"-µs")
	b.ReportMetric(mean, name+"-cpu-µs")
	return median, mean
}

// BenchmarkCommand runs a command here and through plain os/exec, in turn, so that both see the same load. overhead-µs
// is the difference between the median times, overhead-cpu-µs between the processor times, including the command's.
func BenchmarkCommand(b *testing.B) {
	e, err := local.New(local.Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	shell := e.Info().Shell
	var bare, ours cost
	for b.Loop() {
		bare.of(func() {
			var stdout, stderr bytes.Buffer
			c := exec.CommandContext(b.Context(), shell, "-c", "echo hello")
			c.Stdout, c.Stderr = &stdout, &stderr
			if err := c.Run(); err != nil {
				b.Fatal(err)
			}
		})
		ours.of(func() {
			if _, err := env.Exec(b.Context(), e, env.Command{Line: "echo hello"}); err != nil {
				b.Fatal(err)
			}
		})
	}
	median, mean := bare.report(b, "bare")
	median2, mean2 := ours.report(b, "ours")
	b.ReportMetric(median2-median, "overhead-µs")
	b.ReportMetric(mean2-mean, "overhead-cpu-µs")
}

// BenchmarkWriteFile replaces a file and flushes it to disk.
func BenchmarkWriteFile(b *testing.B) {
	for name, size := range map[string]int{"4KB": 4 << 10, "10MB": 10 << 20} {
		b.Run(name, func(b *testing.B) {
			e, err := local.New(local.Config{Dir: b.TempDir()})
			if err != nil {
				b.Fatal(err)
			}
			defer e.Close()
			data := bytes.Repeat([]byte("0123456789\n"), size/11)
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if err := e.WriteFile(b.Context(), "f", data, 0o644); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
