package hostproxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener without a network.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   *sync.Once
}

func (l pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}
func (l pipes) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l pipes) Addr() net.Addr { return &net.TCPAddr{} }

// serve starts a proxy for a list. dial connects a client.
func serve(t *testing.T, hosts ...string) (p *Proxy, dial func() net.Conn) {
	t.Helper()
	p, err := New(hosts)
	if err != nil {
		t.Fatal(err)
	}
	return p, start(t, p)
}

// start serves a proxy and returns a function that connects a client.
func start(t *testing.T, p *Proxy) (dial func() net.Conn) {
	l := pipes{make(chan net.Conn), make(chan struct{}), new(sync.Once)}
	go p.Serve(l)
	t.Cleanup(func() { l.Close() })
	return func() net.Conn {
		client, server := net.Pipe()
		l.conns <- server
		return client
	}
}

func TestProxy_EndsSlowRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, dial := serve(t, "github.com")
		start, c := time.Now(), dial()
		ended := make(chan time.Duration, 1)
		go func() {
			io.Copy(io.Discard, c)
			ended <- time.Since(start)
		}()
		for range 60 { // one header byte each second
			if _, err := c.Write([]byte("G")); err != nil {
				break
			}
			time.Sleep(time.Second)
		}
		if took := <-ended; took > 11*time.Second {
			t.Errorf("the request was ended after %v, want 10s", took)
		}
	})
}

func TestProxy_RefusesLongHeaders(t *testing.T) {
	_, dial := serve(t, "github.com")
	for name, request := range map[string]string{
		"line":   "GET http://github.com/" + strings.Repeat("a", 100<<10) + " HTTP/1.1\r\nHost: github.com\r\n\r\n",
		"header": "GET http://github.com/ HTTP/1.1\r\nHost: github.com\r\nX: " + strings.Repeat("a", 100<<10) + "\r\n\r\n",
	} {
		c := dial()
		go io.WriteString(c, request)
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || r.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("%s: got %v, %v, want 431", name, r, err)
		}
		c.Close()
	}
}

func TestProxy_LimitsConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, dial := serve(t, "github.com")
		var open []net.Conn
		for range 128 {
			open = append(open, dial())
		}
		more := make(chan net.Conn)
		go func() { more <- dial() }()
		synctest.Wait()
		select {
		case <-more:
			t.Error("connection 129 is accepted")
		default:
		}
		open[0].Close()
		(<-more).Close()
		for _, c := range open {
			c.Close()
		}
		time.Sleep(time.Minute)
	})
}

// resolved returns a proxy for which every name has these addresses. It counts the lookups.
func resolved(t *testing.T, hosts string, addrs ...string) (p *Proxy, lookups *int) {
	t.Helper()
	p, err := New(strings.Split(hosts, " "))
	if err != nil {
		t.Fatal(err)
	}
	lookups = new(int)
	p.lookup = func(context.Context, string) (list []netip.Addr, _ error) {
		*lookups++
		for _, a := range addrs {
			list = append(list, netip.MustParseAddr(a))
		}
		return list, nil
	}
	return p, lookups
}

