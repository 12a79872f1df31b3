package web

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/policy/rules"
	"github.com/reins-agent/reins/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// private offers web_fetch for servers on this machine.
var private = Config{Fetch: true, AllowPrivate: true}

// run runs a call through the whole pipeline.
func run(t *testing.T, c Config, name string, args map[string]any) tool.Outcome {
	t.Helper()
	return runWith(t, c, policy.AllowAll{}, name, args)
}

func runWith(t *testing.T, c Config, p policy.Policy, name string, args map[string]any) tool.Outcome {
	t.Helper()
	made, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	reg := &tool.Registry{}
	if err := reg.Register(made...); err != nil {
		t.Fatal(err)
	}
	reg.Alias(tools.AddedAliases()...)
	b, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return (&tool.Pipeline{Registry: reg, Policy: p}).Run(t.Context(), tool.Call{ID: "1", Name: name, Args: b})
}

// fetch fetches a page, which must succeed, and returns the model's view of the result.
func fetch(t *testing.T, c Config, url string) string {
	t.Helper()
	out := run(t, c, "web_fetch", map[string]any{"url": url})
	if !out.OK() {
		t.Fatalf("web_fetch %s failed: %+v", url, out.Result.Error)
	}
	return out.Model
}

// refuses fetches a page, which must fail with a code and a message.
func refuses(t *testing.T, c Config, url string, code tool.Code, says ...string) {
	t.Helper()
	out := run(t, c, "web_fetch", map[string]any{"url": url})
	if out.OK() || out.Result.Error.Code != code {
		t.Fatalf("web_fetch %s: got %+v, %q, want %s", url, out.Result.Error, out.Model, code)
	}
	has(t, out.Model, says...)
}

func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("got %q, want it to contain %q", text, p)
		}
	}
}

func lacks(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if strings.Contains(text, p) {
			t.Errorf("got %q, want it not to contain %q", text, p)
		}
	}
}

// serve starts a server.
func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// sends returns a handler that sends a body with a content type.
func sends(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write([]byte(body))
	}
}

// at starts a server at an address, which not every system has.
func at(t *testing.T, address string, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Skipf("cannot listen at %s: %v", address, err)
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: h}}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// resolver starts a name server that gives the n-th query for an IPv4 address the n-th answer, and later queries the
// last.
func resolver(t *testing.T, answers ...string) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { conn.Close(); <-done })
	var asked atomic.Int32
	go func() {
		defer close(done)
		for buf := make([]byte, 1500); ; {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			m.Response, m.Authoritative, m.Additionals = true, true, nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				a := netip.MustParseAddr(answers[min(int(asked.Add(1)), len(answers))-1])
				m.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}, Body: &dnsmessage.AResource{A: a.As4()},
				}}
			}
			if b, err := m.Pack(); err == nil {
				_, _ = conn.WriteTo(b, from)
			}
		}
	}()
	d := net.Dialer{}
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return d.DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// permits returns a policy with at most one rule that allows and one that denies.
func permits(t *testing.T, allow, deny string) policy.Policy {
	t.Helper()
	var p rules.Policy
	for text, list := range map[string]*[]rules.Rule{allow: &p.Allow, deny: &p.Deny} {
		if text == "" {
			continue
		}
		r, err := rules.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		*list = append(*list, r)
	}
	return p
}
