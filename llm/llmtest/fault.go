package llmtest

import (
	"context"
	"net/http"
	"time"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/wire"
)

// Fault is what goes wrong with a call. The zero value is nothing.
type Fault struct {
	// Status makes the call fail with this HTTP status, RetryAfter being the header's value.
	Status     int
	RetryAfter string
	Message    string // of the error; "" is a usual one

	// CutAt ends the body after so many bytes, as if the connection had closed cleanly there.
	// With Reset the connection is reset instead, at once if CutAt is 0.
	CutAt int
	Reset bool
	// Stall sends nothing more after so many bytes, until the client goes away; StallAtOnce does
	// so before the headers, and SlowFirstByte only for a while.
	StallAt       int
	StallAtOnce   bool
	SlowFirstByte time.Duration
	// Malformed puts broken JSON in the place of an event or the body.
	Malformed bool
	// Duplicate sends the events twice that carry no piece of content, such as the beginnings and
	// ends of parts.
	Duplicate bool
	// MidStream puts an error event with this status before the last event.
	MidStream int
	// Pings puts comment lines between the events.
	Pings bool
}

func (f Fault) message() string {
	if f.Message != "" {
		return f.Message
	}
	switch f.Status + f.MidStream {
	case http.StatusRequestEntityTooLarge:
		return "Request exceeds the maximum size"
	case http.StatusTooManyRequests:
		return "Rate limit reached for requests"
	case 529:
		return "Overloaded"
	}
	return http.StatusText(f.Status + f.MidStream)
}

// breaks reports whether the fault keeps a stream in memory from finishing.
func (f Fault) breaks() bool {
	return f.CutAt > 0 || f.Reset || f.StallAt > 0 || f.StallAtOnce || f.Malformed || f.MidStream != 0
}

// breakStream is the error that a broken stream in memory ends with.
func (f Fault) breakStream(ctx context.Context, name string) error {
	switch {
	case f.StallAt > 0 || f.StallAtOnce:
		<-ctx.Done()
		return cancelled(name, ctx.Err())
	case f.MidStream != 0:
		return f.memoryError(name)
	case f.Malformed:
		return llm.Errorf(llm.ErrMalformed, name, "malformed JSON")
	case f.Reset:
		return llm.Errorf(llm.ErrNetwork, name, "connection reset")
	}
	return llm.Errorf(llm.ErrIncomplete, name, "the stream ended before the answer did")
}

// memoryError is the error that the HTTP status would give.
func (f Fault) memoryError(name string) error {
	h := http.Header{}
	if f.RetryAfter != "" {
		h.Set("Retry-After", f.RetryAfter)
	}
	status := f.Status + f.MidStream
	body := append(wire.AppendString([]byte(`{"error":{"message":`), f.message()), "}}"...)
	e := wire.HTTPError(status, h, body)
	e.Provider = name
	e.UsageComplete = f.Status != 0
	return e
}
