//go:build unix

package agent_test

import (
	"bytes"
	"context"
	"iter"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// BenchmarkIdleSessions holds 10,000 sessions that have had a turn and wait for the next. It reports the memory per
// session and for the process, the number of goroutines, and how busy they keep a core.
func BenchmarkIdleSessions(b *testing.B) {
	const n = 10_000
	const watch = 3 * time.Second // the runtime also returns memory from the setup in this time
	dir := b.TempDir()
	for b.Loop() {
		before, goroutines := heap(), runtime.NumGoroutine()
		sessions := make([]hosted, n)
		for i := range sessions {
			sessions[i] = idle(b, dir, &rounds{})
			submit(b, sessions[i].Session)
		}
		b.ReportMetric(float64(heap()-before)/n, "heap-B/session")
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines), "goroutines")
		busy := processorTime()
		<-time.After(watch)
		b.ReportMetric(100*float64(processorTime()-busy)/float64(watch), "%CPU")
		b.ReportMetric(float64(resident())/1e6, "RSS-MB")
		for _, s := range sessions {
			s.close()
		}
	}
}

// BenchmarkStreamingSessions streams 50 events per second in each of 1,000 sessions, with a reader on each. Lag is the
// time from when an event was due until the reader has it; lost is the share of events that readers did not get.
func BenchmarkStreamingSessions(b *testing.B) {
	const n = 1000
	const gap = 20 * time.Millisecond
	e := newEnv(b)
	for b.Loop() {
		models, sessions := make([]ticking, n), make([]*agent.Session, n)
		for i := range n {
			s, err := agent.New(agent.Config{Client: &models[i], Model: "bench", Env: e})
			if err != nil {
				b.Fatal(err)
			}
			sessions[i] = s
		}
		busy, begin := processorTime(), time.Now()
		lags := make([][]time.Duration, n)
		lost := make([]int, n)
		var wg sync.WaitGroup
		for i, s := range sessions {
			m := &models[i]
			*m = ticking{gap: gap, events: 250, start: begin.Add(gap + time.Duration(i)*gap/n)}
			wg.Go(func() { lags[i], lost[i] = m.follow(s) })
			wg.Go(func() {
				submit(b, s)
				s.Close()
			})
		}
		wg.Wait()
		took := time.Since(begin)
		all := slices.Concat(lags...)
		slices.Sort(all)
		missing := 0
		for _, l := range lost {
			missing += l
		}
		b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "p50-lag-ms")
		b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-lag-ms")
		b.ReportMetric(float64(all[len(all)-1].Microseconds())/1000, "max-lag-ms")
		b.ReportMetric(float64(missing), "lost")
		b.ReportMetric(100*float64(processorTime()-busy)/float64(took), "%CPU")
	}
}

// ticking is a model in memory whose answer arrives in even steps, one letter each.
type ticking struct {
	start  time.Time
	gap    time.Duration
	events int
}

// due returns when an event arrives.
func (m *ticking) due(i int) time.Time { return m.start.Add(time.Duration(i) * m.gap) }

func (m *ticking) Stream(ctx context.Context, _ *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	return func(yield func(llm.StreamEvent, error) bool) {
		yield(llm.TextStart{}, nil)
		timer := time.NewTimer(0)
		defer timer.Stop()
		for i := range m.events {
			timer.Reset(time.Until(m.due(i)))
			select {
			case <-timer.C:
				yield(llm.TextDelta{Text: "x"}, nil)
			case <-ctx.Done():
				yield(nil, ctx.Err())
				return
			}
		}
		yield(llm.Finish{Response: &llm.Response{
			Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: "x"}}},
			Finish:  llm.FinishInfo{Reason: llm.FinishStop},
		}}, nil)
	}
}

// follow reads the session's events to their end. It returns how late each text was, and how many were lost.
func (m *ticking) follow(s *agent.Session) (lags []time.Duration, lost int) {
	got := 0
	for r, err := range s.Events(context.Background(), 0) {
		if err != nil {
			break
		}
		if d, ok := r.Data.(event.TextDelta); ok {
			for range d.Text {
				lags = append(lags, time.Since(m.due(got)))
				got++
			}
		}
	}
	return lags, m.events - got
}

// heap returns the bytes in use after a collection.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// resident returns the process's memory in bytes, where /proc reports it.
func resident() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(status, []byte("VmRSS:"))
	fields := bytes.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kib, _ := strconv.ParseInt(string(fields[0]), 10, 64)
	return kib << 10
}

// processorTime returns the time that the process has used on all cores.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
