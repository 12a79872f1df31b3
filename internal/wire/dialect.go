// Package wire contains the code that the provider adapters share. An adapter only encodes requests and
// decodes answers: it implements [Dialect] and does no I/O.
//
// [Provider] drives a dialect over HTTP, with limits, typed errors and signing. [Read] turns one HTTP answer into
// events; `reins wire decode` also uses it. [Value] reads JSON without building trees, [Encoder] writes it append-only,
// [Assembler] builds the events and the response, and [History] records which messages are encoded.
package wire

import (
	"net/http"

	"github.com/reins-agent/reins/llm"
)

// Dialect encodes requests and decodes answers in a provider's protocol. It does no I/O and has no state between calls,
// except for errors that a [Learner] learned from.
type Dialect interface {
	// Name is the dialect's key in llm.State and llm.Request.Options.
	Name() string
	// Encode builds the HTTP request for r. With a cache in r, it encodes only new messages.
	Encode(r *llm.Request) (*llm.Call, error)
	// Decode reads a whole answer into a and finishes it.
	Decode(body []byte, a *Assembler) error
	// NewDecoder begins to read a streamed answer into a.
	NewDecoder(a *Assembler) Decoder
	// Authorize sets the header for the API key.
	Authorize(h http.Header, key string)
}

// Learner is implemented by dialects that ask for something that a server may refuse to some accounts.
type Learner interface {
	// Learn reports whether later requests will omit the setting that the server refused with this error. The call is
	// then repeated once.
	Learn(r *llm.Request, e *llm.Error) bool
}

// Decoder reads a streamed answer.
type Decoder interface {
	// Event reads one event and finishes the assembler once the answer is complete. It returns an
	// *llm.Error if the provider reports an error, and any other error if the event is malformed.
	Event(ev Event) error
	// End is called when the stream ends before the assembler is done. It finishes the assembler if
	// the answer is complete anyway.
	End()
	// Usage returns the token counts received so far and whether they are final. It is called when
	// the stream was interrupted.
	Usage() (u llm.Usage, final bool)
}
