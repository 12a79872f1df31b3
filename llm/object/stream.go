package object

import (
	"context"
	"iter"
	"strings"

	"github.com/reins-agent/reins/llm"
)

// Update is a partial or complete value.
type Update[T any] struct {
	// Value is the value so far. Until Done, text may be incomplete, members and elements may be missing,
	// and nothing is validated.
	Value    T
	Done     bool
	Response *llm.Response // the answer, if Done
}

// Stream is like Generate, but also yields partial values as they arrive. The last update is Done and has the
// validated value, unless the stream ends in an error. If the call is retried, the value starts empty again.
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

// growth is a value that grows with a stream.
type growth[T any] struct {
	*Form
	text  strings.Builder
	tool  int    // index of the tool call with the value, from 1
	shown string // JSON in the last update
	next  int    // length of text at which to decode again
}

// add applies an event. It returns the value if it has changed.
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
	// Decoding costs the whole length, so decode less often as the text grows.
	g.next = g.text.Len() + 1 + g.text.Len()/32
	whole, ok := complete(unfence(g.text.String()))
	if !ok || whole == g.shown || g.unmarshal([]byte(whole), &value) != nil {
		var zero T
		return zero, false
	}
	g.shown = whole
	return value, true
}
