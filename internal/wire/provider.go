package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/reins-agent/reins/llm"
)

// Provider drives a dialect over HTTP. It implements llm.Provider.
type Provider struct {
	dialect  Dialect
	endpoint llm.Endpoint
}

// NewProvider returns a provider. The endpoint must have a Name and a BaseURL.
func NewProvider(d Dialect, e llm.Endpoint) *Provider {
	e.BaseURL = strings.TrimRight(e.BaseURL, "/")
	e.Limits = withDefaults(e.Limits)
	if e.HTTPClient == nil {
		e.HTTPClient = NewHTTPClient(e.Limits)
	}
	return &Provider{d, e}
}

// NewHTTPClient returns the default HTTP client for an endpoint. It has its own connection pool, applies the
// connect timeout and does not follow redirects to other hosts.
func NewHTTPClient(l llm.Limits) *http.Client {
	l = withDefaults(l)
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: l.Connect}).DialContext
	t.TLSHandshakeTimeout = l.Connect
	t.MaxIdleConnsPerHost = 64
	return &http.Client{Transport: t, CheckRedirect: sameOrigin}
}

// sameOrigin follows redirects only to the original host: net/http would forward the vendors' own key
// headers to any other.
func sameOrigin(req *http.Request, via []*http.Request) error {
	if from := via[0].URL; req.URL.Scheme != from.Scheme || req.URL.Host != from.Host || len(via) >= 5 {
		return http.ErrUseLastResponse
	}
	return nil
}

// Name returns the provider's name.
func (p *Provider) Name() string { return p.endpoint.Name }

// Shape returns the dialect's shape for the request, or "" if the dialect is not a Shaper.
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
		err := p.call(ctx, r, a)
		if err != nil && p.learns(r, a, err) {
			err = p.call(ctx, r, a)
		}
		if err != nil && !a.stopped {
			if e, ok := errors.AsType[*llm.Error](err); ok {
				e.Usage, e.UsageComplete = a.resp.Usage, a.counted
			}
			yield(nil, err)
		}
	}
}

// learns reports whether the dialect does without something that the server refused, so that the call can be made again.
func (p *Provider) learns(r *llm.Request, a *Assembler, err error) bool {
	l, ok := p.dialect.(Learner)
	e, typed := errors.AsType[*llm.Error](err)
	return ok && typed && !a.started && !a.stopped && l.Learn(r, e)
}

func (p *Provider) call(ctx context.Context, r *llm.Request, a *Assembler) error {
	a.counted = true // nothing was sent yet, so nothing was used
	call, err := p.encode(r)
	if err != nil {
		return p.typed(err, llm.ErrInvalidRequest)
	}
	a.Seal = call.Seal
	w := newWatch(ctx, p.endpoint.Limits, call.Stream)
	defer w.stop()
	req, err := p.request(w.ctx, call)
	if err != nil {
		return p.typed(err, llm.ErrConfiguration)
	}
	resp, err := p.send(w, req)
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
	if err != nil && !a.stopped {
		e := p.failed(w, err)
		p.explainKey(e)
		p.explainPath(e, call.Path)
		if e.Item == nil {
			e.Item = locate(p.dialect, r, e)
		}
		return e
	}
	if a.Done() {
		w.drain(resp.Body)
	}
	return nil
}

// send sends a request. Some servers close connections that they promised to keep, so a request without an answer on a
// connection that was used before is sent again on a new one. Idempotency-Key without a value, which is not sent,
// lets net/http do so; it does not if the connection is closed while it writes the body.
func (p *Provider) send(w *watch, req *http.Request) (*http.Response, error) {
	if _, set := req.Header["Idempotency-Key"]; !set {
		req.Header["Idempotency-Key"] = nil
	}
	for again := true; ; again = false {
		resp, err := p.endpoint.HTTPClient.Do(req)
		if err == nil || !again || !w.reused.Load() || w.ctx.Err() != nil {
			return resp, err
		}
		p.endpoint.HTTPClient.CloseIdleConnections() // they may be closed too
		req.Body, _ = req.GetBody()
	}
}

func (p *Provider) encode(r *llm.Request) (*llm.Call, error) {
	call, err := p.dialect.Encode(r)
	if err == nil && p.endpoint.Rewrite != nil {
		err = p.endpoint.Rewrite(r, call)
	}
	return call, err
}

func (p *Provider) request(ctx context.Context, call *llm.Call) (*http.Request, error) {
	base, query, _ := strings.Cut(p.endpoint.BaseURL, "?")
	target := strings.TrimRight(base, "/") + call.Path
	sep := "?"
	for _, q := range []string{query, call.Query, p.endpoint.Query} {
		if q != "" {
			target += sep + q
			sep = "&"
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, nil)
	if err != nil {
		return nil, fmt.Errorf("invalid base URL %q: use https:// or http:// and a host", RedactURL(p.endpoint.BaseURL))
	}
	if s := req.URL.Scheme; s != "http" && s != "https" || req.URL.Host == "" {
		return nil, fmt.Errorf("invalid base URL %q: use https:// or http:// and a host", RedactURL(p.endpoint.BaseURL))
	}
	attach(call.Body, req)
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
			return nil, fmt.Errorf("cannot sign the request: %w", err)
		}
	} else if p.endpoint.APIKey != "" {
		p.dialect.Authorize(req.Header, p.endpoint.APIKey)
	}
	return req, nil
}

// attach sets the request's body.
func attach(b llm.Body, req *http.Request) {
	open := func() io.ReadCloser {
		pieces := net.Buffers(slices.Clone(b))
		return io.NopCloser(&pieces)
	}
	req.Body = open()
	for _, piece := range b {
		req.ContentLength += int64(len(piece))
	}
	req.GetBody = func() (io.ReadCloser, error) { return open(), nil }
}

// failed returns an interrupted call's error. An exceeded limit or a cancellation explains it best.
func (p *Provider) failed(w *watch, err error) *llm.Error {
	if cause := w.cause(); cause != nil {
		err = cause
	}
	return p.typed(err, llm.ErrNetwork)
}

// explainKey adds where the key came from to an authentication error.
func (p *Provider) explainKey(e *llm.Error) {
	if e.Kind != llm.ErrAuthentication || p.endpoint.KeyFrom == "" {
		return
	}
	note := "the key is from " + p.endpoint.KeyFrom
	if p.endpoint.Sign != nil {
		note = "the credentials are from " + p.endpoint.KeyFrom
	} else if p.endpoint.APIKey == "" {
		note = "no key was sent; set " + p.endpoint.KeyFrom
	}
	if e.Message != "" {
		note = fmt.Sprintf("%s (%s)", e.Message, note)
	}
	e.Message = note
}

// explainPath suggests /v1 if the server does not have the path and the base URL has none.
func (p *Provider) explainPath(e *llm.Error, path string) {
	u, err := url.Parse(p.endpoint.BaseURL)
	if e.Kind != llm.ErrNotFound || err != nil || strings.Trim(u.Path, "/") != "" || u.Host == "" ||
		strings.HasPrefix(path, "/v1") || strings.Contains(strings.ToLower(e.Message), "model") {
		return
	}
	e.Message += fmt.Sprintf(" (the base URL has no path; most servers need %s://%s/v1)", u.Scheme, u.Host)
}

// typed returns err as an *llm.Error from this provider, without secrets.
func (p *Provider) typed(err error, kind llm.ErrorKind) *llm.Error {
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
