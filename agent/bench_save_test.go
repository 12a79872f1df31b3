package agent_test

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/event/filestore"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// countingDisk counts flushes and written bytes.
type countingDisk struct {
	filestore.OS
	flushes, bytes atomic.Int64
}

func (d *countingDisk) OpenFile(name string, flag int, perm fs.FileMode) (filestore.File, error) {
	f, err := d.OS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return countingFile{f, d}, nil
}

type countingFile struct {
	filestore.File
	disk *countingDisk
}

func (f countingFile) WriteAt(b []byte, off int64) (int, error) {
	f.disk.bytes.Add(int64(len(b)))
	return f.File.WriteAt(b, off)
}

func (f countingFile) Sync() error {
	f.disk.flushes.Add(1)
	return f.File.Sync()
}

// timedRounds is a model that needs some time per call, and records when it is called.
type timedRounds struct {
	rounds
	delay time.Duration
	at    []time.Time
}

func (m *timedRounds) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	m.at = append(m.at, time.Now())
	if m.delay > 0 {
		<-time.After(m.delay)
	}
	return m.rounds.Stream(ctx, r)
}

// saving is a kind of session.
type saving struct {
	output int           // bytes per tool result
	delay  time.Duration // model latency
}

// talkative makes tool results longer.
func talkative(size int) tool.Middleware {
	text := strings.Repeat("a line of what a command says\n", size/30)
	return func(ctx context.Context, _ tool.Call, next func(context.Context) (tool.Result, error)) (tool.Result, error) {
		res, err := next(ctx)
		res.Output = tool.Text(text)
		return res, err
	}
}

// rounds returns how long each round takes, in a store or, if that is nil, in none.
func (k saving) rounds(b *testing.B, e env.Environment, store event.Store, n int) (took []time.Duration) {
	b.Helper()
	m := &timedRounds{rounds: rounds{left: n}, delay: k.delay}
	c := agent.Config{Client: m, Model: "bench", Env: e, Policy: policy.AllowAll{}, Tools: &tool.Registry{}, Limits: agent.Limits{ToolRounds: -1}, Store: store}
	c.Middleware = []tool.Middleware{talkative(k.output)}
	if err := c.Tools.Register(echo()); err != nil {
		b.Fatal(err)
	}
	s, err := agent.New(c)
	if err != nil {
		b.Fatal(err)
	}
	submit(b, s)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for i := range m.at[1:] {
		took = append(took, m.at[i+1].Sub(m.at[i]))
	}
	return took
}

// bareFlushes returns how long it takes to write this many bytes and flush them, twice.
func bareFlushes(b *testing.B, name string, n, size int) (took []time.Duration) {
	b.Helper()
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	data := make([]byte, size)
	for range n {
		start := time.Now()
		for range 2 {
			if _, err := f.Write(data); err != nil {
				b.Fatal(err)
			}
			if err := f.Sync(); err != nil {
				b.Fatal(err)
			}
		}
		took = append(took, time.Since(start))
	}
	return took
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// BenchmarkSavedRound measures the cost to save a round, beside the same rounds without a store and two bare flushes
// with as many bytes on the same disk, in turn.
func BenchmarkSavedRound(b *testing.B) {
	for _, k := range []saving{{30, 0}, {4 << 10, 0}, {32 << 10, 0}, {4 << 10, 5 * time.Millisecond}} {
		b.Run(fmt.Sprintf("output=%d,model=%v", k.output, k.delay), k.compare)
	}
}

func (k saving) compare(b *testing.B) {
	const some = 50
	e, dir := newEnv(b), b.TempDir()
	disk := &countingDisk{}
	store, err := filestore.New(filestore.Config{Dir: filepath.Join(dir, "sessions"), FS: disk})
	if err != nil {
		b.Fatal(err)
	}
	var saved, unsaved, floor []time.Duration
	for b.Loop() {
		saved = append(saved, k.rounds(b, e, store, some)...)
		unsaved = append(unsaved, k.rounds(b, e, nil, some)...)
		size := int(disk.bytes.Load()) / len(saved) / 2
		floor = append(floor, bareFlushes(b, filepath.Join(dir, "bare"), some, size)...)
	}
	n := float64(len(saved))
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	b.ReportMetric(ms(median(saved)-median(unsaved)), "ms/round")
	b.ReportMetric(ms(median(unsaved)), "unsaved-ms/round")
	b.ReportMetric(ms(median(floor)), "floor-ms")
	b.ReportMetric(float64(disk.flushes.Load())/n, "flushes/round")
	b.ReportMetric(float64(disk.bytes.Load())/n, "B/round")
}
