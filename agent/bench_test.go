package agent_test

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"testing"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// rounds is a model in memory that asks for a tool a number of times, each time with other arguments, and then is done.
type rounds struct{ left, made int }

func (m *rounds) Stream(context.Context, *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	return func(yield func(llm.StreamEvent, error) bool) {
		m.made++
		resp := &llm.Response{
			Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: "Done."}}},
			Finish:  llm.FinishInfo{Reason: llm.FinishStop},
		}
		if m.left > 0 {
			m.left--
			resp.Message.Parts = []llm.Part{llm.ToolCall{ID: fmt.Sprint("call_", m.made), Name: "echo", Arguments: fmt.Sprintf(`{"text":"round %d"}`, m.made)}}
			resp.Finish.Reason = llm.FinishToolCalls
		}
		yield(llm.Finish{Response: resp}, nil)
	}
}

// echo is a tool that does as little as possible.
func echo() tool.Tool {
	type in struct {
		Text string `json:"text"`
	}
	return tool.New(tool.Spec{Name: "echo", Version: "1.0.0", Description: "Says it again.", ReadOnly: true},
		func(_ context.Context, c *tool.Call, _ in) []policy.Access {
			return []policy.Access{{Kind: policy.Read, Target: c.Env.Info().Dir}}
		},
		func(_ context.Context, _ *tool.Call, in in) (tool.Result, error) {
			return tool.Success("%s", in.Text), nil
		})
}

func newEnv(tb testing.TB) env.Environment {
	tb.Helper()
	e, err := local.New(local.Config{Dir: tb.TempDir()})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { e.Close() })
	return e
}

// withHistory creates a session that has had n rounds.
func withHistory(tb testing.TB, e env.Environment, n int) (*agent.Session, *rounds) {
	tb.Helper()
	m := &rounds{left: n}
	c := agent.Config{Client: m, Model: "bench", Env: e, Policy: policy.AllowAll{}, Tools: &tool.Registry{}, Limits: agent.Limits{ToolRounds: -1}}
	if err := c.Tools.Register(echo()); err != nil {
		tb.Fatal(err)
	}
	s, err := agent.New(c)
	if err != nil {
		tb.Fatal(err)
	}
	submit(tb, s)
	return s, m
}

func submit(tb testing.TB, s *agent.Session) {
	tb.Helper()
	if out, err := s.Submit(tb.Context(), llm.Text{Text: "Go on."}); err != nil || out.Status != agent.StatusDone {
		tb.Fatalf("%+v, %v", out, err)
	}
}

// someRounds is the number of rounds that are measured after a history.
const someRounds = 20

// BenchmarkRound shows that a round costs the same however long the conversation is. The model is in memory, so no
// request is encoded.
func BenchmarkRound(b *testing.B) {
	for _, history := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("history=%d", history), func(b *testing.B) {
			e := newEnv(b)
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				s, m := withHistory(b, e, history)
				m.left = someRounds
				b.StartTimer()
				submit(b, s)
				b.StopTimer()
				s.Close()
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*someRounds), "ns/round")
		})
	}
}

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestRound_CostDoesNotGrowWithTheHistory(t *testing.T) {
	e := newEnv(t)
	cost := func(history int) uint64 {
		least := ^uint64(0)
		for range 5 { // the minimum of several runs, since a slice may grow in any of them
			s, m := withHistory(t, e, history)
			m.left = someRounds
			least = min(least, allocated(func() { submit(t, s) }))
			s.Close()
		}
		return least
	}
	// Growing slices must be copied at times. With history lengths that are not powers of two, some rounds include such
	// a copy, and no other cost may be larger.
	short, long := cost(12), cost(1500)
	if long > 2*short+64<<10 {
		t.Errorf("%d rounds allocate %d bytes behind a history of 1500 rounds, and %d behind one of 12", someRounds, long, short)
	}
}

// hosted is a session and its environment.
type hosted struct {
	*agent.Session
	env *local.Env
}

func (h hosted) close() {
	h.Session.Close()
	h.env.Close()
}

// idle creates a session as a host does, with its own environment, profile and system prompt.
func idle(b *testing.B, dir string, client agent.Streamer) hosted {
	e, err := local.New(local.Config{Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	p := coding.For("openai", "gpt-5.1")
	system, err := p.SystemPrompt(b.Context(), e, coding.PromptConfig{})
	if err != nil {
		b.Fatal(err)
	}
	tools, err := p.Registry()
	if err != nil {
		b.Fatal(err)
	}
	s, err := agent.New(agent.Config{
		Client: client, Provider: p.Provider, Model: p.Model, System: system, Tools: tools, Env: e,
		Policy: policy.AllowAll{}, Options: p.Options, ContextWindow: p.ContextWindow,
	})
	if err != nil {
		b.Fatal(err)
	}
	return hosted{s, e}
}

// BenchmarkNewSession measures setting up a session with everything that a host configures.
func BenchmarkNewSession(b *testing.B) {
	dir := b.TempDir()
	b.ReportAllocs()
	for b.Loop() {
		idle(b, dir, &rounds{}).close()
	}
}
