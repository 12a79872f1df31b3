package mcp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reins-agent/reins/tool"
)

// site is an HTTP server whose handler can be replaced.
type site struct {
	*httptest.Server
	handler atomic.Value // an http.HandlerFunc
}

func newSite(t *testing.T, h http.Handler) *site {
	s := &site{}
	s.set(h)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.handler.Load().(http.HandlerFunc)(w, r) }))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func (s *site) set(h http.Handler) { s.handler.Store(http.HandlerFunc(h.ServeHTTP)) }

// stateful returns a server for the protocol with sessions.
func stateful() http.Handler {
	old := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return testServer() }, nil)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") > legacy {
			http.Error(w, "unsupported", http.StatusBadRequest)
			return
		}
		old.ServeHTTP(w, r)
	})
}

func echo(t *testing.T, c *Client, server string) {
	t.Helper()
	res := invoke(t, c, "mcp__"+server+"__echo", `{"text":"hello"}`)
	if got := tool.String(res.Output); got != "hello" {
		t.Errorf("echo gave %q and the error %v", got, res.Error)
	}
}

func TestHTTP_LostSessionIsReplaced(t *testing.T) {
	t.Parallel()
	s := newSite(t, stateful())
	c := ready(t, Config{Servers: map[string]Server{"x": {URL: s.URL}}})
	echo(t, c, "x")
	s.set(stateful()) // does not know the session
	for range 3 {
		echo(t, c, "x")
	}
	c.Close()
}

func TestHTTP_LongCallDoesNotPoisonTheConnection(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]*sdk.StreamableHTTPOptions{"streams": nil, "single answers": {JSONResponse: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return testServer() }, options)
			var sessions atomic.Int32
			s := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == "POST" && r.Header.Get("Mcp-Session-Id") == "" && r.Header.Get("Mcp-Protocol-Version") <= legacy {
					sessions.Add(1)
				}
				handler.ServeHTTP(w, r)
			}))
			c := ready(t, Config{Servers: map[string]Server{"x": {URL: s.URL, Timeout: 4 * time.Second}}})
			before := sessions.Load()
			other := make(chan tool.Result, 1)
			go func() { other <- invoke(t, c, "mcp__x__progress", `{"text":"30"}`) }()
			if res := invoke(t, c, "mcp__x__hang", `{}`); res.Error == nil || res.Error.Code != TimedOut {
				t.Errorf("got the error %v, want a timeout", res.Error)
			}
			echo(t, c, "x")
			if res := <-other; tool.String(res.Output) != "finished" && options == nil {
				t.Errorf("another call was interrupted: %q and the error %v", tool.String(res.Output), res.Error)
			}
			if sessions.Load() != before {
				t.Error("the connection was replaced")
			}
			c.Close()
		})
	}
}

func TestHTTP_ServerErrorsFailOneCall(t *testing.T) {
	t.Parallel()
	good := stateful()
	s := newSite(t, good)
	c := ready(t, Config{Servers: map[string]Server{"x": {URL: s.URL}}})
	for _, status := range []int{500, 502, 503, 429} {
		s.set(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", status) }))
		if res := invoke(t, c, "mcp__x__echo", `{}`); res.Error == nil {
			t.Errorf("status %d: got %q", status, tool.String(res.Output))
		}
		s.set(good)
		echo(t, c, "x")
	}
	c.Close()
}

func TestHTTP_LargeAnswerFailsTheCallOnly(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{"application/json": "larger than 16 MiB", "text/event-stream": ""} {
		t.Run(kind, func(t *testing.T) {
			good := stateful()
			s := newSite(t, good)
			c := ready(t, Config{Servers: map[string]Server{"x": {URL: s.URL}}})
			s.set(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", kind)
				fmt.Fprint(w, `data: {"jsonrpc":"2.0","id":1,"result":"`)
				for range 50 {
					fmt.Fprint(w, strings.Repeat("x", 1<<20))
				}
			}))
			if res := invoke(t, c, "mcp__x__echo", `{}`); res.Error == nil || !strings.Contains(res.Error.Message, want) {
				t.Errorf("got %d bytes and the error %v, want %q", res.Output.Len(), res.Error, want)
			}
			s.set(good)
			echo(t, c, "x")
			c.Close()
		})
	}
}

