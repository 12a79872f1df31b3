package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/reins-agent/reins/llm/wire"
)

// Interaction is one HTTP exchange of a cassette.
type Interaction struct {
	Method   string            `json:"method"`
	Path     string            `json:"path"` // with query
	Request  string            `json:"request"`
	Status   int               `json:"status"`
	Header   map[string]string `json:"header,omitempty"`
	Response string            `json:"response"`
	Base64   bool              `json:"base64,omitempty"` // Response is base64
}

// keptHeaders are the response headers that a cassette keeps.
var keptHeaders = []string{"Content-Type", "Retry-After", "Retry-After-Ms", "X-Request-Id", "Request-Id"}

// Recorder is a transport that keeps the traffic that passes through it. Headers of requests are
// not kept, and what looks like a key is removed from bodies.
type Recorder struct {
	Transport http.RoundTripper // nil is http.DefaultTransport
	Secrets   []string          // further texts to remove

	mu    sync.Mutex
	tapes []*Interaction
}

// RoundTrip passes a request on and takes the exchange down.
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
	tape := &Interaction{Method: req.Method, Path: r.clean(req.URL.RequestURI()), Request: r.clean(string(body)), Status: resp.StatusCode, Header: map[string]string{}}
	for _, k := range keptHeaders {
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

func (t *Interaction) set(body string) {
	t.Response, t.Base64 = body, false
	if !utf8.ValidString(body) {
		b, _ := json.Marshal([]byte(body))
		t.Response, t.Base64 = strings.Trim(string(b), `"`), true
	}
}

func (t *Interaction) body() ([]byte, error) {
	if !t.Base64 {
		return []byte(t.Response), nil
	}
	var b []byte
	err := json.Unmarshal([]byte(`"`+t.Response+`"`), &b)
	return b, err
}

func (r *Recorder) clean(s string) string {
	for _, secret := range r.Secrets {
		if secret != "" {
			s = strings.ReplaceAll(s, secret, "[redacted]")
		}
	}
	return wire.Redact(s)
}

// Save writes the cassette.
func (r *Recorder) Save(path string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	data, err := json.MarshalIndent(r.tapes, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o600)
}

// taping hands on what was read of a body when it is closed.
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

// Replayer is a transport that answers from a cassette. A request that is not on it fails, with
// the difference to the nearest one that is; each exchange is played once.
type Replayer struct {
	mu    sync.Mutex
	tapes []*Interaction
}

// LoadCassette reads a cassette.
func LoadCassette(path string) (*Replayer, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &Replayer{}
	if err := json.Unmarshal(data, &r.tapes); err != nil {
		return nil, fmt.Errorf("%s is no cassette: %w", path, err)
	}
	return r, nil
}

// RoundTrip answers a request from the cassette.
func (r *Replayer) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := drain(req)
	if err != nil {
		return nil, err
	}
	asked := &Interaction{Method: req.Method, Path: wire.Redact(req.URL.RequestURI()), Request: wire.Redact(string(body))}
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.tapes, func(t *Interaction) bool { return t.matches(asked) })
	if i < 0 {
		return nil, fmt.Errorf("the cassette has no answer for this request: %s", r.nearest(asked))
	}
	tape := r.tapes[i]
	r.tapes = slices.Delete(r.tapes, i, i+1)
	answer, err := tape.body()
	if err != nil {
		return nil, fmt.Errorf("the cassette's answer to %s is damaged: %w", tape.Path, err)
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

func (t *Interaction) matches(o *Interaction) bool {
	return t.Method == o.Method && t.Path == o.Path && sameJSON(t.Request, o.Request)
}

// Unplayed counts the exchanges that were not asked for yet.
func (r *Replayer) Unplayed() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.tapes)
}

// nearest describes how the request differs from the next one on the cassette.
func (r *Replayer) nearest(asked *Interaction) string {
	if len(r.tapes) == 0 {
		return fmt.Sprintf("%s %s (the cassette is at its end)", asked.Method, asked.Path)
	}
	next := r.tapes[0]
	for _, t := range r.tapes {
		if t.Method == asked.Method && t.Path == asked.Path {
			next = t
			break
		}
	}
	if next.Method != asked.Method || next.Path != asked.Path {
		return fmt.Sprintf("%s %s, next on it is %s %s", asked.Method, asked.Path, next.Method, next.Path)
	}
	return "the body differs\n" + bodyDiff(next.Request, asked.Request)
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

// bodyDiff shows where two bodies first differ, line by line of their indented form.
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
