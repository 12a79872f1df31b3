package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

type faultCase struct {
	name  string
	fault llmtest.Fault
	kinds []llm.ErrorKind // acceptable errors; none: the call succeeds
}

func faultCases() []faultCase {
	return []faultCase{
		{"cut", llmtest.Fault{CutAt: 200}, []llm.ErrorKind{llm.ErrIncomplete}},
		{"reset at once", llmtest.Fault{Reset: true}, []llm.ErrorKind{llm.ErrNetwork, llm.ErrIncomplete}},
		{"reset in mid-stream", llmtest.Fault{Reset: true, CutAt: 200}, []llm.ErrorKind{llm.ErrNetwork, llm.ErrIncomplete}},
		{"stall", llmtest.Fault{StallAt: 200}, []llm.ErrorKind{llm.ErrTimeout}},
		{"no first byte", llmtest.Fault{StallAtOnce: true}, []llm.ErrorKind{llm.ErrTimeout}},
		{"slow first byte", llmtest.Fault{SlowFirstByte: 20 * time.Millisecond}, nil},
		{"malformed", llmtest.Fault{Malformed: true}, []llm.ErrorKind{llm.ErrMalformed}},
		{"duplicate", llmtest.Fault{Duplicate: true}, nil},
		{"pings", llmtest.Fault{Pings: true}, nil},
		{"overloaded in mid-stream", llmtest.Fault{MidStream: 529}, []llm.ErrorKind{llm.ErrServer}},
		{"rate limit in mid-stream", llmtest.Fault{MidStream: 429}, []llm.ErrorKind{llm.ErrRateLimit}},
	}
}

// longTurn returns a text long enough for every fault to hit its stream in the middle.
func longTurn(f llmtest.Fault) llmtest.Turn {
	turn := llmtest.Say(strings.Repeat("All happy streams are alike. ", 40))
	turn.Fault = f
	return turn
}

// stalled stops after the first delta in every protocol.
var stalled = llmtest.Fault{StallAt: 4000}

func (s Subject) fault(t *testing.T, c faultCase) {
	turn := longTurn(c.fault)
	limits := llm.Limits{}
	if slices.Contains(c.kinds, llm.ErrTimeout) {
		limits = llm.Limits{FirstByte: 300 * time.Millisecond, Idle: 300 * time.Millisecond}
	}
	r := s.start(t, limits, turn)
	resp, err := verified(r.Stream(t.Context(), s.request(false)))
	if len(c.kinds) == 0 {
		if err != nil || resp.Text() != (llm.Message{Parts: turn.Parts}).Text() {
			t.Fatalf("got text %q, error %v; want the whole answer", clip(resp.Text()), err)
		}
		return
	}
	if kind := llm.KindOf(err); !slices.Contains(c.kinds, kind) {
		t.Fatalf("got error %v of kind %s, want one of %v", err, kind, c.kinds)
	}
}

// cuts truncates a stream with a tool call after every possible number of bytes: a call must never succeed with part of
// the answer.
func (s Subject) cuts(t *testing.T) {
	r := s.serve(t, llm.Limits{}, &llmtest.Script{Reply: func(n int, _ *llm.Request) llmtest.Turn {
		return llmtest.Turn{
			Parts: []llm.Part{llm.Text{Text: "Reading."}, llm.ToolCall{Name: "read_file", Arguments: `{"path":"a.go"}`}},
			Fault: llmtest.Fault{CutAt: n + 1},
		}
	}})
	for n := 1; n < 6000; n++ {
		resp, err := verified(r.Stream(t.Context(), s.request(false)))
		if err == nil {
			if calls := resp.ToolCalls(); len(calls) != 1 || !sameJSON(calls[0].Arguments, `{"path":"a.go"}`) || resp.Text() != "Reading." {
				t.Fatalf("cut at byte %d: the call succeeded with part of the answer: %+v", n, resp.Message)
			}
			return // later truncation only affects the protocol's last events
		}
		if kind := llm.KindOf(err); kind != llm.ErrIncomplete {
			t.Fatalf("cut at byte %d: got %v (%s), want an incomplete stream", n, err, kind)
		}
	}
	t.Fatal("no cut left the answer whole")
}

func (s Subject) cancel(t *testing.T) {
	r := s.start(t, llm.Limits{}, longTurn(stalled))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for ev, err := range r.Stream(ctx, s.request(false)) {
		if _, ok := ev.(llm.TextDelta); ok {
			cancel()
		}
		if err != nil {
			if llm.KindOf(err) != llm.ErrCancelled || !errors.Is(err, context.Canceled) {
				t.Errorf("got error %v of kind %s, want cancelled", err, llm.KindOf(err))
			}
			return
		}
	}
	t.Error("the cancelled stream ended without an error")
}

// breakOff stops reading a stream that stalls; callers check for leaked goroutines.
func (s Subject) breakOff(t *testing.T) {
	r := s.start(t, llm.Limits{}, longTurn(stalled))
	for ev := range r.Stream(t.Context(), s.request(false)) {
		if _, ok := ev.(llm.TextDelta); ok {
			return
		}
	}
	t.Error("the stream ended before its first text")
}

func (s Subject) parallel(t *testing.T) {
	r := s.serve(t, llm.Limits{}, &llmtest.Script{Reply: func(_ int, r *llm.Request) llmtest.Turn {
		return llmtest.Say("echo " + r.Messages[len(r.Messages)-1].Text())
	}})
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			req := s.request(i%2 == 0)
			req.Messages = []llm.Message{llm.UserText(fmt.Sprint(i))}
			resp, err := verified(r.Stream(t.Context(), req))
			if want := fmt.Sprintf("echo %d", i); err != nil || resp.Text() != want {
				t.Errorf("call %d: got text %q, error %v; want %q", i, resp.Text(), err, want)
			}
		})
	}
	wg.Wait()
}
