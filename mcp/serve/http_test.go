package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reins-agent/reins/tool"
)

// initialize is a client's first request.
const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`

// request returns a request with everything that it needs.
func request(t *testing.T, method, url, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+testToken)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	return r
}

// client returns a new client.
func client(t *testing.T) *http.Client {
	own := &http.Transport{MaxIdleConnsPerHost: 100}
	t.Cleanup(own.CloseIdleConnections)
	return &http.Client{Transport: own}
}

// send sends a request and returns status, header and the beginning of the body.
func send(t *testing.T, c *http.Client, r *http.Request) (int, http.Header, string) {
	t.Helper()
	res, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(b)
}

func TestHTTP_RefusesOtherCallers(t *testing.T) {
	b := newBench(t, nil)
	address := b.listen(t, HTTPConfig{Token: testToken, Hosts: []string{"tools.example.com"}, Origins: []string{"https://app.example.com"}})
	at, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	set := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	for name, c := range map[string]struct {
		change func(*http.Request)
		want   int
	}{
		"everything right":        {func(*http.Request) {}, 200},
		"no token":                {func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		"wrong token":             {set("Authorization", "Bearer wrong-0123456789abcd"), 401},
		"begin of the token":      {set("Authorization", "Bearer "+testToken[:10]), 401},
		"longer token":            {set("Authorization", "Bearer "+testToken+"x"), 401},
		"scheme in lower case":    {set("Authorization", "bearer "+testToken), 200},
		"other scheme":            {set("Authorization", "Basic "+testToken), 401},
		"token alone":             {set("Authorization", testToken), 401},
		"empty token":             {set("Authorization", "Bearer "), 401},
		"token in the URL":        {func(r *http.Request) { r.Header.Del("Authorization"); r.URL.RawQuery = "token=" + testToken }, 401},
		"localhost":               {host("localhost:" + at.Port()), 200},
		"localhost of other port": {host("localhost:1"), 200},
		"IPv6":                    {host("[::1]:" + at.Port()), 200},
		"named host":              {host("tools.example.com"), 200},
		"rebound name":            {host("evil.example.com:" + at.Port()), 403},
		"name that begins so":     {host("localhost.example.com"), 403},
		"name that ends so":       {host("eviltools.example.com"), 403},
		"address as a name":       {host("127.0.0.1.example.com"), 403},
		"rebound name, no token":  {func(r *http.Request) { r.Host = "evil.example.com"; r.Header.Del("Authorization") }, 403},
		"own origin":              {set("Origin", "http://"+at.Host), 200},
		"named origin":            {set("Origin", "https://app.example.com"), 200},
		"other origin":            {set("Origin", "https://evil.example.com"), 403},
		"other port":              {set("Origin", "http://127.0.0.1:1"), 403},
		"no origin":               {set("Origin", "null"), 403},
		"empty origin":            {set("Origin", ""), 403},
		"origin that begins so":   {set("Origin", "https://app.example.com.evil.example"), 403},
		"origin of a file":        {set("Origin", "file://"+at.Host), 403},
		"two origins": {func(r *http.Request) {
			r.Header["Origin"] = []string{"https://app.example.com", "https://evil.example.com"}
		}, 403},
		"rebound name, its origin": {func(r *http.Request) { r.Host = "evil.example.com"; r.Header.Set("Origin", "http://evil.example.com") }, 403},
		"preflight":                {func(r *http.Request) { r.Method = "OPTIONS"; r.Header.Set("Origin", "https://evil.example.com") }, 403},
		"preflight of own origin":  {func(r *http.Request) { r.Method = "OPTIONS"; r.Header.Set("Origin", "http://"+at.Host) }, 405},
		"other path":               {func(r *http.Request) { r.URL.Path = "/" }, 404},
		"form":                     {set("Content-Type", "text/plain"), 415},
		"other session":            {set("Mcp-Session-Id", "AAAAAAAAAAAAAAAAAAAAAAAAAA"), 404},
	} {
		r := request(t, "POST", address, initialize)
		c.change(r)
		status, header, body := send(t, client(t), r)
		if status != c.want {
			t.Errorf("%s: %d %s, want %d", name, status, body, c.want)
		}
		if strings.Contains(body, testToken) || header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: the response shows the token or lets others read it: %v %s", name, header, body)
		}
		if c.want == 401 && header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s: WWW-Authenticate is %q", name, header.Get("WWW-Authenticate"))
		}
	}
}

func TestHTTP_NeedsAToken(t *testing.T) {
	for _, token := range []string{"", "short"} {
		if _, err := newBench(t, nil).Handler(HTTPConfig{Token: token}); err == nil {
			t.Errorf("the token %q is accepted", token)
		}
	}
}

func TestHTTP_RefusesHugeRequests(t *testing.T) {
	b := newBench(t, nil)
	address := b.listen(t, HTTPConfig{Token: testToken})
	for _, version := range versions {
		for name, length := range map[string]int64{"known length": maxMessage + 1, "unknown length": -1} {
			r := request(t, "POST", address, "")
			r.Header.Set("Mcp-Protocol-Version", version)
			r.Body, r.ContentLength = io.NopCloser(io.LimitReader(spaces{}, maxMessage+1)), length
			res, err := client(t).Do(r)
			if err != nil { // the server may close the connection while the client still writes
				continue
			}
			res.Body.Close()
			if res.StatusCode != http.StatusRequestEntityTooLarge {
				t.Errorf("%s, %s: %d, want 413", version, name, res.StatusCode)
			}
		}
	}
	if n := len(b.outcomes()); n != 0 {
		t.Errorf("%d calls, want none", n)
	}
}

type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestHTTP_SessionsAreLimited(t *testing.T) {
	b := newBench(t, nil)
	address := b.listen(t, HTTPConfig{Token: testToken})
	c := client(t)
	var mu sync.Mutex
	count := map[int]int{}
	var ids []string
	var wg sync.WaitGroup
	for range 20 { // each client opens a hundred sessions
		wg.Go(func() {
			for range 100 {
				status, header, _ := send(t, c, request(t, "POST", address, initialize))
				mu.Lock()
				count[status]++
				if id := header.Get("Mcp-Session-Id"); id != "" {
					ids = append(ids, id)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	n := 0
	for range b.sdk.Sessions() {
		n++
	}
	if n > 64 || count[200] > 64 || count[200] < 32 || count[200]+count[503] != 2000 {
		t.Fatalf("%d sessions after 2000 attempts, answers %v; want at most 64", n, count)
	}
	end := request(t, "DELETE", address, "")
	end.Header.Set("Mcp-Session-Id", ids[0])
	if status, _, body := send(t, c, end); status != http.StatusNoContent {
		t.Fatalf("DELETE: %d %s", status, body)
	}
	if status, _, body := send(t, c, request(t, "POST", address, initialize)); status != 200 {
		t.Errorf("a session after another one ended: %d %s, want 200", status, body)
	}
}

func TestHTTP_FailedSessionsDoNotCount(t *testing.T) {
	b := newBench(t, nil)
	address := b.listen(t, HTTPConfig{Token: testToken, MaxSessions: 1})
	for _, body := range []string{"nonsense", "{}", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `[]`, `null`, strings.Repeat("[", 100_000)} {
		if status, _, _ := send(t, client(t), request(t, "POST", address, body)); status == http.StatusServiceUnavailable {
			t.Fatalf("%.50s: refused because of sessions", body)
		}
	}
	if status, _, body := send(t, client(t), request(t, "POST", address, initialize)); status != 200 {
		t.Errorf("after failed sessions: %d %s, want 200", status, body)
	}
}

// setTimeouts shortens the timeouts for a test.
func setTimeouts(t *testing.T, header, body, write time.Duration) {
	old := timeouts
	timeouts.header, timeouts.body, timeouts.write = header, body, write
	t.Cleanup(func() { timeouts = old })
}

// TestHTTP_SlowClientsAreDisconnected waits until the server closes a connection whose client sends too slowly.
func TestHTTP_SlowClientsAreDisconnected(t *testing.T) {
	setTimeouts(t, 50*time.Millisecond, 50*time.Millisecond, time.Minute)
	b := newBench(t, nil)
	address, err := url.Parse(b.listen(t, HTTPConfig{Token: testToken}))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"header": "POST /mcp HTTP/1.1\r\nHost: localhost\r\n",
		"body":   "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + testToken + "\r\nContent-Length: 1000\r\n\r\n{",
	} {
		conn, err := net.Dial("tcp", address.Host)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		got, err := io.ReadAll(conn) // ends when the server closes the connection
		conn.Close()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("slow %s: the connection stays open", name)
		}
		if strings.Contains(string(got), "200 OK") {
			t.Errorf("slow %s: %q, %v", name, got, err)
		}
	}
}

// pipes is a listener whose connections have no buffers: a client that does not read blocks the server at once.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p pipes) dial() net.Conn {
	server, client := net.Pipe()
	p <- server
	return client
}

// TestHTTP_ClientThatReadsNothingIsDisconnected checks that a call ends although its client reads no output.
func TestHTTP_ClientThatReadsNothingIsDisconnected(t *testing.T) {
	setTimeouts(t, time.Minute, time.Minute, time.Second) // the client that reads may be slow on a busy machine
	ended := make(chan error, 1)
	talk := tool.New(tool.Spec{Name: "talk"}, tool.Nothing, func(ctx context.Context, c *tool.Call, _ struct{}) (tool.Result, error) {
		c.Output([]byte("hello"))
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return tool.Result{}, ctx.Err()
	})
	l := make(pipes)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- newBench(t, nil, talk).Serve(ctx, l, HTTPConfig{Token: testToken}) }()
	one := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) { return l.dial(), nil }}}
	_, header, _ := send(t, one, request(t, "POST", "http://localhost/mcp", initialize))
	conn := l.dial()
	defer conn.Close()
	r := request(t, "POST", "http://localhost/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"talk","_meta":{"progressToken":1}}}`)
	r.Header.Set("Mcp-Session-Id", header.Get("Mcp-Session-Id"))
	if err := r.Write(conn); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, errClientGone) {
		t.Errorf("the call ended with %v, want %v", err, errClientGone)
	}
	cancel()
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// waiting starts a call that never ends, and returns its session and its connection.
func waiting(t *testing.T, address, version string) (session string, conn net.Conn) {
	t.Helper()
	at, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	body := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait"}}`
	r := request(t, "POST", address, body)
	if version < asksByResult {
		_, header, _ := send(t, client(t), request(t, "POST", address, initialize))
		session = header.Get("Mcp-Session-Id")
		r.Header.Set("Mcp-Session-Id", session)
	} else {
		r = request(t, "POST", address, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait","_meta":{"io.modelcontextprotocol/protocolVersion":"`+version+`","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`)
		r.Header.Set("Mcp-Method", "tools/call")
		r.Header.Set("Mcp-Name", "wait")
	}
	r.Header.Set("Mcp-Protocol-Version", version)
	if conn, err = net.Dial("tcp", at.Host); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := r.Write(conn); err != nil {
		t.Fatal(err)
	}
	return session, conn
}

func TestHTTP_CallEndsWhenItsClientGoesAway(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			w := newWait()
			_, conn := waiting(t, newBench(t, nil, w.tool()).listen(t, HTTPConfig{Token: testToken}), version)
			select {
			case <-w.started:
			case line := <-firstLine(conn):
				t.Fatalf("the call did not start: %s", line)
			}
			conn.Close()
			<-w.ended
		})
	}
}

// firstLine reads a response's status line.
func firstLine(conn net.Conn) <-chan string {
	lines := make(chan string, 1)
	go func() {
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || res.StatusCode == 200 {
			return
		}
		body, _ := io.ReadAll(io.LimitReader(res.Body, 1000))
		lines <- fmt.Sprintf("%s %s", res.Status, body)
	}()
	return lines
}

func TestHTTP_CallEndsWithItsSession(t *testing.T) {
	w := newWait()
	address := newBench(t, nil, w.tool()).listen(t, HTTPConfig{Token: testToken})
	session, _ := waiting(t, address, versions[0])
	<-w.started
	r := request(t, "DELETE", address, "")
	r.Header.Set("Mcp-Session-Id", session)
	if status, _, body := send(t, client(t), r); status != http.StatusNoContent {
		t.Errorf("DELETE: %d %s, want 204", status, body)
	}
	<-w.ended
}

func TestHTTP_OtherSessionsKeepTheirCalls(t *testing.T) {
	w := newWait()
	address := newBench(t, nil, w.tool()).listen(t, HTTPConfig{Token: testToken})
	waiting(t, address, versions[0])
	<-w.started
	_, header, _ := send(t, client(t), request(t, "POST", address, initialize))
	r := request(t, "DELETE", address, "")
	r.Header.Set("Mcp-Session-Id", header.Get("Mcp-Session-Id"))
	if status, _, body := send(t, client(t), r); status != http.StatusNoContent {
		t.Fatalf("DELETE: %d %s, want 204", status, body)
	}
	select {
	case <-w.ended:
		t.Error("the call of another session ended")
	default:
	}
}

// TestHTTP_ClientsCannotNameTheOriginOfACall sends the header that binds calls to their requests.
func TestHTTP_ClientsCannotNameTheOriginOfACall(t *testing.T) {
	b := newBench(t, nil)
	address := b.listen(t, HTTPConfig{Token: testToken})
	_, header, _ := send(t, client(t), request(t, "POST", address, initialize))
	r := request(t, "POST", address, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"glob","arguments":{"pattern":"*"}}}`)
	r.Header.Set("Mcp-Session-Id", header.Get("Mcp-Session-Id"))
	r.Header.Set(requestHeader, "another")
	if status, _, body := send(t, client(t), r); status != 200 || len(b.outcomes()) != 1 {
		t.Errorf("%d %s, %d calls; want one call", status, body, len(b.outcomes()))
	}
}

func TestHTTP_ServeEndsAlthoughACallRuns(t *testing.T) {
	w := newWait()
	b := newBench(t, nil, w.tool())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- b.Serve(ctx, l, HTTPConfig{Token: testToken}) }()
	waiting(t, "http://"+l.Addr().String()+Path, versions[0])
	<-w.started
	cancel()
	<-w.ended
	if err := <-done; err != nil {
		t.Errorf("Serve: %v, want nil", err)
	}
}

// TestHTTP_WithAnEventStoreACallOutlivesItsConnection waits until the server has noticed that the client is gone.
func TestHTTP_WithAnEventStoreACallOutlivesItsConnection(t *testing.T) {
	started, noticed, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	slow := tool.New(tool.Spec{Name: "wait"}, tool.Nothing, func(ctx context.Context, _ *tool.Call, _ struct{}) (tool.Result, error) {
		close(started)
		<-noticed
		ended <- ctx.Err()
		return tool.Success("done"), nil
	})
	h, err := newBench(t, nil, slow).Handler(HTTPConfig{Token: testToken, EventStore: sdk.NewMemoryEventStore(nil)})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r)
		if r.Context().Err() != nil {
			close(noticed)
		}
	}))
	defer srv.Close()
	_, conn := waiting(t, srv.URL+Path, versions[1])
	<-started
	conn.Close()
	if err := <-ended; err != nil {
		t.Errorf("the call was cancelled: %v", err)
	}
}
