package wire

import (
	"net/http"

	"github.com/reins-agent/reins/llm"
)

// Dialect is a provider's protocol: requests to bytes, bytes to events. It does no I/O and keeps
// no state between calls.
type Dialect interface {
	// Name is what llm.State and llm.Request.Options call the dialect.
	Name() string
	// Encode builds the HTTP request for r. With a cache in r, messages that were encoded before
	// are not encoded again.
	Encode(r *llm.Request) (*Call, error)
	// Decode reads a whole answer into a and finishes it.
	Decode(body []byte, a *Assembler) error
	// NewDecoder begins to read a streamed answer into a.
	NewDecoder(a *Assembler) Decoder
	// Authorize puts an API key where the provider looks for it.
	Authorize(h http.Header, key string)
}

// Parser is implemented by dialects that can also read requests, for test servers and `reins wire parse`.
// Making calls does not need it.
type Parser interface {
	// Parse reads the body of a request, the inverse of Encode. Dropped lists what llm.Request cannot
	// represent, as paths such as "messages[2].name".
	Parse(body []byte) (r *llm.Request, dropped []string, err error)
}

// Decoder reads a streamed answer.
type Decoder interface {
	// Event reads one event. An error that is an *llm.Error is the provider's; any other means
	// that the event is malformed. Once the answer is complete the decoder finishes its assembler.
	Event(ev Event) error
	// End is called when the stream is over and the assembler is not done. It finishes the
	// assembler if the answer is complete all the same.
	End()
	// Usage is called when the stream broke off: it tells the token counts that came before, and
	// whether they are final.
	Usage() (u llm.Usage, final bool)
}

// Call is an HTTP request in the making.
type Call struct {
	Path   string // below the base URL, with a leading slash
	Query  string
	Header http.Header
	Body   Body
	Stream bool // the answer is asked for as server-sent events
}

// Body is a request body in pieces, so that long histories need not be copied to be sent.
type Body [][]byte

// Len is the number of bytes of the body.
func (b Body) Len() int64 {
	var n int64
	for _, p := range b {
		n += int64(len(p))
	}
	return n
}

// Bytes is the body in one piece.
func (b Body) Bytes() []byte {
	out := make([]byte, 0, b.Len())
	for _, p := range b {
		out = append(out, p...)
	}
	return out
}
