package llmtest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/reins-agent/reins/internal/wire"
)

// exchange is a request and its answer in a cassette.
type exchange struct {
	Method   string            `json:"method"`
	Path     string            `json:"path"` // with query
	Request  string            `json:"request"`
	Status   int               `json:"status"`
	Header   map[string]string `json:"header,omitempty"`
	Response string            `json:"response"`
	Base64   bool              `json:"base64,omitempty"` // Response is base64
}

// recordedHeaders are the response headers in a cassette.
var recordedHeaders = []string{"Content-Type", "Retry-After", "Retry-After-Ms", "X-Request-Id", "Request-Id"}

// Recorder is a transport that records its traffic. It omits request headers and redacts keys.
type Recorder struct {
	Transport http.RoundTripper // default: http.DefaultTransport
	Secrets   []string          // other texts to redact

	mu    sync.Mutex
	tapes []*exchange
}

// RoundTrip forwards a request and records the exchange.
func (r *Recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := drain(req)
	if err != nil {
		return nil, err
	}
	next := r.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	resp, err := next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	tape := &exchange{Method: req.Method, Path: r.clean(req.URL.RequestURI()), Request: r.clean(string(body)), Status: resp.StatusCode, Header: map[string]string{}}
	for _, k := range recordedHeaders {
		if v := resp.Header.Get(k); v != "" {
			tape.Header[k] = v
		}
	}
	r.mu.Lock()
	r.tapes = append(r.tapes, tape)
	r.mu.Unlock()
	resp.Body = &taping{ReadCloser: resp.Body, done: func(b []byte) {
		r.mu.Lock()
		defer r.mu.Unlock()
		tape.set(r.clean(string(b)))
	}}
	return resp, nil
}

func (t *exchange) set(body string) {
	t.Response, t.Base64 = body, !utf8.ValidString(body)
	if t.Base64 {
		t.Response = base64.StdEncoding.EncodeToString([]byte(body))
	}
}

func (t *exchange) body() ([]byte, error) {
	if !t.Base64 {
		return []byte(t.Response), nil
	}
	return base64.StdEncoding.DecodeString(t.Response)
}

func (r *Recorder) clean(s string) string {
	for _, secret := range r.Secrets {
		if secret != "" {
			s = strings.ReplaceAll(s, secret, "[redacted]")
		}
	}
	return wire.Redact(s)
}

// Save writes the cassette to a file.
func (r *Recorder) Save(path string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	data, err := json.MarshalIndent(r.tapes, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o600)
}

// taping passes the bytes read from a body to done when it is closed.
type taping struct {
	io.ReadCloser
	buf  bytes.Buffer
	done func([]byte)
}

func (t *taping) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	t.buf.Write(p[:n])
	return n, err
}

func (t *taping) Close() error {
	t.done(t.buf.Bytes())
	return t.ReadCloser.Close()
}

// Replayer is a transport that answers from a cassette, in any order and each exchange once. An unknown request fails
// with its difference from the recorded one.
type Replayer struct {
	mu    sync.Mutex
	tapes []*exchange
}

// LoadCassette reads a cassette from a file.
func LoadCassette(path string) (*Replayer, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &Replayer{}
	if err := json.Unmarshal(data, &r.tapes); err != nil {
		return nil, fmt.Errorf("%s is not a cassette: %w", path, err)
	}
	return r, nil
}

// RoundTrip answers a request from the cassette.
func (r *Replayer) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := drain(req)
	if err != nil {
		return nil, err
	}
	asked := &exchange{Method: req.Method, Path: wire.Redact(req.URL.RequestURI()), Request: wire.Redact(string(body))}
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.tapes, func(t *exchange) bool { return t.matches(asked) })
	if i < 0 {
		return nil, fmt.Errorf("not in the cassette: %s", r.nearest(asked))
	}
	tape := r.tapes[i]
	r.tapes = slices.Delete(r.tapes, i, i+1)
	answer, err := tape.body()
	if err != nil {
		return nil, fmt.Errorf("invalid answer to %s in the cassette: %w", tape.Path, err)
	}
	h := http.Header{}
	for k, v := range tape.Header {
		h.Set(k, v)
	}
	return &http.Response{
		Status: http.StatusText(tape.Status), StatusCode: tape.Status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(bytes.NewReader(answer)), ContentLength: int64(len(answer)), Request: req,
	}, nil
}

func (t *exchange) matches(o *exchange) bool {
	return t.Method == o.Method && t.Path == o.Path && sameJSON(t.Request, o.Request)
}

// Unplayed returns the number of exchanges not yet replayed.
func (r *Replayer) Unplayed() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.tapes)
}

// nearest describes how a request differs from the next recorded one.
func (r *Replayer) nearest(asked *exchange) string {
	if len(r.tapes) == 0 {
		return fmt.Sprintf("%s %s: all exchanges were replayed", asked.Method, asked.Path)
	}
	next := r.tapes[0]
	for _, t := range r.tapes {
		if t.Method == asked.Method && t.Path == asked.Path {
			next = t
			break
		}
	}
	if next.Method != asked.Method || next.Path != asked.Path {
		return fmt.Sprintf("%s %s; next is %s %s", asked.Method, asked.Path, next.Method, next.Path)
	}
	return "the body differs (- recorded, + sent):\n" + bodyDiff(next.Request, asked.Request)
}

func drain(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(req.Body)
	_ = req.Body.Close()
	req.Body = io.NopCloser(bytes.NewReader(body))
	return body, err
}

func sameJSON(a, b string) bool { return a == b || indent(a) == indent(b) }

func indent(s string) string {
	var v any
	if json.Unmarshal([]byte(s), &v) != nil {
		return s
	}
	out, _ := json.MarshalIndent(v, "", "  ")
	return string(out)
}

// bodyDiff returns the first different lines of two bodies, indented, with context.
func bodyDiff(want, got string) string {
	w, g := strings.Split(indent(want), "\n"), strings.Split(indent(got), "\n")
	i := 0
	for i < len(w) && i < len(g) && w[i] == g[i] {
		i++
	}
	const context = 3
	var b strings.Builder
	for _, line := range w[max(0, i-context):i] {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	for _, line := range w[i:min(len(w), i+context)] {
		fmt.Fprintf(&b, "- %s\n", line)
	}
	for _, line := range g[i:min(len(g), i+context)] {
		fmt.Fprintf(&b, "+ %s\n", line)
	}
	return b.String()
}
