package mcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/reins-agent/reins/internal/netaddr"
)

// bounded sends authorization requests. A server chooses the URLs for its metadata and its authorization server, so it
// could make this machine send requests to services that it cannot reach itself. A URL must be at the server's host,
// with at least its protection, or be an https URL at a public address.
type bounded struct {
	base   http.RoundTripper // for the server's host
	public http.RoundTripper // for other hosts
	server *url.URL

	refused atomic.Pointer[error] // first refusal; the SDK continues without some metadata
}

// within returns an HTTP client for authorizing a server, and its transport.
func within(c *http.Client, server string) (*http.Client, *bounded, error) {
	u, err := url.Parse(server)
	if err != nil {
		return nil, nil, reason(err)
	}
	own := *c
	b := &bounded{base: c.Transport, server: u}
	if b.base == nil {
		b.base = http.DefaultTransport
	}
	b.public = b.base
	if t, ok := b.base.(*http.Transport); ok {
		t = t.Clone()
		proxy := t.Proxy
		t.DialContext = (&net.Dialer{ControlContext: publicOnly}).DialContext
		t.DisableKeepAlives = true // nothing closes the copy's idle connections
		// A proxy may be anywhere, and decides itself where it connects to.
		if proxy != nil {
			t.Proxy = nil
			b.public = &proxied{direct: t, base: b.base, proxy: proxy}
		} else {
			b.public = t
		}
	}
	own.Transport = b
	return &own, b, nil
}

// RoundTrip implements [http.RoundTripper].
func (b *bounded) RoundTrip(q *http.Request) (*http.Response, error) {
	err := b.check(q.URL)
	if err == nil && sameHost(q.URL, b.server) {
		return b.base.RoundTrip(q)
	}
	var p *http.Response
	if err == nil {
		p, err = b.public.RoundTrip(q)
	}
	if errors.As(err, new(errOrigin)) {
		b.refused.CompareAndSwap(nil, &err)
	}
	return p, err
}

// errOrigin is the error for a URL that a server must not refer to.
type errOrigin struct{ error }

// check returns an error if the URL must not be used, whatever its host's addresses.
func (b *bounded) check(u *url.URL) error {
	https := u.Scheme == "https"
	if sameHost(u, b.server) {
		if https || u.Scheme == "http" && b.server.Scheme == "http" {
			return nil
		}
	} else if a, err := netip.ParseAddr(u.Hostname()); https && (err != nil || isPublic(a)) {
		return nil
	}
	return errOrigin{fmt.Errorf("the server refers to %s for its authorization; "+
		"other hosts than its own must have https URLs and public addresses", originOf(u))}
}

func sameHost(a, b *url.URL) bool { return strings.EqualFold(a.Hostname(), b.Hostname()) }

// publicOnly checks a connection's address after the name was resolved, so that a later DNS answer cannot change it.
func publicOnly(_ context.Context, _, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil || !isPublic(a.Addr()) {
		return errOrigin{fmt.Errorf("the server refers to %s for its authorization, which is not a public address", address)}
	}
	return nil
}

func isPublic(a netip.Addr) bool {
	kind, _ := netaddr.Kind(a)
	return kind == ""
}

// proxied uses the proxy for URLs that have one.
type proxied struct {
	direct, base http.RoundTripper
	proxy        func(*http.Request) (*url.URL, error)
}

// RoundTrip implements [http.RoundTripper].
func (p *proxied) RoundTrip(q *http.Request) (*http.Response, error) {
	if u, err := p.proxy(q); u != nil || err != nil {
		return p.base.RoundTrip(q)
	}
	return p.direct.RoundTrip(q)
}
