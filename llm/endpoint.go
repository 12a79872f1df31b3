package llm

import (
	"bytes"
	"net/http"
	"time"
)

// Endpoint configures where and how an adapter calls its provider.
type Endpoint struct {
	Name    string // provider name, for routing; "" means the adapter's default
	BaseURL string // "" means the vendor's
	APIKey  string
	// KeyFrom names the source of APIKey or of what Sign uses, such as an environment variable, for errors about it.
	KeyFrom string
	Header  http.Header // added to every request
	Query   string      // added to every URL, such as "api-version=2025-04-01-preview"
	// Rewrite changes a request before it is signed and sent, for endpoints with other paths or bodies
	// such as Vertex and Bedrock.
	Rewrite func(r *Request, c *Call) error
	// Sign authorizes a request, given its whole body. APIKey is then not sent.
	Sign       func(r *http.Request, body []byte) error
	HTTPClient *http.Client // nil means a new client with these limits
	Limits     Limits
}

// Limits limits a call's time and size. Zero means the default, a negative value no limit.
type Limits struct {
	Connect   time.Duration // until connected; default 30 s
	FirstByte time.Duration // from the request sent to the first answer byte; default 5 min
	Unary     time.Duration // FirstByte for calls that are not streamed; default 15 min
	Idle      time.Duration // between two reads; default 2 min
	Call      time.Duration // whole call; default 1 h; exceeding it is not retried
	MaxEvent  int           // bytes in one streamed event or a whole answer; default 8 MiB
	MaxTotal  int           // bytes of one answer in memory, with all its parts; default 8 MiB
}

// Call is an HTTP request that an adapter has encoded.
type Call struct {
	Path   string // below the base URL, with a leading slash
	Query  string
	Header http.Header
	Body   Body
	Stream bool // asks for a stream
	// Seal adds state to the answer's message that the next request needs; may be nil.
	Seal func(m *Message)
}

// Body is a request body in pieces, so that a long history can be sent without copying it.
type Body [][]byte

// Bytes returns the body in one piece.
func (b Body) Bytes() []byte { return bytes.Join(b, nil) }
