package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"strings"

	"github.com/reins-agent/reins/llm"
)

// Endpoint says where and how a dialect is spoken.
type Endpoint struct {
	Name    string // of the provider, for routing; "" is the adapter's own
	BaseURL string // "" is the vendor's
	APIKey  string
	// KeyFrom says where APIKey comes from, or would come from: the name of an environment variable,
	// say. Errors about the key name it.
	KeyFrom string
	Header  http.Header // added to every request
	// Query is added to every URL, such as "api-version=2025-04-01-preview".
	Query string
	// Rewrite may change a request before it is signed and sent, for endpoints that want
	// another path or body. It is how Azure, Vertex and Bedrock are reached.
	Rewrite func(r *llm.Request, c *Call) error
	// Sign authorises a request; it gets the whole body. With it, APIKey is not sent.
	Sign       func(r *http.Request, body []byte) error
	HTTPClient *http.Client // nil is one from NewHTTPClient
	Limits     Limits
}

// Provider drives a dialect over HTTP. It implements llm.Provider.
type Provider struct {
	dialect  Dialect
	endpoint Endpoint
}

// NewProvider makes a provider from an endpoint whose Name and BaseURL are set.
func NewProvider(d Dialect, e Endpoint) *Provider {
	e.BaseURL = strings.TrimRight(e.BaseURL, "/")
	e.Limits = e.Limits.withDefaults()
	if e.HTTPClient == nil {
		e.HTTPClient = NewHTTPClient(e.Limits)
	}
	return &Provider{d, e}
}

// NewHTTPClient makes the HTTP client of an endpoint that has none: it has a pool of connections of
// its own, keeps to the connect limit and follows no redirects to other hosts.
func NewHTTPClient(l Limits) *http.Client {
	l = l.withDefaults()
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: l.Connect}).DialContext
	t.TLSHandshakeTimeout = l.Connect
	t.MaxIdleConnsPerHost = 64
	return &http.Client{Transport: t, CheckRedirect: sameOrigin}
}

// sameOrigin follows redirects only to where the request was sent in the first place: net/http
// would take the keys that stand in headers of the vendors' own along to any host.
func sameOrigin(req *http.Request, via []*http.Request) error {
	if from := via[0].URL; req.URL.Scheme != from.Scheme || req.URL.Host != from.Host || len(via) >= 5 {
		return http.ErrUseLastResponse
	}
	return nil
}

// Name is the provider's name.
func (p *Provider) Name() string { return p.endpoint.Name }

// Dialect is the protocol that the provider speaks.
func (p *Provider) Dialect() Dialect { return p.dialect }

// Shape is what the dialect's Shape tells, if it has one.
func (p *Provider) Shape(r *llm.Request) string {
	if s, ok := p.dialect.(llm.Shaper); ok {
		return s.Shape(r)
	}
	return ""
}

// Stream makes one call.
func (p *Provider) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	return func(yield func(llm.StreamEvent, error) bool) {
		a := NewAssembler(p.dialect.Name(), r.Model, func(ev llm.StreamEvent) bool {
			if f, ok := ev.(llm.Finish); ok {
				f.Response.Provider = p.endpoint.Name
			}
			return yield(ev, nil)
		})
		if err := p.call(ctx, r, a); err != nil && !a.Stopped() {
			yield(nil, p.spent(err, a))
		}
	}
}

func (p *Provider) call(ctx context.Context, r *llm.Request, a *Assembler) error {
	a.counted = true // nothing, as long as nothing is sent
	call, err := p.encode(r)
	if err != nil {
		return p.typed(err, llm.ErrInvalidRequest)
	}
	w := newWatch(ctx, p.endpoint.Limits, call.Stream)
	defer w.stop()
	req, err := p.request(w.ctx, call)
	if err != nil {
		return p.typed(err, llm.ErrConfiguration)
	}
	resp, err := p.endpoint.HTTPClient.Do(req)
	a.counted = !w.connected()
	if err != nil {
		return p.failed(w, err)
	}
	defer resp.Body.Close()
	err = Read(p.dialect, Answer{
		Status: resp.StatusCode,
		Header: resp.Header,
		Body:   w.reader(resp.Body),
		Stream: call.Stream,
		Limits: p.endpoint.Limits,
	}, a)
	if err != nil && !a.Stopped() {
		return p.located(p.keyed(p.failed(w, err)), r)
	}
	if a.Done() {
		w.drain(resp.Body)
	}
	return nil
}