func TestHTTP_HeadersStayAtTheirOrigin(t *testing.T) {
	t.Parallel()
	var stolen atomic.Value
	thief := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		stolen.Store(fmt.Sprint(r.Header))
		http.Error(w, "no", http.StatusNotFound)
	}))
	elsewhere := strings.Replace(thief.URL, "127.0.0.1", "localhost", 1)
	for name, h := range map[string]http.HandlerFunc{
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, thief.URL, http.StatusTemporaryRedirect)
		},
		"to another name": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere, http.StatusPermanentRedirect)
		},
		"endpoint": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "event: endpoint\ndata: %s\n\n", thief.URL)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, h)
			cfg := Server{URL: s.URL, Headers: map[string]string{"Authorization": "Bearer secret"}}
			if name == "endpoint" {
				cfg.Type = "sse"
			}
			c := open(t, Config{Servers: map[string]Server{"x": cfg}})
			c.Wait(t.Context(), time.Minute)
			if st := c.Status()[0]; st.State != Failed || !strings.Contains(st.Err.Error(), "http://") {
				t.Errorf("the server is %s: %v", st.State, st.Err)
			}
			if got := stolen.Load(); got != nil {
				t.Errorf("another origin got %v", got)
			}
			c.Close()
		})
	}
}

func TestHTTP_RedirectsAtTheOriginAreFollowed(t *testing.T) {
	t.Parallel()
	good := stateful()
	var without atomic.Int32
	s := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "k" {
			without.Add(1)
		}
		if r.URL.Path != "/moved/" {
			http.Redirect(w, r, "/moved/", http.StatusTemporaryRedirect)
			return
		}
		good.ServeHTTP(w, r)
	}))
	c := ready(t, Config{Servers: map[string]Server{"x": {URL: s.URL, Headers: map[string]string{"X-Key": "k"}}}})
	echo(t, c, "x")
	if n := without.Load(); n > 0 {
		t.Errorf("%d requests had no headers", n)
	}
	c.Close()
}

