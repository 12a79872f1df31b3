package object

import (
	"context"
	"iter"
	"strings"

	"github.com/reins-agent/reins/llm"
)

// Update is a state of a value that is still being written.
type Update[T any] struct {
	// Value is what there is of it. Until it is Done, text may be cut off, members and elements
	// may be missing, and nothing was validated.
	Value T
	Done  bool
	// Response is the model's answer, once Done.
	Response *llm.Response
}

// Stream is Generate with the value growing before the eyes of the caller. The last update is Done
// and holds the validated value; or else the stream ends in an error, as Generate would give it.
// If the call is retried, updates start from nothing again.
func Stream[T any](ctx context.Context, c *llm.Client, r *llm.Request) iter.Seq2[Update[T], error] {
	return func(yield func(Update[T], error) bool) {
		f, err := formFor[T](r.Output)
		if err != nil {
			yield(Update[T]{}, err)
			return
		}
		g := growth[T]{Form: f}
		for ev, err := range c.Stream(ctx, f.request(r)) {
			if err != nil {
				yield(Update[T]{}, err)
				return
			}
			if done, ok := ev.(llm.Finish); ok {
				value, err := read[T](f, done.Response)
				yield(Update[T]{Value: value, Done: err == nil, Response: done.Response}, err)
				return
			}
			if value, changed := g.add(ev); changed && !yield(Update[T]{Value: value}, nil) {
				return
			}
		}
	}
}

// growth follows a value through a stream.
type growth[T any] struct {
	*Form
	text  strings.Builder
	tool  int    // the index of the tool call that carries the value, counted from 1
	shown string // what the last update was decoded from
	next  int    // the length of text at which to look again
}

// add takes in an event and decodes anew if that seems worth it.
func (g *growth[T]) add(ev llm.StreamEvent) (value T, changed bool) {
	switch ev := ev.(type) {
	case llm.TextDelta:
		g.text.WriteString(ev.Text)
	case llm.ToolCallStart:
		if ev.Name == g.output.Name && g.tool == 0 {
			g.tool = ev.Index + 1
		}
		return value, false
	case llm.ToolCallDelta:
		if ev.Index+1 != g.tool {
			return value, false
		}
		g.text.WriteString(ev.Arguments)
	case llm.Retry:
		*g = growth[T]{Form: g.Form}
		return value, false
	default:
		return value, false
	}
	if g.text.Len() < g.next {
		return value, false
	}
	// Each look costs the whole length. Looking less often as it grows keeps the sum in bounds.
	g.next = g.text.Len() + 1 + g.text.Len()/32
	whole, ok := complete(unfence(g.text.String()))
	if !ok || whole == g.shown || g.unmarshal([]byte(whole), &value) != nil {
		var zero T
		return zero, false
	}
	g.shown = whole
	return value, true
}
