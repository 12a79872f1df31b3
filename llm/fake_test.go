package llm_test

import (
	"context"
	"errors"
	"iter"
	"sync"
	"testing"

	"github.com/reins-agent/reins/llm"
)

// step is one pair that a stream yields.
type step struct {
	ev  llm.StreamEvent
	err error
}

// fake is a provider that plays one list of steps per call, and the last one for all further calls.
type fake struct {
	name  string
	turns [][]step

	mu       sync.Mutex
	requests []*llm.Request
}

func (f *fake) Name() string { return f.name }

func (f *fake) Stream(_ context.Context, r *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	return func(yield func(llm.StreamEvent, error) bool) {
		f.mu.Lock()
		turn := f.turns[min(len(f.requests), len(f.turns)-1)]
		f.requests = append(f.requests, r)
		f.mu.Unlock()
		for _, s := range turn {
			if !yield(s.ev, s.err) {
				return
			}
		}
	}
}

func (f *fake) calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.requests)
}

func newFake(name string, turns ...[]step) *fake { return &fake{name: name, turns: turns} }

// answer returns a turn with text and tool calls.
func answer(text string, calls ...llm.ToolCall) []step {
	resp := &llm.Response{
		Message: llm.AssistantText(text),
		Finish:  llm.FinishInfo{Reason: llm.FinishStop, Raw: "stop"},
		Usage:   llm.Usage{Input: 10, Output: 5, Reasoning: 1, CacheRead: 2},
	}
	steps := []step{{ev: llm.Start{}}, {ev: llm.TextStart{}}, {ev: llm.TextDelta{Text: text}}, {ev: llm.TextEnd{Text: llm.Text{Text: text}}}}
	for i, c := range calls {
		resp.Message.Parts = append(resp.Message.Parts, c)
		resp.Finish = llm.FinishInfo{Reason: llm.FinishToolCalls, Raw: "tool_calls"}
		steps = append(steps, step{ev: llm.ToolCallEnd{Index: i + 1, Call: c}})
	}
	return append(steps, step{ev: llm.Finish{Response: resp}})
}

func failure(e *llm.Error) []step { return []step{{err: e}} }

func newClient(t *testing.T, c llm.ClientConfig) *llm.Client {
	t.Helper()
	client, err := llm.NewClient(c)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// drain collects a stream's events.
func drain(stream iter.Seq2[llm.StreamEvent, error]) (events []llm.StreamEvent, err error) {
	for ev, e := range stream {
		if e != nil {
			return events, e
		}
		events = append(events, ev)
	}
	return events, nil
}

func wantKind(t *testing.T, err error, kind llm.ErrorKind) *llm.Error {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != kind {
		t.Fatalf("got error %v, want kind %s", err, kind)
	}
	return e
}