func TestHTTP_WithoutATokenTheServerNeedsAuthAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="/.well-known/oauth-protected-resource"`)
		http.Error(w, "who are you?", http.StatusUnauthorized)
	}))
	for _, kind := range []string{"http", "sse"} {
		c := open(t, Config{Servers: map[string]Server{"x": {URL: s.URL, Type: kind}}})
		c.Wait(t.Context(), time.Minute)
		if st := c.Status()[0]; st.State != NeedsAuth || st.Err == nil {
			t.Errorf("%s: the server is %s: %v", kind, st.State, st.Err)
		}
		c.Close()
	}
}

func TestHTTP_TokensAreSentAndRenewed(t *testing.T) {
	t.Parallel()
	good := stateful()
	var valid atomic.Value
	valid.Store("one")
	s := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+valid.Load().(string) {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		good.ServeHTTP(w, r)
	}))
	var current, refused atomic.Value
	current.Store("one")
	c := ready(t, Config{Servers: map[string]Server{"x": {URL: s.URL}}, Token: func(_ context.Context, server, bad string) (string, error) {
		if bad != "" {
			refused.Store(server + " " + bad)
			current.Store(valid.Load())
		}
		return current.Load().(string), nil
	}})
	echo(t, c, "x")
	valid.Store("two")
	echo(t, c, "x")
	if got := refused.Load(); got != "x one" {
		t.Errorf("the refused token is %v", got)
	}
	c.Close()
}

func TestHTTP_TokenThatStaysRefusedNeedsAuth(t *testing.T) {
	t.Parallel()
	good := stateful()
	s := newSite(t, good)
	c := ready(t, Config{Servers: map[string]Server{"x": {URL: s.URL}}, Token: func(context.Context, string, string) (string, error) { return "same", nil }})
	s.set(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", http.StatusUnauthorized) }))
	res := invoke(t, c, "mcp__x__echo", `{}`)
	if res.Error == nil || res.Error.Code != Unavailable || !strings.Contains(res.Error.Message, "authorization") {
		t.Errorf("the error is %v", res.Error)
	}
	if st := c.Status()[0]; st.State != NeedsAuth {
		t.Errorf("the server is %s: %v", st.State, st.Err)
	}
	s.set(good)
	if err := c.Reconnect(t.Context(), "x"); err != nil {
		t.Error(err)
	}
	echo(t, c, "x")
	c.Close()
}

func TestHTTP_UnreachableServer(t *testing.T) {
	t.Parallel()
	s := newSite(t, stateful())
	s.Close()
	hole := newSite(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	for says, server := range map[string]Server{
		"refused":                  {URL: s.URL + "?key=secret"},
		"did not answer within 1s": {URL: hole.URL},
		"ftp://x":                  {URL: "ftp://x"},
		`"ws"`:                     {URL: s.URL, Type: "ws"},
	} {
		limit := time.Minute
		if server.URL == hole.URL {
			limit = time.Second
		}
		c := open(t, Config{Connect: limit, Servers: map[string]Server{"x": server}})
		c.Wait(t.Context(), time.Minute)
		if st := c.Status()[0]; st.State != Failed || !strings.Contains(st.Err.Error(), says) || strings.Contains(st.Err.Error(), "secret") {
			t.Errorf("the server is %s: %v, want %q", st.State, st.Err, says)
		}
		c.Close()
	}
}

func TestHTTP_RestartedServerIsUsedAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t, stateful())
	c := ready(t, Config{Servers: map[string]Server{"x": {URL: s.URL, Type: "http"}}})
	s.CloseClientConnections()
	s.set(stateful())
	// It is unknown whether a request over a lost connection was received, so it is not sent again.
	if res := invoke(t, c, "mcp__x__echo", `{}`); res.Error != nil && res.Error.Code != Unavailable {
		t.Errorf("the error is %v", res.Error)
	}
	echo(t, c, "x")
	c.Close()
}

// The SDK waits for the answer to its request for a notification stream before it is connected (go-sdk#633).
func TestHTTP_ServerWithoutAStreamOfNotificationsCanBeUsed(t *testing.T) {
	t.Parallel()
	good := stateful()
	for name, get := range map[string]http.HandlerFunc{
		"no answer": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"reset":     func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"500":       func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusInternalServerError) },
		"404":       func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusNotFound) },
		"200":       func(http.ResponseWriter, *http.Request) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					get(w, r)
					return
				}
				good.ServeHTTP(w, r)
			}))
			c := ready(t, Config{Servers: map[string]Server{"x": {URL: s.URL}}, Connect: time.Minute})
			echo(t, c, "x")
			c.Close()
		})
	}
}

func TestHTTP_LateStreamOfNotificationsIsUsed(t *testing.T) {
	t.Parallel()
	server := testServer()
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	open := make(chan struct{})
	s := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") > legacy {
			http.Error(w, "unsupported", http.StatusBadRequest)
			return
		}
		if r.Method == http.MethodGet {
			<-open
		}
		handler.ServeHTTP(w, r)
	}))
	changes := make(chan Change, 10)
	c := ready(t, Config{Servers: map[string]Server{"x": {URL: s.URL}}, OnChange: func(ch Change) { changes <- ch }})
	<-changes
	close(open)
	for i := 0; ; i++ { // the server forgets notifications that come before the stream
		invoke(t, c, "mcp__x__add", fmt.Sprintf(`{"text":"extra%d"}`, i))
		select {
		case ch := <-changes:
			if len(ch.Add) == 0 || !strings.HasPrefix(ch.Add[0].Spec().Name, "mcp__x__extra") {
				t.Errorf("the change is %+v", ch)
			}
			c.Close()
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func TestHTTP_FloodOfNotificationsLeavesTheServerUsable(t *testing.T) {
	t.Parallel()
	good := stateful()
	s := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			good.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", eventStream)
		for r.Context().Err() == nil {
			fmt.Fprint(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n")
		}
	}))
	c := ready(t, Config{Servers: map[string]Server{"x": {URL: s.URL}}})
	for range 5 {
		echo(t, c, "x")
	}
	c.Close()
}

func TestHTTP_EndlessAnswerTimesOut(t *testing.T) {
	t.Parallel()
	good := stateful()
	s := newSite(t, good)
	c := ready(t, Config{Servers: map[string]Server{"x": {URL: s.URL, Timeout: 4 * time.Second}}})
	s.set(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", eventStream)
		for r.Context().Err() == nil {
			fmt.Fprint(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n\n")
		}
	}))
	if res := invoke(t, c, "mcp__x__echo", `{}`); res.Error == nil || res.Error.Code != TimedOut {
		t.Errorf("got %q and the error %v, want a timeout", tool.String(res.Output), res.Error)
	}
	s.set(good)
	echo(t, c, "x")
	c.Close()
}
