package llm

import (
	"context"
	"iter"
	"time"
)

// StreamEvent is a step of a model's answer. Index counts the parts of the answer: all events of
// one part carry its index, and parts may overlap.
type StreamEvent interface{ streamEvent() }

// Start is the first event of an answer.
type Start struct {
	ID, Model, RequestID string
}

// TextStart, TextDelta and TextEnd bracket a text part.
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

// ThinkingStart, ThinkingDelta and ThinkingEnd bracket a thinking part.
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

// ToolCallStart, ToolCallDelta and ToolCallEnd bracket a tool call. Only the call of ToolCallEnd
// is complete; a call that was cut off never gets one.
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

// PartDone carries a part that arrived whole, such as an image or an opaque item.
type PartDone struct {
	Index int
	Part  Part
}

// Raw is a provider event that is not modelled. Data is only valid during the event.
type Raw struct {
	Type string
	Data []byte
}

// Retry says that an attempt failed and that the call is made again after Delay. If Discard is set,
// the events since the last Start or Retry belong to the failed attempt and must be forgotten.
type Retry struct {
	Attempt int // the number of the attempt to come, from 2
	Max     int // the number of the last attempt that the policy allows
	Delay   time.Duration
	Discard bool
	Err     error // why the attempt failed; [Spent] tells what it used
}

// Finish is the last event of an answer that did not fail.
type Finish struct{ Response *Response }

func (Start) streamEvent()         {}
func (TextStart) streamEvent()     {}
func (TextDelta) streamEvent()     {}
func (TextEnd) streamEvent()       {}
func (ThinkingStart) streamEvent() {}
func (ThinkingDelta) streamEvent() {}
func (ThinkingEnd) streamEvent()   {}
func (ToolCallStart) streamEvent() {}
func (ToolCallDelta) streamEvent() {}
func (ToolCallEnd) streamEvent()   {}
func (PartDone) streamEvent()      {}
func (Raw) streamEvent()           {}
func (Retry) streamEvent()         {}
func (Finish) streamEvent()        {}

// Provider serves models over one protocol.
type Provider interface {
	// Name is what Request.Provider calls this provider.
	Name() string
	// Stream makes one call and yields its events: exactly one Finish, as the last event, or one
	// error, as the last pair. It makes no retries. Breaking off the iteration ends the call.
	Stream(ctx context.Context, r *Request) iter.Seq2[StreamEvent, error]
}

// Shaper is a provider that can tell how it asks for what is not in the messages.
type Shaper interface {
	// Shape is that for one request. It is of interest where it follows from the conversation: when
	// it is another one than before, the provider cannot use what it has cached.
	Shape(r *Request) string
}

// StreamFunc is the Stream method of a provider.
type StreamFunc func(ctx context.Context, r *Request) iter.Seq2[StreamEvent, error]

// Middleware wraps calls to a provider.
type Middleware func(next StreamFunc) StreamFunc

// Collect drains a stream and returns the response of its Finish event. The tokens of attempts that
// failed on the way are in its Retried field.
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
