package connect

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/reins-agent/reins/internal/wire"
)

// debugClient returns a copy of c that writes all traffic to out, without credentials.
func debugClient(c *http.Client, out io.Writer, secrets []string) *http.Client {
	next := c.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	logged := *c
	logged.Transport = &debugTransport{next: next, log: &debugLog{out: out, secrets: secrets}}
	return &logged
}

type debugTransport struct {
	next http.RoundTripper
	log  *debugLog
}

func (t *debugTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	t.log.print("> %s %s", req.Method, wire.RedactURL(req.URL.String()))
	t.log.header(">", req.Header)
	if req.GetBody != nil {
		if body, err := req.GetBody(); err == nil {
			if data, err := io.ReadAll(body); err == nil {
				t.log.print("> %s", data)
			}
		}
	}
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		t.log.print("< %v", err)
		return nil, err
	}
	t.log.print("< %s %s", resp.Proto, resp.Status)
	t.log.header("<", resp.Header)
	resp.Body = &debugBody{ReadCloser: resp.Body, log: t.log}
	return resp, nil
}

func (t *debugTransport) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// debugBody logs a body in whole lines, so that no credential is split.
type debugBody struct {
	io.ReadCloser
	log  *debugLog
	line []byte
}

func (b *debugBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.line = append(b.line, p[:n]...)
	if i := bytes.LastIndexByte(b.line, '\n'); i >= 0 {
		b.log.print("< %s", bytes.TrimRight(b.line[:i], "\r\n"))
		b.line = append(b.line[:0], b.line[i+1:]...)
	}
	return n, err
}

func (b *debugBody) Close() error {
	if len(b.line) > 0 {
		b.log.print("< %s", b.line)
		b.line = nil
	}
	return b.ReadCloser.Close()
}

// debugLog writes lines of concurrent calls.
type debugLog struct {
	mu      sync.Mutex
	out     io.Writer
	secrets []string
}

func (l *debugLog) print(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for _, s := range l.secrets {
		text = strings.ReplaceAll(text, s, "[redacted]")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintln(l.out, wire.Redact(text))
}

// header logs headers, without the values of those with credentials.
func (l *debugLog) header(mark string, h http.Header) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if len(h[name]) == 0 {
			continue
		}
		value := strings.Join(h[name], ", ")
		if lower := strings.ToLower(name); strings.Contains(lower, "auth") || strings.Contains(lower, "key") ||
			strings.Contains(lower, "token") &&
				!strings.Contains(lower, "ratelimit") || strings.Contains(lower, "cookie") || strings.Contains(lower, "secret") {
			value = "[redacted]"
		}
		l.print("%s %s: %s", mark, name, value)
	}
}
