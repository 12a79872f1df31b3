package llmtest

import (
	"net/http"
	"unicode/utf8"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/wire"
)

// protocol is the server's side of a wire protocol.
type protocol interface {
	// match reports whether the request is for this protocol.
	match(r *http.Request) bool
	dialect() wire.Dialect
	// base is the provider that speaks it in connect, and the path of the base URL for its adapter.
	base() (provider, path string)
	// key is the API key that the request brings, or "".
	key(r *http.Request) string
	// validate reports what the real API would refuse, as a sentence that names the place.
	validate(r *http.Request, body []byte) error
	// streaming reports whether the request asks for a stream.
	streaming(r *http.Request, body []byte) bool
	// unary writes a reply as a whole answer.
	unary(rep reply) []byte
	// stream writes a reply as server-sent events, one frame each with its blank line.
	stream(rep reply) [][]byte
	// failure writes the body of an HTTP error, and midFailure an error event of a stream.
	failure(status int, message string) []byte
	midFailure(status int, message string) []byte
	// refusal is the member of a request that holds its items, and what an error says of one of
	// them, given the path to it.
	refusal() (list string, complain func(path []any) string)
	// requestID is the name and value of the header that identifies an answer.
	requestID(id string) (header, value string)
}

// reply is what a protocol writes: a turn with everything filled in.
type reply struct {
	ID      string // of the answer, without the protocol's prefix
	Model   string
	Parts   []llm.Part
	Finish  llm.FinishReason
	Usage   llm.Usage
	Chunk   int // bytes of text per delta, about
	Request *llm.Request
}

// chunks cuts s into pieces of about n bytes, between characters.
func chunks(s string, n int) []string {
	var out []string
	for len(s) > 0 {
		end := min(n, len(s))
		for end < len(s) && !utf8.RuneStart(s[end]) {
			end++
		}
		out = append(out, s[:end])
		s = s[end:]
	}
	return out
}

// frame is one server-sent event; an empty name leaves the event field out.
func frame(name string, data []byte) []byte {
	var b []byte
	if name != "" {
		b = append(append(append(b, "event: "...), name...), '\n')
	}
	b = append(append(b, "data: "...), data...)
	return append(b, "\n\n"...)
}
