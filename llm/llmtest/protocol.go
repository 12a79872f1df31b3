package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// protocol is the server side of a wire protocol.
type protocol interface {
	// match reports whether the request is for this protocol.
	match(r *http.Request) bool
	dialect() wire.Dialect
	// base returns the provider's name in package connect and the path in the adapter's base URL.
	base() (provider, path string)
	// key returns the request's API key, or "".
	key(r *http.Request) string
	// validate returns the error for a request that the real API would refuse.
	validate(r *http.Request, body []byte) error
	// streaming reports whether the request asks for a stream.
	streaming(r *http.Request, body []byte) bool
	// unary encodes a reply as one body.
	unary(rep reply) []byte
	// stream encodes a reply as server-sent events, each with its blank line.
	stream(rep reply) [][]byte
	// failure encodes an HTTP error body, midFailure an error event in a stream.
	failure(status int, message string) []byte
	midFailure(status int, message string) []byte
	// refusal returns the request member that holds its items, and a function for the error message about the item at a
	// path.
	refusal() (list string, complain func(path []any) string)
	// requestID returns the header that identifies an answer.
	requestID(id string) (header, value string)
}

// reply is a turn with its defaults set.
type reply struct {
	ID      string // without the protocol's prefix
	Model   string
	Parts   []llm.Part
	Finish  llm.FinishReason
	Usage   llm.Usage
	Chunk   int // approximate bytes of text per delta
	Request *llm.Request
	Detail  string // about the finish
	found   findings
}

// examiner is implemented by protocols that require values of earlier answers back, or limit the input.
type examiner interface {
	// examine checks what only a server can check. It is called after validate.
	examine(c ServerConfig, r *http.Request, body []byte) (findings, error)
}

// findings are what examine found out about a request and a reply needs.
type findings struct {
	thread  *claudeThread // nil unless it is for a Claude model with rules
	compact bool          // it asks for compaction
	cached  bool          // it is for a Claude model of OpenRouter and has cache_control
}

func examine(c ServerConfig, p protocol, r *http.Request, body []byte) (findings, error) {
	if e, ok := p.(examiner); ok {
		return e.examine(c, r, body)
	}
	return findings{}, nil
}

// tokens estimates a request's input. Files count as 1,600 tokens.
func tokens(body []byte) int64 {
	n := int64(len(body))
	for rest := body; ; {
		_, after, ok := bytes.Cut(rest, []byte(`"data":"`))
		if !ok {
			return n / 4
		}
		end := bytes.IndexByte(after, '"')
		if end < 0 {
			return n / 4
		}
		n += 6400 - int64(end)
		rest = after[end:]
	}
}

// tooLong returns an error if the input is longer than a limit, which the server's one replaces.
func tooLong(c ServerConfig, limit int64, body []byte, format string) error {
	if c.MaxInput > 0 {
		limit = c.MaxInput
	}
	if limit == 0 || int64(len(body))/4 <= limit {
		return nil
	}
	if n := tokens(body); n > limit {
		return fmt.Errorf(format, n, limit)
	}
	return nil
}

// apiError is an API's error text.
type apiError string

func (e apiError) Error() string { return string(e) }

func apiErrorf(format string, args ...any) error { return apiError(fmt.Sprintf(format, args...)) }

// chunks splits s into pieces of about n bytes, between characters.
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

// frame encodes a server-sent event, without an event field if the name is empty.
func frame(name string, data []byte) []byte {
	var b []byte
	if name != "" {
		b = append(append(append(b, "event: "...), name...), '\n')
	}
	b = append(append(b, "data: "...), data...)
	return append(b, "\n\n"...)
}

// object encodes alternating names and values as an object, in this order.
func object(pairs ...any) json.RawMessage {
	var e wire.Encoder
	e.Open('{')
	for i := 0; i+1 < len(pairs); i += 2 {
		e.Key(pairs[i].(string))
		switch v := pairs[i+1].(type) {
		case string:
			e.Str(v)
		case json.RawMessage:
			e.Raw(v)
		default:
			b, err := json.Marshal(v)
			if err != nil {
				panic("llmtest: " + err.Error())
			}
			e.Raw(b)
		}
	}
	e.Close('}')
	return e.Buf
}

// list encodes values as an array, even without values.
func list(items ...json.RawMessage) json.RawMessage {
	var e wire.Encoder
	e.Open('[')
	for _, item := range items {
		e.Raw(item)
	}
	e.Close(']')
	return e.Buf
}

// bearer returns the key in a header, or the token in Authorization.
func bearer(r *http.Request, header string) string {
	if key := r.Header.Get(header); key != "" {
		return key
	}
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token
}

// pattern is a regular expression compiled on first use, because programs with a demo link this package.
type pattern struct {
	text string
	once sync.Once
	re   *regexp.Regexp
}

func (p *pattern) match(s string) bool {
	p.once.Do(func() { p.re = regexp.MustCompile(p.text) })
	return p.re.MatchString(s)
}

func (p *pattern) String() string { return p.text }
