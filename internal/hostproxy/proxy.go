// Package hostproxy is an HTTP proxy that connects only to listed hosts.
//
// A client names the host with CONNECT or in an absolute URL; a Host header has no effect. The proxy resolves a name
// once and connects to an address that it has checked, so a name cannot lead to a private address: not on this machine,
// not in its network, and not a cloud's metadata service. Such an address must be listed too.
package hostproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"github.com/reins-agent/reins/internal/netaddr"
)

// Limits for a proxy.
const (
	maxConnections = 128
	maxHeader      = 64 << 10
	maxRefused     = 20
)

// timeouts of a proxy. Tests change them.
type timeouts struct {
	header time.Duration // request line and headers
	dial   time.Duration // for finding and reaching a host
	idle   time.Duration // connection without any bytes
}

// Proxy is a proxy. Its methods may be called concurrently.
type Proxy struct {
	list    List
	limits  timeouts
	lookup  func(ctx context.Context, host string) ([]netip.Addr, error)
	plain   *httputil.ReverseProxy
	mu      sync.Mutex
	refused []string
}

// New returns a proxy for a list of hosts. It does nothing before Serve.
func New(hosts []string) (*Proxy, error) {
	list, err := Parse(hosts)
	if err != nil {
		return nil, err
	}
	p := &Proxy{list: list, limits: timeouts{header: 10 * time.Second, dial: 20 * time.Second, idle: 5 * time.Minute}}
	p.lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
		return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	}
	p.plain = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.Host = r.In.URL.Host
			r.Out.URL.RawQuery = r.In.URL.RawQuery // also what ReverseProxy cannot parse
		},
		Transport: &http.Transport{
			DialContext:           p.dialIdle,
			DisableCompression:    true,
			MaxIdleConns:          16,
			IdleConnTimeout:       10 * time.Second,
			ResponseHeaderTimeout: p.limits.idle,
		},
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, err error) { fail(w, err) },
		ErrorLog:      silent,
		FlushInterval: -1,
	}
	return p, nil
}

var silent = log.New(io.Discard, "", 0)

// Serve accepts connections until the listener is closed. It then ends all of them.
func (p *Proxy) Serve(l net.Listener) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := &http.Server{
		BaseContext:       func(net.Listener) context.Context { return ctx },
		Handler:           p,
		ReadHeaderTimeout: p.limits.header,
		IdleTimeout:       p.limits.idle,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          silent,
	}
	s.Serve(netutil.LimitListener(l, maxConnections))
	s.Close()
	p.plain.Transport.(*http.Transport).CloseIdleConnections()
}

// ServeFile is Serve for a listening socket, which it closes. stop ends it.
func (p *Proxy) ServeFile(socket *os.File) (stop func(), err error) {
	defer socket.Close()
	l, err := net.FileListener(socket)
	if err != nil {
		return nil, err
	}
	go p.Serve(l)
	return func() { l.Close() }, nil
}

// Refused returns the hosts that clients wanted to reach and that are not listed, since the last call: each as the
// entries that would permit it, separated by commas.
func (p *Proxy) Refused() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.refused
	p.refused = nil
	return list
}

// refusedError is why a host is not reached.
type refusedError struct{ why string }

func (e refusedError) Error() string { return e.why }

// refuse notes that a host is refused, and returns the error.
func (p *Proxy) refuse(needed, why string, args ...any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.refused) < maxRefused && !slices.Contains(p.refused, needed) {
		p.refused = append(p.refused, needed)
	}
	return refusedError{fmt.Sprintf(why, args...)}
}

// fail answers a request that has failed.
func fail(w http.ResponseWriter, err error) {
	status := http.StatusBadGateway
	var refused refusedError
	if errors.As(err, &refused) {
		status = http.StatusForbidden
	}
	http.Error(w, "reins: "+err.Error(), status)
}

// ServeHTTP handles one request.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodConnect:
		p.tunnel(w, r)
	case r.URL.Scheme != "http" || r.URL.Host == "":
		http.Error(w, "reins: this is a proxy; the request must have an absolute URL with http://, or be CONNECT", http.StatusBadRequest)
	default:
		p.plain.ServeHTTP(w, r)
	}
}

