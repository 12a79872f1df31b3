package serve

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/policy/rules"
	"github.com/reins-agent/reins/tool"
)

const testToken = "token-0123456789abcdef"

// versions are the protocol versions with different ways to ask the user.
var versions = []string{"2025-06-18", "2025-11-25", "2026-07-28"}

// bench is a server for the coding tools and others, in its own directory.
type bench struct {
	*Server
	dir string

	mu      sync.Mutex
	audited []tool.Outcome
}

// wait is a tool that runs until its context ends.
type wait struct{ started, ended chan struct{} }

func newWait() *wait { return &wait{make(chan struct{}), make(chan struct{})} }

func (w *wait) tool() tool.Tool {
	return tool.New(tool.Spec{Name: "wait", Description: "Waits.", ReadOnly: true}, tool.Nothing, func(ctx context.Context, _ *tool.Call, _ struct{}) (tool.Result, error) {
		close(w.started)
		<-ctx.Done()
		close(w.ended)
		return tool.Result{}, ctx.Err()
	})
}

func newBench(t *testing.T, change func(*Config), more ...tool.Tool) *bench {
	t.Helper()
	b := &bench{dir: t.TempDir()}
	w, err := coding.OpenWorkbench(t.Context(), coding.Config{
		Dir: b.dir, Audit: coding.Audit{Path: filepath.Join(t.TempDir(), "audit.jsonl")}, Secrets: coding.Secrets{Vars: []string{"API_TOKEN=hunter2hunter2hunter2"}},
		Session: agent.Config{Policy: rules.Policy{}, Audit: func(_, _ string, o tool.Outcome) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.audited = append(b.audited, o)
		}},
	}, func(c coding.ToolConfig) (*tool.Registry, error) {
		reg := &tool.Registry{}
		return reg, reg.Register(append(coding.NewTools(c), more...)...)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	c := Config{Name: "test", Version: "1", Pipeline: w.Pipeline, Env: w.Env, Guard: w.Guard}
	if change != nil {
		change(&c)
	}
	if b.Server, err = New(c); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) file(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// outcomes returns what the audit log got.
func (b *bench) outcomes() []tool.Outcome {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.audited)
}

// stdio connects a client over pipes. The returned function ends the server's input and waits for the server.
func (b *bench) stdio(t *testing.T, version string, c *sdk.ClientOptions) (*sdk.ClientSession, func()) {
	t.Helper()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- b.Run(context.Background(), toServer, fromServer)
		fromServer.Close()
	}()
	end := sync.OnceFunc(func() {
		fromClient.Close()
		if err := <-served; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(end)
	return connect(t, version, c, &sdk.IOTransport{Reader: toClient, Writer: fromClient}), end
}

func connect(t *testing.T, version string, c *sdk.ClientOptions, transport sdk.Transport) *sdk.ClientSession {
	t.Helper()
	s, err := sdk.NewClient(&sdk.Implementation{Name: "client", Version: "1"}, c).Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { go s.Close() }) // the server may have ended already
	if got := s.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("the protocol version is %s, want %s", got, version)
	}
	return s
}

// listen serves over HTTP and returns the URL.
func (b *bench) listen(t *testing.T, c HTTPConfig) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- b.Serve(ctx, l, c) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return "http://" + l.Addr().String() + Path
}

// bearer adds the token to requests.
type bearer struct{ http.RoundTripper }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+testToken)
	return b.RoundTripper.RoundTrip(r)
}

// http connects a client over HTTP.
func (b *bench) http(t *testing.T, version string, c *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	own := &http.Transport{}
	t.Cleanup(own.CloseIdleConnections)
	return connect(t, version, c, &sdk.StreamableClientTransport{
		Endpoint: b.listen(t, HTTPConfig{Token: testToken}), HTTPClient: &http.Client{Transport: bearer{own}}, MaxRetries: -1,
	})
}

// each runs a test over both transports, with each protocol version.
func each(t *testing.T, test func(t *testing.T, connect func(*bench, *sdk.ClientOptions) *sdk.ClientSession)) {
	for _, version := range versions {
		t.Run("stdio "+version, func(t *testing.T) {
			test(t, func(b *bench, c *sdk.ClientOptions) *sdk.ClientSession {
				s, _ := b.stdio(t, version, c)
				return s
			})
		})
		t.Run("http "+version, func(t *testing.T) {
			test(t, func(b *bench, c *sdk.ClientOptions) *sdk.ClientSession { return b.http(t, version, c) })
		})
	}
}

// call calls a tool and returns its result and the result's text.
func call(t *testing.T, s *sdk.ClientSession, name string, args any) (*sdk.CallToolResult, string) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return r, text(r)
}

func text(r *sdk.CallToolResult) string {
	var b strings.Builder
	for _, c := range r.Content {
		if c, ok := c.(*sdk.TextContent); ok {
			b.WriteString(c.Text)
		}
	}
	return b.String()
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

type object = map[string]any
