package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/tool"
)

// TestMain runs the test binary as a server if it is asked to.
func TestMain(m *testing.M) {
	if kind := os.Getenv("MCP_TEST_SERVER"); kind != "" {
		serve(kind)
		return
	}
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// program returns the configuration of a server that the test binary runs.
func program(t testing.TB, kind string, vars ...string) Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := Server{Command: self, Env: map[string]string{"MCP_TEST_SERVER": kind}}
	for _, v := range vars {
		name, value, _ := strings.Cut(v, "=")
		s.Env[name] = value
	}
	return s
}

// open opens a client with an environment, and closes both at the end of the test.
func open(t testing.TB, cfg Config) *Client {
	t.Helper()
	e, err := local.New(local.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Env = e
	c := Open(t.Context(), cfg)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// ready opens a client and waits for its servers.
func ready(t testing.TB, cfg Config) *Client {
	t.Helper()
	c := open(t, cfg)
	c.Wait(t.Context(), time.Minute)
	for _, s := range c.Status() {
		if s.State != Connected {
			t.Fatalf("server %s is %s: %v", s.Name, s.State, s.Err)
		}
	}
	return c
}

// names returns the names of the tools.
func names(c *Client) []string {
	var list []string
	for _, t := range c.Tools() {
		list = append(list, t.Spec().Name)
	}
	return list
}

// invoke calls a tool by its name.
func invoke(t testing.TB, c *Client, name, args string) tool.Result {
	t.Helper()
	return invokeCall(t.Context(), t, c, &tool.Call{Name: name, Args: json.RawMessage(args)})
}

func invokeCall(ctx context.Context, t testing.TB, c *Client, call *tool.Call) tool.Result {
	t.Helper()
	for _, one := range c.Tools() {
		if one.Spec().Name == call.Name {
			res, err := one.Run(ctx, call)
			if err != nil {
				t.Fatalf("%s: %v", call.Name, err)
			}
			return res
		}
	}
	t.Fatalf("there is no tool %s in %v", call.Name, names(c))
	return tool.Result{}
}

// serve runs a server for tests on standard input and output.
func serve(kind string) {
	switch kind {
	case "sdk":
		s := testServer()
		if err := s.Run(context.Background(), &sdk.StdioTransport{}); err != nil && !errors.Is(err, io.EOF) {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	default:
		rawServer(kind)
	}
}

type textInput struct {
	Text string `json:"text,omitempty"`
}

func text(format string, args ...any) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf(format, args...)}}}
}

// testServer returns a well-behaved server.
func testServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1.2.3"}, &sdk.ServerOptions{Instructions: "Use echo."})
	add := func(name string, f func(context.Context, *sdk.CallToolRequest, textInput) (*sdk.CallToolResult, any, error)) {
		sdk.AddTool(s, &sdk.Tool{Name: name, Description: "Test " + name, Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}, f)
	}
	add("echo", func(_ context.Context, _ *sdk.CallToolRequest, in textInput) (*sdk.CallToolResult, any, error) {
		return text("%s", in.Text), nil, nil
	})
	add("fail", func(_ context.Context, _ *sdk.CallToolRequest, in textInput) (*sdk.CallToolResult, any, error) {
		return nil, nil, errors.New("it failed: " + in.Text)
	})
	add("pid", func(context.Context, *sdk.CallToolRequest, textInput) (*sdk.CallToolResult, any, error) {
		return text("%d", os.Getpid()), nil, nil
	})
	add("environ", func(context.Context, *sdk.CallToolRequest, textInput) (*sdk.CallToolResult, any, error) {
		return text("%s", strings.Join(os.Environ(), "\n")), nil, nil
	})
	add("hang", func(ctx context.Context, _ *sdk.CallToolRequest, _ textInput) (*sdk.CallToolResult, any, error) {
		<-ctx.Done()
		fmt.Fprintln(os.Stderr, "cancelled")
		return nil, nil, ctx.Err()
	})
	return s
}

// rawServer is a server without the SDK, for what no SDK would do.
func rawServer(kind string) {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s got %s\n", kind, m.Method)
	}
}

// handler serves a server over HTTP.
func handler(kind string, s *sdk.Server) http.Handler {
	get := func(*http.Request) *sdk.Server { return s }
	if kind == "sse" {
		return sdk.NewSSEHandler(get, nil)
	}
	return sdk.NewStreamableHTTPHandler(get, nil)
}