func (p *Provider) encode(r *llm.Request) (*Call, error) {
	call, err := p.dialect.Encode(r)
	if err == nil && p.endpoint.Rewrite != nil {
		err = p.endpoint.Rewrite(r, call)
	}
	return call, err
}

func (p *Provider) request(ctx context.Context, call *Call) (*http.Request, error) {
	url := p.endpoint.BaseURL + call.Path
	sep := "?"
	for _, q := range []string{call.Query, p.endpoint.Query} {
		if q != "" {
			url += sep + q
			sep = "&"
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return nil, fmt.Errorf("the base URL is not usable: %w", err)
	}
	if s := req.URL.Scheme; s != "http" && s != "https" || req.URL.Host == "" {
		return nil, fmt.Errorf("the base URL %q is not usable: it must begin with https:// or http:// and a host", p.endpoint.BaseURL)
	}
	call.Body.attach(req)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "reins")
	if call.Stream {
		req.Header.Set("Accept", "text/event-stream")
	}
	for _, h := range []http.Header{call.Header, p.endpoint.Header} {
		for k, vs := range h {
			req.Header[http.CanonicalHeaderKey(k)] = vs
		}
	}
	if p.endpoint.Sign != nil {
		if err := p.endpoint.Sign(req, call.Body.Bytes()); err != nil {
			return nil, fmt.Errorf("the request could not be signed: %w", err)
		}
	} else if p.endpoint.APIKey != "" {
		p.dialect.Authorize(req.Header, p.endpoint.APIKey)
	}
	return req, nil
}

// attach makes the pieces the request's body.
func (b Body) attach(req *http.Request) {
	open := func() io.ReadCloser { return &bodyReader{pieces: b} }
	req.Body = open()
	req.ContentLength = b.Len()
	req.GetBody = func() (io.ReadCloser, error) { return open(), nil }
}

// bodyReader reads a body.
type bodyReader struct {
	pieces Body
	at     int // in the first of them
}

func (r *bodyReader) Read(p []byte) (n int, err error) {
	for n < len(p) && len(r.pieces) > 0 {
		k := copy(p[n:], r.pieces[0][r.at:])
		n += k
		if r.at += k; r.at == len(r.pieces[0]) {
			r.pieces, r.at = r.pieces[1:], 0
		}
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (r *bodyReader) Close() error { return nil }

// failed makes the error of a call that broke off, with what the limits know of the reason.
func (p *Provider) failed(w *watch, err error) error {
	if cause := w.cause(); cause != nil {
		err = cause
	}
	return p.typed(err, llm.ErrNetwork)
}

// spent adds what the failed call used.
func (p *Provider) spent(err error, a *Assembler) error {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		e.Usage, e.UsageComplete = a.Spent()
	}
	return err
}

// keyed adds to an error about the key where to put a valid one.
func (p *Provider) keyed(err error) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Kind != llm.ErrAuthentication || p.endpoint.KeyFrom == "" {
		return err
	}
	note := "the key is from " + p.endpoint.KeyFrom
	if p.endpoint.APIKey == "" {
		note = "no key was sent; set " + p.endpoint.KeyFrom
	}
	if e.Message != "" {
		note = fmt.Sprintf("%s (%s)", e.Message, note)
	}
	e.Message = note
	return err
}

// located adds which part of the request the provider refused, where its error tells.
func (p *Provider) located(err error, r *llm.Request) error {
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Item == nil {
		e.Item = locate(p.dialect, r, e)
	}
	return err
}

// typed makes sure that err is an *llm.Error of this provider and holds no secret.
func (p *Provider) typed(err error, kind llm.ErrorKind) error {
	var e *llm.Error
	if !errors.As(err, &e) {
		e = &llm.Error{Kind: kind, Message: plainNetworkError(err), Err: err}
	}
	e.Provider = p.endpoint.Name
	e.Message = redact(e.Message, p.endpoint.APIKey)
	e.Code = redact(e.Code, p.endpoint.APIKey)
	e.Body = []byte(redact(string(e.Body), p.endpoint.APIKey))
	if e.Err != nil && p.endpoint.APIKey != "" && strings.Contains(e.Err.Error(), p.endpoint.APIKey) {
		e.Err = nil
	}
	return e
}
