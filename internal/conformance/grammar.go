package conformance

import (
	"fmt"
	"iter"
	"strings"

	"github.com/reins-agent/reins/llm"
)

// verified drains a stream and checks its events: Start first, every part started before it grows and ended once,
// the deltas equal to the part in the response, and exactly one Finish, last. Only a truncated answer may leave a part
// open.
func verified(stream iter.Seq2[llm.StreamEvent, error]) (*llm.Response, error) {
	g := grammar{open: map[int]*strings.Builder{}, closed: map[int]bool{}}
	var resp *llm.Response
	for ev, err := range stream {
		if resp != nil {
			return resp, fmt.Errorf("%T after Finish", ev)
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
		return &llm.Response{}, fmt.Errorf("the stream ended without Finish or an error")
	}
	if len(g.open) > 0 && resp.Finish.Reason != llm.FinishLength {
		return resp, fmt.Errorf("%d parts were started and not ended", len(g.open))
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
		return fmt.Errorf("%T before Start, or a second Start", ev)
	}
	g.started = true
	switch ev := ev.(type) {
	case llm.TextStart:
		return g.start(ev.Index)
	case llm.ThinkingStart:
		return g.start(ev.Index)
	case llm.ToolCallStart:
		return g.start(ev.Index)
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

func (g *grammar) start(i int) error {
	if g.open[i] != nil || g.closed[i] {
		return fmt.Errorf("part %d started twice", i)
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
		return fmt.Errorf("part %d ended but is not open", i)
	}
	if got := g.open[i].String(); got != whole {
		return fmt.Errorf("part %d was streamed as %q but ended as %q", i, clip(got), clip(whole))
	}
	delete(g.open, i)
	g.closed[i] = true
	return nil
}
