package llmtest

import (
	"fmt"
	"iter"
	"strings"

	"github.com/reins-agent/reins/llm"
)

// verified drains a stream and checks the grammar of its events: Start first; parts begun before
// they grow and ended once; what was streamed equal to what is in the response; exactly one
// Finish, last. Only an answer cut for length may leave a part open. A stream that is against the rules gives an error of no kind.
func verified(stream iter.Seq2[llm.StreamEvent, error]) (*llm.Response, error) {
	g := grammar{open: map[int]*strings.Builder{}, closed: map[int]bool{}}
	var resp *llm.Response
	for ev, err := range stream {
		if resp != nil {
			return resp, fmt.Errorf("there is %T behind the Finish", ev)
		}
		if err != nil {
			return &llm.Response{}, err
		}
		if err := g.event(ev); err != nil {
			return &llm.Response{}, err
		}
		if f, ok := ev.(llm.Finish); ok {
			resp = f.Response
		}
	}
	if resp == nil {
		return &llm.Response{}, fmt.Errorf("the stream ended with neither Finish nor error")
	}
	if len(g.open) > 0 && resp.Finish.Reason != llm.FinishLength {
		return resp, fmt.Errorf("%d parts were begun and not ended", len(g.open))
	}
	return resp, nil
}

type grammar struct {
	started bool
	open    map[int]*strings.Builder
	closed  map[int]bool
}

func (g *grammar) event(ev llm.StreamEvent) error {
	if _, ok := ev.(llm.Start); ok == g.started {
		return fmt.Errorf("%T comes before Start, or a second Start", ev)
	}
	g.started = true
	switch ev := ev.(type) {
	case llm.TextStart:
		return g.begin(ev.Index)
	case llm.ThinkingStart:
		return g.begin(ev.Index)
	case llm.ToolCallStart:
		return g.begin(ev.Index)
	case llm.TextDelta:
		return g.delta(ev.Index, ev.Text)
	case llm.ThinkingDelta:
		return g.delta(ev.Index, ev.Text)
	case llm.ToolCallDelta:
		return g.delta(ev.Index, ev.Arguments)
	case llm.TextEnd:
		return g.end(ev.Index, ev.Text.Text)
	case llm.ThinkingEnd:
		return g.end(ev.Index, ev.Thinking.Text)
	case llm.ToolCallEnd:
		return g.end(ev.Index, ev.Call.Arguments)
	}
	return nil
}

func (g *grammar) begin(i int) error {
	if g.open[i] != nil || g.closed[i] {
		return fmt.Errorf("part %d is begun twice", i)
	}
	g.open[i] = new(strings.Builder)
	return nil
}

func (g *grammar) delta(i int, s string) error {
	if g.open[i] == nil {
		return fmt.Errorf("part %d grows but is not open", i)
	}
	g.open[i].WriteString(s)
	return nil
}

func (g *grammar) end(i int, whole string) error {
	if g.open[i] == nil {
		return fmt.Errorf("part %d is ended but not open", i)
	}
	if got := g.open[i].String(); got != whole {
		return fmt.Errorf("part %d was streamed as %q but ends as %q", i, clip(got), clip(whole))
	}
	delete(g.open, i)
	g.closed[i] = true
	return nil
}
