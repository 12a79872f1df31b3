package llmtest

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
)

// hostedClaude is the server's side of Anthropic's protocol on Amazon Bedrock or Vertex AI. The model is in the path.
type hostedClaude struct {
	anthropicProtocol
	host, version          string
	prefix, whole, streams string // parts of the path
}

var (
	bedrockClaude = hostedClaude{host: "bedrock", version: "bedrock-2023-05-31", prefix: "/model/", whole: "/invoke", streams: "/invoke-with-response-stream"}
	vertexClaude  = hostedClaude{host: "vertex", version: "vertex-2023-10-16", prefix: "/publishers/anthropic/models/", whole: ":rawPredict", streams: ":streamRawPredict"}
)

func (p hostedClaude) match(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.Contains(r.URL.Path, p.prefix) &&
		(strings.HasSuffix(r.URL.Path, p.whole) || strings.HasSuffix(r.URL.Path, p.streams))
}

func (p hostedClaude) base() (provider, path string) { return p.host, "" }

func (p hostedClaude) streaming(r *http.Request, _ []byte) bool {
	return strings.HasSuffix(r.URL.Path, p.streams)
}

// validate checks what differs from Anthropic's own API, and then the rest.
func (p hostedClaude) validate(r *http.Request, body []byte) error {
	v, err := wire.ParseJSON(body)
	switch {
	case err != nil || v.Kind() != '{':
		return fmt.Errorf("the request body is not valid JSON: %w", err)
	case !v.Get("anthropic_version").Is(p.version):
		return fmt.Errorf("anthropic_version: must be %s", p.version)
	case v.Get("model") != nil:
		return errors.New("model: Extra inputs are not permitted")
	case p.host == "bedrock" && v.Get("stream") != nil:
		return errors.New("stream: Extra inputs are not permitted")
	case p.host == "vertex" && v.Get("stream").Bool() != p.streaming(r, nil):
		return errors.New("stream: does not match the method")
	}
	plain := wire.Rest(v, func(name string, _ wire.Value) bool {
		return name == "anthropic_version" || name == "anthropic_beta" && p.host == "bedrock"
	})
	return claudeValidate(append([]byte(`{"model":"m",`), plain[1:]...), modelOf(r, ""), "", p.betas(r, v))
}

func (p hostedClaude) examine(c ServerConfig, r *http.Request, body []byte) (findings, error) {
	return claudeExamine(c, modelOf(r, ""), p.betas(r, body), body)
}

// betas returns a request's beta features. Bedrock has them in the body.
func (p hostedClaude) betas(r *http.Request, v wire.Value) betaSet {
	if p.host != "bedrock" {
		return claudeBetas(r)
	}
	var s betaSet
	for it := v.Get("anthropic_beta").Elements(); it.Next(); {
		s.names = append(s.names, it.Value.Str())
	}
	return s
}

// bedrockMessages is the server side of the Messages API on Amazon Bedrock, which differs from Anthropic's own in
// authorization and model names.
type bedrockMessages struct{ anthropicProtocol }

func (bedrockMessages) match(r *http.Request) bool {
	return r.Method == http.MethodPost && r.URL.Path == "/anthropic/v1/messages"
}

func (bedrockMessages) base() (provider, path string) { return "bedrock", "" }

func (p bedrockMessages) validate(r *http.Request, body []byte) error {
	if model := wire.Value(body).Get("model").Str(); strings.HasPrefix(model, "claude-") && claudeRulesOf(model) != nil {
		return fmt.Errorf("model: %s is not a model of Amazon Bedrock. Did you mean anthropic.%s?", model, model)
	}
	return p.anthropicProtocol.validate(r, body)
}

func (bedrockMessages) authorized(r *http.Request, body []byte, key string) bool {
	if sent := r.Header.Get("X-Api-Key"); sent != "" {
		return key == "" || sent == key
	}
	return awsAuthorized(r, body, key)
}

func (bedrockMessages) contentType() string       { return "text/event-stream" }
func (bedrockMessages) reframe(sse []byte) []byte { return sse }
func (bedrockMessages) errorType(int) string      { return "" }