func TestProxy_ReachesOnlyListedHostsAtPublicAddresses(t *testing.T) {
	for _, c := range []struct{ list, addrs, target, want, refused string }{
		{"github.com", "140.82.1.1", "github.com:443", "140.82.1.1", ""},
		{"github.com", "140.82.1.1", "GitHub.com.:80", "140.82.1.1", ""},
		{"github.com", "140.82.1.1", "github.com:22", "", "github.com:22"},
		{"github.com", "140.82.1.1", "api.github.com:443", "", "api.github.com"},
		{"github.com", "140.82.1.1", "github.com.evil.org:443", "", "github.com.evil.org"},
		{"*.github.com", "140.82.1.1", "api.github.com:443", "140.82.1.1", ""},
		{"*.github.com", "140.82.1.1", "a.b.github.com:443", "140.82.1.1", ""},
		{"*.github.com", "140.82.1.1", "github.com:443", "", "github.com"},
		{"*.github.com", "140.82.1.1", "evilgithub.com:443", "", "evilgithub.com"},
		{"github.com:8443", "140.82.1.1", "github.com:8443", "140.82.1.1", ""},
		{"github.com:8443", "140.82.1.1", "github.com:443", "", "github.com"},
		{"github.com", "10.0.0.1 140.82.1.1", "github.com:443", "140.82.1.1", ""},
		{"github.com", "10.0.0.1", "github.com:443", "", "github.com,10.0.0.1"},
		{"github.com", "127.0.0.1", "github.com:443", "", "github.com,127.0.0.1"},
		{"github.com", "::1", "github.com:443", "", "github.com,::1"},
		{"github.com", "::ffff:127.0.0.1", "github.com:443", "", "github.com,127.0.0.1"},
		{"github.com", "169.254.169.254", "github.com:80", "", "github.com,169.254.169.254"},
		{"github.com", "fe80::1", "github.com:443", "", "github.com,fe80::1"},
		{"github.com", "100.64.0.1", "github.com:443", "", "github.com,100.64.0.1"},
		{"github.com", "64:ff9b::7f00:1", "github.com:443", "", "github.com,64:ff9b::7f00:1"},
		{"github.com", "0.0.0.0", "github.com:443", "", "github.com,0.0.0.0"},
		{"github.com 10.0.0.1", "10.0.0.1", "github.com:443", "10.0.0.1", ""},
		{"github.com 10.0.0.1", "10.0.0.1", "evil.org:443", "", "evil.org"},
		{"github.com:8080 10.0.0.1", "10.0.0.1", "github.com:8080", "", "github.com:8080,10.0.0.1:8080"},
		{"10.0.0.1", "", "10.0.0.1:80", "10.0.0.1", ""},
		{"10.0.0.1", "", "[::ffff:10.0.0.1]:80", "10.0.0.1", ""},
		{"10.0.0.1", "", "10.0.0.1:22", "", "10.0.0.1:22"},
		{"10.0.0.1", "", "10.0.0.2:80", "", "10.0.0.2"},
		{"[fd00::1]:8080", "", "[fd00::1]:8080", "fd00::1", ""},
		{"github.com", "140.82.1.1", "140.82.1.1:443", "", "140.82.1.1"},
		{"github.com", "140.82.1.1", "2130706433:80", "", ""},
		{"github.com", "140.82.1.1", "0x7f.1:80", "", ""},
		{"github.com", "140.82.1.1", "github.com:0", "", ""},
		{"github.com", "140.82.1.1", "github.com", "", ""},
		{"github.com", "140.82.1.1", "git\u0131hub.com:443", "", ""},
	} {
		p, lookups := resolved(t, c.list, strings.Fields(c.addrs)...)
		addrs, _, err := p.judge(t.Context(), c.target)
		got := ""
		if len(addrs) > 0 {
			got = fmt.Sprint(addrs[0])
		}
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s with the list %s: got %v, %v, want %q", c.target, c.list, addrs, err, c.want)
		}
		if refused := strings.Join(p.Refused(), " "); refused != c.refused {
			t.Errorf("%s with the list %s: noted %q, want %q", c.target, c.list, refused, c.refused)
		}
		if *lookups > 1 {
			t.Errorf("%s: %d lookups, want at most one", c.target, *lookups)
		}
		if c.want == "" && c.refused != "" && *lookups > 0 && !strings.Contains(c.refused, ",") {
			t.Errorf("%s: a name that is not listed was looked up", c.target)
		}
		// What is noted is what permits it.
		if c.refused != "" {
			again, _ := resolved(t, c.list+" "+strings.ReplaceAll(c.refused, ",", " "), strings.Fields(c.addrs)...)
			if _, _, err := again.judge(t.Context(), c.target); err != nil {
				t.Errorf("%s with %s added: %v", c.target, c.refused, err)
			}
		}
	}
}

func TestProxy_RecordsLimitedRefusedHosts(t *testing.T) {
	p, _ := resolved(t, "github.com")
	for i := range 100 {
		p.judge(t.Context(), fmt.Sprintf("h%d.org:443", i%50))
	}
	if got := p.Refused(); len(got) != 20 || slices.Contains(got[1:], got[0]) {
		t.Errorf("got %d hosts: %v, want 20 different ones", len(got), got)
	}
	if got := p.Refused(); len(got) != 0 {
		t.Errorf("the second time: %v", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"github.com", "*.npmjs.org", "a:1", "[::1]:80", "10.0.0.1", "a..b", ":", "*"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		list, err := Parse([]string{s})
		if err == nil && list.name("evil.org", 443) && !strings.Contains(strings.ToLower(s), "evil.org") && !strings.EqualFold(s, "*.org") {
			t.Errorf("%q is also for evil.org", s)
		}
	})
}

