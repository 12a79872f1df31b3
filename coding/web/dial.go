package web

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
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

// control checks the address of a connection after the name was resolved, so that a later DNS answer cannot change it.
func (c Config) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return &errRefused{fmt.Errorf("%q is not an IP address", address)}
	}
	return c.check(a.Addr())
}