// dial connects to a listed host.
func (p *Proxy) dial(ctx context.Context, hostport string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, p.limits.dial)
	defer cancel()
	addrs, port, err := p.judge(ctx, hostport)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	for _, a := range addrs {
		var c net.Conn
		if c, err = d.DialContext(ctx, "tcp", netip.AddrPortFrom(a, uint16(port)).String()); err == nil {
			return c, nil
		}
	}
	return nil, err
}

// dialIdle is dial for connections that end when nothing is sent for some time.
func (p *Proxy) dialIdle(ctx context.Context, _, hostport string) (net.Conn, error) {
	c, err := p.dial(ctx, hostport)
	if err != nil {
		return nil, err
	}
	return idleConn{c, p.limits.idle}, nil
}

// idleConn is a connection whose deadline moves with every byte, in either direction.
type idleConn struct {
	net.Conn
	idle time.Duration
}

func (c idleConn) Read(p []byte) (int, error) {
	c.SetDeadline(time.Now().Add(c.idle))
	return c.Conn.Read(p)
}

func (c idleConn) Write(p []byte) (int, error) {
	c.SetDeadline(time.Now().Add(c.idle))
	return c.Conn.Write(p)
}

// judge returns the addresses that may be connected to for a host, which are not resolved again.
func (p *Proxy) judge(ctx context.Context, hostport string) ([]netip.Addr, int, error) {
	host, text, err := net.SplitHostPort(hostport)
	port, errPort := strconv.Atoi(text)
	if err != nil || errPort != nil || port < 1 || port > 65535 {
		return nil, 0, refusedError{fmt.Sprintf("%.100q is not a host with a port", hostport)}
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if a, err := netip.ParseAddr(host); err == nil {
		if a = a.Unmap(); a.Zone() == "" && p.list.addr(a, port) {
			return []netip.Addr{a}, port, nil
		}
		return nil, 0, p.refuse(show(a.WithZone("").String(), port), "the sandbox does not permit connections to %s", hostport)
	}
	switch {
	case !isName(host):
		return nil, 0, refusedError{fmt.Sprintf("%.100q is not the name of a host", host)}
	case !p.list.name(host, port):
		return nil, 0, p.refuse(show(host, port), "the sandbox does not permit connections to %s", hostport)
	}
	found, err := p.lookup(ctx, host)
	if err != nil {
		return nil, 0, fmt.Errorf("find %s: %w", host, err)
	}
	var addrs []netip.Addr
	for _, a := range found {
		a = a.WithZone("").Unmap()
		if kind, _ := netaddr.Kind(a); kind == "" || p.list.addr(a, port) {
			addrs = append(addrs, a)
		}
	}
	if len(addrs) == 0 && len(found) > 0 {
		a := found[0].WithZone("").Unmap()
		kind, _ := netaddr.Kind(a)
		return nil, 0, p.refuse(
			show(host, port)+","+show(a.String(), port),
			"%s is %s, %s address, which must be listed too",
			host, a, kind,
		)
	}
	return addrs, port, nil
}

// tunnel handles CONNECT.
func (p *Proxy) tunnel(w http.ResponseWriter, r *http.Request) {
	server, err := p.dial(r.Context(), r.URL.Host)
	if err != nil {
		fail(w, err)
		return
	}
	defer server.Close()
	client, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	defer context.AfterFunc(r.Context(), func() { client.Close(); server.Close() })()
	client.SetDeadline(time.Time{})
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	t := &tunnel{idle: p.limits.idle, conns: [2]net.Conn{client, server}}
	t.touch()
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.copy(server, buffered.Reader)
	}()
	t.copy(client, server)
	<-done
}

// tunnel is a connection in both directions. It ends when nothing is sent for some time.
type tunnel struct {
	idle  time.Duration
	conns [2]net.Conn
}

func (t *tunnel) touch() {
	for _, c := range t.conns {
		c.SetDeadline(time.Now().Add(t.idle))
	}
}

// copy sends what one side sends to the other one, and then closes that direction.
func (t *tunnel) copy(to net.Conn, from io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			t.touch()
			if _, err := to.Write(buf[:n]); err != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	if half, ok := to.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		return
	}
	to.Close()
}
