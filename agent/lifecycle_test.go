package agent

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/tool"
)

func TestNew_EveryProblemIsListed(t *testing.T) {
	_, err := New(Config{
		Allow: []string{"nothing"}, MaxOutput: -1, LoopWindow: 1, Middleware: []tool.Middleware{nil},
		Subagents: Subagents{Types: map[string]AgentType{"Odd": {Tools: []string{"none"}}}},
	})
	if err == nil {
		t.Fatal("it was accepted")
	}
	for _, want := range []string{"Client", "Model", "Env", "MaxOutput", "LoopWindow", "Middleware", `"nothing"`, `"none"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not named in: %v", want, err)
		}
	}
}

func TestClose_ManyAtOnceWithSubmitsAndSteeringAllReturn(t *testing.T) {
	for range 50 {
		script := &llmtest.Script{Reply: func(n int, _ *llm.Request) llmtest.Turn {
			if n%3 == 2 {
				return llmtest.Say("Done.")
			}
			return calls("echo", "echo", "write")
		}}
		s := open(t, script, func(c *Config) { c.Client = script })
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for {
					out, err := s.Submit(context.Background(), text("go"))
					switch {
					case errors.Is(err, ErrClosed):
						return
					case errors.Is(err, ErrBusy):
						runtime.Gosched()
					case err != nil || out.Status != StatusDone:
						t.Errorf("%+v, %v", out, err)
					}
				}
			})
			wg.Go(func() {
				for s.Steer(text("left")) == nil && s.FollowUp(text("right")) == nil {
					s.SetEffort([]string{"low", "high"}[len(s.log.Records(0))%2])
					s.SetModel("", "other")
					runtime.Gosched()
				}
			})
			wg.Go(func() {
				for range s.Events(context.Background(), 0) {
				}
			})
		}
		for s.log.Last() < 40 {
			runtime.Gosched()
		}
		for range 3 {
			wg.Go(func() {
				if err := s.Close(); err != nil || s.State() != Closed {
					t.Errorf("%v, %s", err, s.State())
				}
			})
		}
		wg.Wait()
		if k := kinds(s); !strings.HasSuffix(k, "SESSION_END") || strings.Count(k, "SESSION_END") != 1 {
			t.Error("the log does not end with one SESSION_END")
		}
		if given, got := len(records[event.SteeringQueued](s)), delivered(s); given != got {
			t.Errorf("%d messages were given, %d found a place or were told of", given, got)
		}
	}
}

// delivered counts the host's messages that were delivered.
func delivered(s *Session) (n int) {
	for _, r := range s.log.Records(0) {
		switch d := r.Data.(type) {
		case event.SteeringInjected:
			if d.Source == "host" {
				n++
			}
		case event.UserInput:
			if d.FollowUp {
				n++
			}
		case event.SessionEnd:
			n += len(d.Undelivered)
		}
	}
	return n
}

func TestSubmit_SecondOneIsBusy(t *testing.T) {
	var s *Session
	again := fake("again", false, func(ctx context.Context, _ *tool.Call, _ string) (tool.Result, error) {
		_, err := s.Submit(ctx, text("me too"))
		return tool.Success("%v", err), nil
	})
	script := llmtest.Play(calls("again"), llmtest.Say("Done."))
	s = open(t, script, with(again))
	submit(t, s, "go")
	if r := lastResults(script); r[0].Text() != ErrBusy.Error() {
		t.Errorf("got %+v, want %v", r, ErrBusy)
	}
}

func TestTree_DurationCountsWorkAndNotIdleTime(t *testing.T) {
	e, err := local.New(local.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	synctest.Test(t, func(t *testing.T) {
		script := &llmtest.Script{Reply: func(int, *llm.Request) llmtest.Turn {
			return llmtest.Turn{Parts: llmtest.Say("Yes.").Parts, Delay: 4 * time.Minute}
		}}
		s, err := New(Config{Client: script, Model: "m", Env: e, Limits: Limits{TreeDuration: 10 * time.Minute}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for i := range 3 {
			time.Sleep(time.Hour) // idle
			if out := submit(t, s, "go"); out.Status != StatusDone {
				t.Errorf("input %d: %+v", i, out)
			}
		}
		if out := submit(t, s, "go"); out.Limit != "tree_duration" {
			t.Errorf(`got %+v after %v, want Limit "tree_duration"`, out, s.Total().Worked)
		}
		if w := s.Total().Worked; w != 12*time.Minute {
			t.Errorf("worked for %v", w)
		}
	})
}

// An idle session costs memory only: no goroutine, no timer.
func TestSession_IdleOnesAreCheap(t *testing.T) {
	e, err := local.New(local.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	goroutines := runtime.NumGoroutine()
	const n = 1000
	sessions := make([]*Session, n)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range sessions {
		sessions[i] = idle(t, e)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if g := runtime.NumGoroutine(); g > goroutines {
		t.Errorf("%d goroutines more", g-goroutines)
	}
	if each := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / n; each > 30_000 {
		t.Errorf("an idle session holds %d bytes", each)
	} else {
		t.Logf("an idle session holds %d bytes", each)
	}
	for _, s := range sessions {
		s.Close()
	}
}

// idle is a session that has done some work and rests.
func idle(t testing.TB, e env.Environment) *Session {
	s, err := New(Config{Client: llmtest.Play(llmtest.Say("Yes.")), Model: "m", Env: e, System: "Be good."})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Submit(context.Background(), text("go")); err != nil {
		t.Fatal(err)
	}
	return s
}

func BenchmarkNew(b *testing.B) {
	e, err := local.New(local.Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	b.ReportAllocs()
	for b.Loop() {
		s, err := New(Config{Client: llmtest.Play(), Model: "m", Env: e, System: "Be good."})
		if err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}
