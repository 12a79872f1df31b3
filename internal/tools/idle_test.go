package tools_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/tool"
)

// ticking is an environment whose commands print a line at each of the given times and then run for an
// hour, unless they are stopped.
type ticking struct {
	env.Environment
	at []time.Duration
}

func (e ticking) Start(ctx context.Context, c env.Command) (env.Process, error) {
	p := &tickingProcess{done: make(chan struct{})}
	go func() {
		defer close(p.done)
		start := time.Now()
		for _, at := range append(e.at, time.Hour) {
			select {
			case <-time.After(at - time.Since(start)):
				c.OnOutput(env.Stdout, []byte("tick\n"))
				p.text += "tick\n"
			case <-ctx.Done():
				p.exit = env.Exit{Code: 143, Signal: "SIGTERM"}
				return
			}
		}
	}()
	return p, nil
}

type tickingProcess struct {
	env.Process
	done chan struct{}
	text string
	exit env.Exit
}

func (p *tickingProcess) PID() int                 { return 1 }
func (p *tickingProcess) Written(env.Stream) int64 { return int64(len(p.text)) }
func (p *tickingProcess) Release() error           { return nil }
func (p *tickingProcess) Wait(context.Context) (env.Exit, error) {
	<-p.done
	return p.exit, nil
}
func (p *tickingProcess) Output(env.Stream, int64) env.OutputReader {
	return reader{strings.NewReader(p.text)}
}

type reader struct{ *strings.Reader }

func (r reader) Close() error  { return nil }
func (r reader) Offset() int64 { return r.Size() - int64(r.Len()) }

func TestShell_IdleTimeoutCountsFromTheLastOutput(t *testing.T) {
	run := tools.NewSet(tools.Config{DefaultTimeout: 5 * time.Second}).Run
	for _, c := range []struct {
		at    []time.Duration
		lines int
		end   time.Duration
	}{
		{nil, 0, 5 * time.Second},
		{[]time.Duration{4 * time.Second, 8 * time.Second, 12 * time.Second}, 3, 17 * time.Second},
		{[]time.Duration{4 * time.Second, 10 * time.Second}, 1, 9 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			ran, err := run.Do(t.Context(), &tool.Call{Env: ticking{at: c.at}}, tools.Command{Command: "tick", Idle: true})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Count(tool.String(ran.Output), "tick"); !ran.Silent || got != c.lines || time.Since(start) != c.end {
				t.Errorf("output at %v: got silent %v, %d lines, after %v; want true, %d, %v", c.at, ran.Silent, got, time.Since(start), c.lines, c.end)
			}
		})
	}
}
