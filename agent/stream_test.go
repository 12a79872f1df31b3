package agent

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/tool"
)

func TestStream_EndsWithTheInput(t *testing.T) {
	for name, store := range map[string]event.Store{"in memory": nil, "saved": &event.Memory{}} {
		t.Run(name, func(t *testing.T) {
			s := open(t, llmtest.Play(echoCall("x"), llmtest.Say("Done."), llmtest.Say("Again.")), func(c *Config) { c.Store = store })
			var all []event.Record
			for range 2 {
				var last event.Data
				deltas := 0
				for r, err := range s.Stream(t.Context(), text("go")) {
					if err != nil {
						t.Fatal(err)
					}
					if _, ok := r.Data.(event.TextDelta); ok {
						deltas++
					}
					if r.Seq > 0 {
						all = append(all, r)
						last = r.Data
					}
				}
				if end, ok := last.(event.ProcessingEnd); !ok || end.Outcome != StatusDone || deltas == 0 {
					t.Errorf("the stream ends with %+v and had %d deltas", last, deltas)
				}
			}
			if s.State() != Idle || len(s.Messages()) != 7 {
				t.Errorf("the session is %s with %d messages", s.State(), len(s.Messages()))
			}
			// Every record from the work, once and in order.
			if want := s.log.Records(1); !slices.EqualFunc(all, want, func(a, b event.Record) bool { return a.Seq == b.Seq }) {
				t.Errorf("got %d records, want %d", len(all), len(want))
			}
		})
	}
}

func TestStream_YieldsTheErrorOfSubmit(t *testing.T) {
	s := open(t, llmtest.Play(llmtest.Fail(400)), nil)
	var last error
	for _, last = range s.Stream(t.Context(), text("go")) {
	}
	if last == nil {
		t.Error("the failure was not yielded")
	}
	for _, last = range s.Stream(t.Context()) {
	}
	if !errors.Is(last, ErrNoInput) {
		t.Errorf("got %v", last)
	}
}

func TestStream_BreakingInterruptsTheWork(t *testing.T) {
	hold := fake("hold", false, func(ctx context.Context, _ *tool.Call, _ string) (tool.Result, error) {
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	})
	s := open(t, llmtest.Play(calls("hold"), llmtest.Say("never")), with(hold))
	for r, err := range s.Stream(t.Context(), text("go")) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := r.Data.(event.ToolCallStart); ok {
			break
		}
	}
	if s.State() != Idle || len(records[event.Interrupted](s)) != 1 {
		t.Errorf("the session is %s: %s", s.State(), kinds(s))
	}
}
