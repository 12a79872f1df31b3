package llm

import (
	"context"
	"iter"
	"time"
)

// StreamEvent is an event in a model's answer. Index identifies a part: all events for one part have the same index,
// and parts may overlap.
type StreamEvent interface{ streamEvent() }

// Start is the first event in an answer.
type Start struct {
	ID, Model, RequestID string
}

// TextStart, TextDelta and TextEnd carry a text part.
type (
	TextStart struct{ Index int }
	TextDelta struct {
		Index int
		Text  string
	}
	TextEnd struct {
		Index int
		Text  Text
	}
)

// ThinkingStart, ThinkingDelta and ThinkingEnd carry a thinking part.
type (
	ThinkingStart struct{ Index int }
	ThinkingDelta struct {
		Index int
		Text  string
	}
	ThinkingEnd struct {
		Index    int
		Thinking Thinking
	}
)

// ToolCallStart, ToolCallDelta and ToolCallEnd carry a tool call. An interrupted call has no ToolCallEnd.
type (
	ToolCallStart struct {
		Index    int
		ID, Name string
		Custom   bool
	}
	ToolCallDelta struct {
		Index     int
		Arguments string
	}
	ToolCallEnd struct {
		Index int
		Call  ToolCall
	}
)

// ThinkingProgress estimates how many tokens a thinking part has so far, if its text is not shown.
type ThinkingProgress struct {
	Index  int
	Tokens int64
}

// PartDone holds a part that arrived whole, such as an image or an opaque item.
type PartDone struct {
	Index int
	Part  Part
}

// Raw is a provider event that is not modelled. Data is valid only until the next event.
type Raw struct {
	Type string
	Data []byte
}

// Retry announces that an attempt failed and that the next follows after Delay. If Discard is set, the consumer must
// discard the failed attempt's events.
type Retry struct {
	Attempt int // next attempt, from 2
	Max     int // maximum number of attempts; 0 while the server is loading the model
	Delay   time.Duration
	Discard bool
	Err     error // why the attempt failed; [Spent] returns the tokens it used
}

// Finish is the last event in a successful answer.
type Finish struct{ Response *Response }

func (Start) streamEvent()            {}
func (TextStart) streamEvent()        {}
func (TextDelta) streamEvent()        {}
func (TextEnd) streamEvent()          {}
func (ThinkingStart) streamEvent()    {}
func (ThinkingDelta) streamEvent()    {}
func (ThinkingEnd) streamEvent()      {}
func (ToolCallStart) streamEvent()    {}
func (ToolCallDelta) streamEvent()    {}
func (ToolCallEnd) streamEvent()      {}
func (ThinkingProgress) streamEvent() {}
func (PartDone) streamEvent()         {}
func (Raw) streamEvent()              {}
func (Retry) streamEvent()            {}
func (Finish) streamEvent()           {}

// Provider serves models over one protocol.
type Provider interface {
	// Name is the name for Request.Provider.
	Name() string
	// Stream makes one call and yields its events. The last is a Finish or an error. It does not retry.
	// Stopping the iteration cancels the call.
	Stream(ctx context.Context, r *Request) iter.Seq2[StreamEvent, error]
}

// Shaper is implemented by providers that derive request settings, such as thinking, from the conversation.
type Shaper interface {
	// Shape returns these settings. If they differ from the previous request, the provider cannot use its prompt cache.
	Shape(r *Request) string
}

// StreamFunc is a provider's Stream method.
type StreamFunc func(ctx context.Context, r *Request) iter.Seq2[StreamEvent, error]

// Middleware wraps calls to a provider.
type Middleware func(next StreamFunc) StreamFunc

// Collect reads a stream to its end and returns the response in its Finish event. Its Retried field holds the tokens
// that failed attempts used.
func Collect(stream iter.Seq2[StreamEvent, error]) (*Response, error) {
	var retried Usage
	for ev, err := range stream {
		if err != nil {
			return nil, err
		}
		switch ev := ev.(type) {
		case Retry:
			u, _ := Spent(ev.Err)
			retried = retried.Add(u)
		case Finish:
			ev.Response.Retried = retried
			return ev.Response, nil
		}
	}
	return nil, &Error{Kind: ErrIncomplete, Message: "the stream ended without a finish event"}
}
