package llmtest

import (
	"context"
	"net/http"
	"time"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// Fault is a simulated failure. The zero value means none.
type Fault struct {
	// Status fails the call with this HTTP status and RetryAfter as the header.
	Status     int
	RetryAfter string
	Message    string // error message; default: the usual one for the status

	// CutAt ends the body after this many bytes, as if the connection had been closed. With Reset the connection
	// is reset instead, at once if CutAt is 0.
	CutAt int
	Reset bool
	// StallAt sends nothing after this many bytes until the client disconnects. StallAtOnce stalls before the headers.
	// SlowFirstByte delays the headers.
	StallAt       int
	StallAtOnce   bool
	SlowFirstByte time.Duration
	// Malformed replaces an event, or the body, by invalid JSON.
	Malformed bool
	// Duplicate sends events without content twice, such as the start and end of parts.
	Duplicate bool
	// MidStream sends an error event with this status before the last event.
	MidStream int
	// Pings sends comment lines between the events.
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

// breaks reports whether the fault interrupts a stream in memory.
func (f Fault) breaks() bool {
	return f.CutAt > 0 || f.Reset || f.StallAt > 0 || f.StallAtOnce || f.Malformed || f.MidStream != 0
}

// streamError returns the error that ends a stream in memory.
func (f Fault) streamError(ctx context.Context, name string) error {
	switch {
	case f.StallAt > 0 || f.StallAtOnce:
		<-ctx.Done()
		return cancelled(name, ctx.Err())
	case f.MidStream != 0:
		return f.statusError(name)
	case f.Malformed:
		return llm.Errorf(llm.ErrMalformed, name, "malformed JSON")
	case f.Reset:
		return llm.Errorf(llm.ErrNetwork, name, "connection reset")
	}
	return llm.Errorf(llm.ErrIncomplete, name, "the stream ended before the response was complete")
}

// statusError returns the error for the fault's HTTP status.
func (f Fault) statusError(name string) error {
	h := http.Header{}
	if f.RetryAfter != "" {
		h.Set("Retry-After", f.RetryAfter)
	}
	e := wire.HTTPError(f.Status+f.MidStream, h, object("error", object("message", f.message())))
	e.Provider = name
	e.UsageComplete = f.Status != 0
	return e
}
