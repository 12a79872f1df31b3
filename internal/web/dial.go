package web

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"

	"github.com/reins-agent/reins/internal/netaddr"
)

// client returns a client that checks every address before it connects.
func (c Config) client() *http.Client {
	d := &net.Dialer{Resolver: c.resolver, ControlContext: c.control}
	t := &http.Transport{DialContext: d.DialContext, ForceAttemptHTTP2: true, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10}
	if c.AllowPrivate {
		t.Proxy = http.ProxyFromEnvironment
	}
	return &http.Client{Transport: t, CheckRedirect: redirect}
}

// control checks a connection's address after the name was resolved, so that a later DNS answer cannot change it.
func (c Config) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return &errRefused{fmt.Errorf("%q is not an IP address", address)}
	}
	return c.check(a.Addr())
}

// check returns an error unless connections to an address are allowed.
func (c Config) check(a netip.Addr) error {
	name, never := netaddr.Kind(a)
	if name == "" || c.AllowPrivate && !never || a == c.public {
		return nil
	}
	return &errRefused{fmt.Errorf("%s is %s address", a, name)}
}

// errRefused is the error for an address that is not allowed.
type errRefused struct{ error }