// idly calls try with longer and longer limits for idle connections until it returns what arrived before the limit. On a busy
// machine a part of an answer may come later than the shortest limit.
func idly(want string, try func(idle time.Duration) string) (got string) {
	for idle := 50 * time.Millisecond; idle < 30*time.Second; idle *= 20 {
		if got = try(idle); strings.Contains(got, want) {
			break
		}
	}
	return got
}

func TestProxy_EndsIdleTunnels(t *testing.T) {
	const want = "HTTP/1.1 200 Connection established\r\n\r\nhello"
	if got := idly(want, func(idle time.Duration) string { return idleTunnel(t, idle) }); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// idleTunnel returns what arrives from a target that says hello and then nothing.
func idleTunnel(t *testing.T, idle time.Duration) string {
	target, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	held := make(chan net.Conn, 1)
	go func() {
		defer close(held)
		if c, err := target.Accept(); err == nil {
			io.WriteString(c, "hello")
			held <- c
		}
	}()
	p, err := New([]string{target.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	p.limits.idle = idle
	c := start(t, p)()
	c.SetReadDeadline(time.Now().Add(2 * time.Minute)) // for a tunnel that never ends
	defer c.Close()
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n", target.Addr())
	got, err := io.ReadAll(c) // ends with the tunnel
	if err != nil {
		got = append(got, err.Error()...)
	}
	target.Close()
	if c := <-held; c != nil {
		c.Close()
	}
	return string(got)
}

func TestProxy_EndsIdleResponses(t *testing.T) {
	stop := make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "hello")
		http.NewResponseController(w).Flush()
		<-stop
	}))
	defer site.Close()
	defer close(stop)
	got := idly("hello", func(idle time.Duration) string {
		p, err := New([]string{site.Listener.Addr().String()})
		if err != nil {
			t.Fatal(err)
		}
		p.limits.idle = idle
		c := start(t, p)()
		c.SetReadDeadline(time.Now().Add(2 * time.Minute)) // for a response that never ends
		defer c.Close()
		go fmt.Fprintf(c, "GET %s/ HTTP/1.1\r\nHost: x\r\n\r\n", site.URL)
		got, err := io.ReadAll(c) // ends with the response
		if err != nil {
			t.Errorf("the response does not end: %v", err)
		}
		return string(got)
	})
	if !strings.Contains(got, "hello") {
		t.Errorf("got %q, want an answer", got)
	}
}

// A URL's query may have any format.
func TestProxy_PassesURLsUnchanged(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.RequestURI) }))
	defer site.Close()
	_, dial := serve(t, site.Listener.Addr().String())
	for _, uri := range []string{"/a?b=c", "/a?b;c&d=%zz", "/a%2Fb?"} {
		c := dial()
		go fmt.Fprintf(c, "GET %s%s HTTP/1.1\r\nHost: x\r\n\r\n", site.URL, uri)
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r.Body); err != nil || string(got) != uri {
			t.Errorf("the server got %s, %v, want %s", got, err, uri)
		}
		c.Close()
	}
}

func TestProxy_AnswersRefusedRequests(t *testing.T) {
	_, dial := serve(t, "github.com")
	for request, want := range map[string]int{
		"GET / HTTP/1.1\r\nHost: github.com":                      http.StatusBadRequest,
		"GET https://github.com/ HTTP/1.1\r\nHost: github.com":    http.StatusBadRequest,
		"GET ftp://github.com/ HTTP/1.1\r\nHost: github.com":      http.StatusBadRequest,
		"GET http://evil.org/ HTTP/1.1\r\nHost: github.com":       http.StatusForbidden,
		"CONNECT evil.org:443 HTTP/1.1\r\nHost: github.com":       http.StatusForbidden,
		"CONNECT github.com:22 HTTP/1.1\r\nHost: github.com:443":  http.StatusForbidden,
		"CONNECT 127.0.0.1:443 HTTP/1.1\r\nHost: github.com:443":  http.StatusForbidden,
		"GET http://evil.org@x.org/ HTTP/1.1\r\nHost: github.com": http.StatusForbidden,
	} {
		c := dial()
		go io.WriteString(c, request+"\r\n\r\n")
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || r.StatusCode != want {
			t.Errorf("%q: got %v, %v, want %d", request, r, err, want)
		}
		c.Close()
	}
}
