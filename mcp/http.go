package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reins-agent/reins/internal/wire"
)

// errAuth means that a server refuses requests without a valid token.
var errAuth = errors.New("the server requires authorization")

// remote is a connection's HTTP side. It sends headers only to the configured origin, limits the response size, and
// cancels all requests when the connection is closed.
type remote struct {
	base    http.RoundTripper
	origin  string
	sse     bool
	headers map[string]string
	token   func(ctx context.Context, refused string) (string, error) // nil without tokens

	life    context.Context // connection context
	end     context.CancelFunc
	refused atomic.Pointer[error] // why a request was not sent; the SDK may report only that the connection is closed
}

// newRemote returns the HTTP side for a connection to a server.
func newRemote(ctx context.Context, base http.RoundTripper, s Server) (*remote, error) {
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("invalid URL %q: use an http or https URL", wire.RedactURL(s.URL))
	}
	r := &remote{base: base, origin: originOf(u), sse: s.Type == "sse", headers: s.Headers}
	r.life, r.end = context.WithCancel(context.WithoutCancel(ctx))
	return r, nil
}

// transport returns an SDK transport over this connection.
func (r *remote) transport(s Server) sdk.Transport {
	client := &http.Client{Transport: r, CheckRedirect: r.redirect}
	if s.Type == "sse" {
		return &sdk.SSEClientTransport{Endpoint: s.URL, HTTPClient: client, MaxEventSize: maxMessage}
	}
	return &sdk.StreamableClientTransport{Endpoint: s.URL, HTTPClient: client, MaxEventSize: maxMessage}
}

func originOf(u *url.URL) string { return strings.ToLower(u.Scheme + "://" + u.Host) }

// redirect refuses redirects to other origins, because the headers must not be sent there.
func (r *remote) redirect(next *http.Request, via []*http.Request) error {
	if originOf(next.URL) != r.origin {
		return fmt.Errorf("the server redirects to %s; if that is intended, configure that URL", originOf(next.URL))
	}
	if len(via) >= 5 {
		return errors.New("too many redirects")
	}
	return nil
}

// RoundTrip implements [http.RoundTripper].
func (r *remote) RoundTrip(q *http.Request) (*http.Response, error) {
	if originOf(q.URL) != r.origin {
		err := fmt.Errorf("the server refers to a URL of another origin, %s", originOf(q.URL))
		r.refused.Store(&err)
		return nil, err
	}
	if q.Method == http.MethodGet && !r.sse {
		return r.listen(q)
	}
	return r.authorized(q)
}

// listenTime limits how long the SDK waits for the response to a request for notifications. The SDK is blocked
// meanwhile.
const listenTime = time.Second

// listen requests the notification stream. Some servers send no response before the first notification. For these, it
// returns a response after listenTime, and its body follows when the server responds. On failure it reports that there
// is no such stream; otherwise the SDK would retry for a long time.
func (r *remote) listen(q *http.Request) (*http.Response, error) {
	type answer struct {
		*http.Response
		err error
	}
	got := make(chan answer, 1)
	go func() {
		p, err := r.authorized(q)
		got <- answer{p, err}
	}()
	select {
	case a := <-got:
		if a.err != nil {
			return &http.Response{StatusCode: http.StatusMethodNotAllowed, Body: http.NoBody, Request: q}, nil
		}
		return a.Response, nil
	case <-time.After(listenTime):
	}
	body, w := io.Pipe()
	go func() {
		defer w.Close()
		a := <-got
		if a.err == nil {
			defer a.Body.Close()
		}
		if a.err == nil && mediaType(a.Header) == eventStream {
			io.Copy(w, a.Body)
			return
		}
		select { // no notifications
		case <-r.life.Done():
		case <-q.Context().Done():
		}
	}()
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {eventStream}}, Body: body, Request: q}, nil
}

const eventStream = "text/event-stream"

func mediaType(h http.Header) string {
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return kind
}

// authorized sends a request with a token. If the server refuses the token, it tries again with a new one.
func (r *remote) authorized(q *http.Request) (*http.Response, error) {
	token, err := r.askToken(q.Context(), "")
	if err != nil {
		return nil, err
	}
	p, err := r.send(q, token)
	if err != nil || p.StatusCode != http.StatusUnauthorized {
		return p, err
	}
	p.Body.Close()
	next, err := r.askToken(q.Context(), token)
	if err != nil || next == "" || next == token {
		return nil, errors.Join(errAuth, err)
	}
	p, err = r.send(q, next)
	if err == nil && p.StatusCode == http.StatusUnauthorized {
		p.Body.Close()
		return nil, errAuth
	}
	return p, err
}

func (r *remote) askToken(ctx context.Context, refused string) (string, error) {
	if r.token == nil {
		return "", nil
	}
	return r.token(ctx, refused)
}

// send sends a copy of a request. It reads a response with a single message completely, because the SDK closes the
// connection if reading it is interrupted.
func (r *remote) send(q *http.Request, token string) (*http.Response, error) {
	ctx, cancel := context.WithCancel(q.Context())
	stop := context.AfterFunc(r.life, cancel)
	done := func() { stop(); cancel() }
	own := q.Clone(ctx)
	if q.GetBody != nil {
		body, err := q.GetBody()
		if err != nil {
			done()
			return nil, err
		}
		own.Body = body
	}
	if err := realRequest(own); err != nil {
		done()
		return nil, err
	}
	if token != "" {
		own.Header.Set("Authorization", "Bearer "+token)
	}
	for name, value := range r.headers {
		own.Header.Set(name, value)
	}
	p, err := r.base.RoundTrip(own)
	if err != nil {
		done()
		return nil, err
	}
	if mediaType(p.Header) == eventStream {
		p.Body = &stream{body: &shallowReader{p.Body, shallow{lines: true}}, done: done, ctx: ctx, rate: newRate()}
		return p, nil
	}
	defer done()
	defer p.Body.Close()
	data, err := io.ReadAll(io.LimitReader(p.Body, maxMessage+1))
	if err == nil && len(data) > maxMessage {
		err = fmt.Errorf("the server sent a message larger than %d MiB", maxMessage>>20)
	}
	if err != nil {
		return nil, err
	}
	p.Body = io.NopCloser(bytes.NewReader(new(shallow).cut(data)))
	p.ContentLength = -1
	return p, nil
}

// stream is the body of a response with several messages. It slows down a server that sends too many.
type stream struct {
	body io.ReadCloser
	ctx  context.Context
	rate *rate
	once sync.Once
	done func()
}

func (s *stream) Read(p []byte) (int, error) {
	n, err := s.body.Read(p)
	for range bytes.Count(p[:n], []byte("\n\n")) + bytes.Count(p[:n], []byte("\r\n\r\n")) {
		s.rate.wait(s.ctx)
	}
	return n, err
}

func (s *stream) Close() error {
	s.once.Do(s.done)
	return s.body.Close()
}