func (p hostedClaude) requestID(id string) (header, value string) {
	if p.host == "bedrock" {
		return "X-Amzn-Requestid", id
	}
	return p.anthropicProtocol.requestID(id)
}

// failure encodes an error as the host does.
func (p hostedClaude) failure(status int, message string) []byte {
	if p.host == "bedrock" {
		return object("message", message)
	}
	return p.anthropicProtocol.failure(status, message)
}

func (p hostedClaude) midFailure(status int, message string) []byte {
	if p.host == "bedrock" {
		return frame(awsException(status), object("message", message))
	}
	return p.anthropicProtocol.midFailure(status, message)
}

func (p hostedClaude) authorized(r *http.Request, body []byte, key string) bool {
	if p.host == "bedrock" {
		return awsAuthorized(r, body, key)
	}
	return bearerOnly(r, key)
}

// contentType returns the type of streams.
func (p hostedClaude) contentType() string {
	if p.host == "bedrock" {
		return awsStream
	}
	return "text/event-stream"
}

// reframe encodes a server-sent event as a message of AWS.
func (p hostedClaude) reframe(sse []byte) []byte {
	name, data := splitFrame(sse)
	switch {
	case p.host != "bedrock":
		return sse
	case strings.HasSuffix(name, "Exception"):
		return awsMessage(data, ":exception-type", name, ":content-type", "application/json", ":message-type", "exception")
	case data == nil:
		data = []byte(`{"type":"ping"}`)
	}
	chunk := object("bytes", base64.StdEncoding.EncodeToString(data), "p", "abcdefgh")
	return awsMessage(chunk, ":event-type", "chunk", ":content-type", "application/json", ":message-type", "event")
}

const awsStream = "application/vnd.amazon.eventstream"

// splitFrame returns a server-sent event's name and data. A comment's data is nil.
func splitFrame(sse []byte) (name string, data []byte) {
	for line := range bytes.Lines(sse) {
		if v, ok := bytes.CutPrefix(line, []byte("event: ")); ok {
			name = string(bytes.TrimSpace(v))
		} else if v, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			data = bytes.TrimSpace(v)
		}
	}
	return name, data
}

// awsMessage encodes an event stream message. Headers are alternating names and values.
func awsMessage(payload []byte, headers ...string) []byte {
	var head bytes.Buffer
	for i, h := range headers {
		if i%2 == 0 {
			head.WriteByte(byte(len(h)))
		} else {
			head.Write([]byte{7, byte(len(h) >> 8), byte(len(h))})
		}
		head.WriteString(h)
	}
	b := make([]byte, 12, 16+head.Len()+len(payload))
	binary.BigEndian.PutUint32(b, uint32(cap(b)))
	binary.BigEndian.PutUint32(b[4:], uint32(head.Len()))
	binary.BigEndian.PutUint32(b[8:], crc32.ChecksumIEEE(b[:8]))
	b = append(append(b, head.Bytes()...), payload...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

// awsException returns the exception name in a stream for an HTTP status.
func awsException(status int) string {
	switch {
	case status == http.StatusTooManyRequests:
		return "throttlingException"
	case status == http.StatusServiceUnavailable, status == 529:
		return "serviceUnavailableException"
	case status >= 500:
		return "internalServerException"
	}
	return "validationException"
}

// awsErrorType returns the error type for an HTTP status.
func awsErrorType(status int) string {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return "AccessDeniedException"
	case http.StatusNotFound:
		return "ResourceNotFoundException"
	}
	name := awsException(status)
	return strings.ToUpper(name[:1]) + name[1:]
}

func (p hostedClaude) errorType(status int) string {
	if p.host == "bedrock" {
		return awsErrorType(status)
	}
	return ""
}

// bearerOnly reports whether the request has this key as a bearer token, and no other one.
func bearerOnly(r *http.Request, key string) bool {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return ok && token != "" && (key == "" || token == key) && r.Header.Get("X-Api-Key") == ""
}

// rawJSON returns valid JSON, or an empty object.
func rawJSON(text string) json.RawMessage {
	if isObject(text) {
		return json.RawMessage(text)
	}
	return json.RawMessage("{}")
}
