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
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/tool"
)

// TestMain runs the test binary as a server if the environment says so.
func TestMain(m *testing.M) {
	if kind := os.Getenv("MCP_TEST_SERVER"); kind != "" {
		serve(kind)
		return
	}
	code := m.Run()
	if code == 0 {
		// Replaced test servers do not notice that their sessions are over.
		if err := goleak.Find(goleak.IgnoreAnyFunction("github.com/modelcontextprotocol/go-sdk/mcp.(*streamableServerConn).Read")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// program returns the configuration for a server that the test binary runs.
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

// names returns the tool names.
func names(c *Client) []string {
	var list []string
	for _, t := range c.Tools() {
		list = append(list, t.Spec().Name)
	}
	return list
}

// invoke calls a tool by name.
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

// serve runs a test server on standard input and output.
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
	add("die", func(context.Context, *sdk.CallToolRequest, textInput) (*sdk.CallToolResult, any, error) {
		if p, err := os.FindProcess(os.Getpid()); err == nil {
			p.Kill()
		}
		select {} // until the signal arrives
	})
	add("environ", func(context.Context, *sdk.CallToolRequest, textInput) (*sdk.CallToolResult, any, error) {
		return text("%s", strings.Join(os.Environ(), "\n")), nil, nil
	})
	add("hang", func(ctx context.Context, _ *sdk.CallToolRequest, _ textInput) (*sdk.CallToolResult, any, error) {
		fmt.Fprintln(os.Stderr, "hanging")
		<-ctx.Done()
		fmt.Fprintln(os.Stderr, "cancelled")
		return nil, nil, ctx.Err()
	})
	add("progress", func(ctx context.Context, r *sdk.CallToolRequest, in textInput) (*sdk.CallToolResult, any, error) {
		n, _ := strconv.Atoi(in.Text)
		for i := range n {
			r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
				ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: float64(n), Message: fmt.Sprintf("step %d", i+1),
			})
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
				return nil, nil, ctx.Err()
			}
		}
		return text("finished"), nil, nil
	})
	add("write", func(_ context.Context, _ *sdk.CallToolRequest, in textInput) (*sdk.CallToolResult, any, error) {
		return text("written"), nil, os.WriteFile(in.Text, nil, 0o644)
	})
	add("add", func(_ context.Context, _ *sdk.CallToolRequest, in textInput) (*sdk.CallToolResult, any, error) {
		add(in.Text, func(context.Context, *sdk.CallToolRequest, textInput) (*sdk.CallToolResult, any, error) {
			return text("new"), nil, nil
		})
		return text("added"), nil, nil
	})
	add("remove", func(_ context.Context, _ *sdk.CallToolRequest, in textInput) (*sdk.CallToolResult, any, error) {
		s.RemoveTools(in.Text)
		return text("removed"), nil, nil
	})
	return s
}

// rawServer is a server without the SDK, for behavior that no SDK has.
func rawServer(kind string) {
	r := &raw{kind: kind, in: bufio.NewReader(os.Stdin), out: os.Stdout}
	switch kind {
	case "silent":
		io.Copy(io.Discard, r.in)
		return
	case "dies":
		fmt.Fprintln(os.Stderr, "starting\nAPI_KEY is not set")
		os.Exit(3)
	case "noise":
		for r.say("no JSON") == nil {
		}
	case "endless line":
		for r.write(strings.Repeat("[", 1<<20)) == nil {
		}
	case "stderr":
		go func() {
			for line := strings.Repeat("x", 1000); ; {
				fmt.Fprintln(os.Stderr, line)
			}
		}()
	}
	for {
		line, err := r.in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m request
		if json.Unmarshal(line, &m) == nil {
			r.handle(m)
		}
	}
}

type raw struct {
	kind  string
	in    *bufio.Reader
	out   io.Writer
	calls int
	lists int
	mu    sync.Mutex
}

type request struct {
	ID     json.RawMessage
	Method string
	Params struct{ Name, Cursor string }
}

func (r *raw) write(text string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err := io.WriteString(r.out, text)
	return err
}

func (r *raw) say(line string) error { return r.write(line + "\n") }

func (r *raw) answer(id json.RawMessage, result string) {
	r.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result))
}

func (r *raw) text(id json.RawMessage, text string) {
	r.answer(id, fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, text))
}

func (r *raw) handle(m request) {
	switch m.Method {
	case "initialize":
		caps := `"tools":{"listChanged":true}`
		if r.kind == "nulls" {
			caps += `,"resources":{},"prompts":{}`
		}
		r.answer(m.ID, `{"protocolVersion":"2025-06-18","capabilities":{`+caps+`},"serverInfo":{"name":"raw","version":"0"}}`)
		if r.kind == "notifications" {
			go r.repeat(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`)
		}
		if r.kind == "changes" {
			go r.repeat(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}
	case "tools/list":
		r.list(m)
	case "tools/call":
		r.calls++
		r.call(m)
	case "resources/list":
		r.answer(m.ID, `{"resources":[null,{"uri":"x://a"}]}`)
	case "resources/templates/list":
		r.answer(m.ID, `{"resourceTemplates":[null]}`)
	case "resources/read":
		r.answer(m.ID, `{"contents":[null,{"uri":"x://a","text":"a"}]}`)
	case "prompts/list":
		r.answer(m.ID, `{"prompts":[null,{"name":"p","arguments":[null]}]}`)
	case "prompts/get":
		r.answer(m.ID, `{"messages":[null,{"role":"user","content":null},{"role":"user","content":{"type":"text","text":"a"}}]}`)
	case "notifications/cancelled":
		fmt.Fprintln(os.Stderr, "cancelled")
	default:
		if r.kind == "old" && m.Method == "server/discover" {
			os.Exit(1)
		}
		if m.ID != nil {
			r.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method"}}`, m.ID))
		}
	}
}

func (r *raw) repeat(line string) {
	for r.say(line) == nil {
	}
}

func (r *raw) list(m request) {
	tool := func(name string) string {
		return fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name)
	}
	r.lists++
	tools, next := []string{tool("b"), tool("a")}, ""
	switch r.kind {
	case "changes":
		tools = append(tools, tool(fmt.Sprintf("new%d", r.lists)))
	case "pages":
		next = `,"nextCursor":"again"`
		tools = []string{tool(fmt.Sprintf("t%d", r.lists))}
	case "odd tools":
		tools = append(tools, `{"name":"number","description":5,"inputSchema":{}}`, `{"name":["x"]}`, `null`, `"text"`, tool("c"),
			`{"name":"absurd","inputSchema":{"type":"object","properties":{"x":`+strings.Repeat(`{"items":`, 1500)+`{}`+strings.Repeat(`}`, 1500)+`}}}`)
	case "bad tools":
		tools = append(tools,
			`{"name":"text","inputSchema":{"type":"string"}}`,
			`{"name":"ref","inputSchema":{"type":"object","properties":{"x":{"$ref":"#/nowhere"}}}}`,
			`{"name":"hidden","description":"Adds.\u200b\udb40\udc41","inputSchema":{"type":"object"}}`,
			tool("a"), `{"name":"long","description":"`+strings.Repeat("d", 10000)+`","inputSchema":{"type":"object"}}`)
	}
	r.answer(m.ID, `{"tools":[`+strings.Join(tools, ",")+`]`+next+`}`)
	if r.kind == "deaf" {
		select {} // and read nothing more
	}
}

func (r *raw) call(m request) {
	switch r.kind {
	case "garbage":
		r.say("Listening on port 1234\n\n{\"broken\n[]\n{}\nnull")
	case "huge":
		if m.Params.Name == "b" {
			r.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, m.ID))
			for range 50 {
				r.write(strings.Repeat("x", 1<<20))
			}
			r.say(`"}]}}`)
			return
		}
	case "nasty":
		for _, method := range []string{
			"notifications/progress", "notifications/cancelled", "notifications/message", "notifications/resources/updated", "notifications/tools/list_changed",
			"notifications/elicitation/complete", "notifications/subscriptions/acknowledged", "notifications/unknown",
			"ping", "roots/list", "sampling/createMessage", "elicitation/create", "completion/complete", "tools/list", "initialize", "",
		} {
			for i, params := range []string{
				"null", "[]", `"x"`, "5", "{}", `{"progressToken":{"a":[1]},"progress":1}`, `{"progressToken":[1],"progress":"x"}`, `{"progressToken":null}`,
				`{"requestId":{"a":1}}`, `{"requestId":[]}`, `{"requestId":1.5}`, `{"elicitationId":[]}`, `{"uri":5}`,
				`{"messages":[null],"maxTokens":1}`, `{"messages":[{"role":"x","content":null}],"maxTokens":-1}`, `{"messages":null}`,
				`{"messages":[{"role":"user","content":{"type":"image","data":"!"}}]}`, `{"message":"m","requestedSchema":[]}`, `{"message":"m","requestedSchema":{"properties":{"a":null}}}`,
				`{"message":"m","mode":"url"}`, `{"message":"m","mode":"x","url":"http://x"}`, `{"_meta":null}`, `{"_meta":5}`,
			} {
				r.say(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params))
				r.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, 1000+i, method, params))
				r.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, `{}`, params))
			}
			r.say(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q}`, method))
		}
		r.say(`{"jsonrpc":"1.0","id":1,"result":{}}`)
		r.say(`{"jsonrpc":"2.0","id":{"a":1},"result":{}}`)
		r.say(`{"jsonrpc":"2.0","id":true,"method":"ping"}`)
		r.say(`[{"jsonrpc":"2.0","method":"ping","id":7},null,5]`)
		r.say(strings.Repeat("[", 100000))
		r.say(strings.Repeat(`{"a":`, 100000))
	case "nulls":
		r.answer(m.ID, `{"content":[null,{"type":"resource","resource":null},{"type":"x"}],"structuredContent":null}`)
		return
	case "wrong ids":
		r.text(json.RawMessage(`987654`), "wrong")
		r.text(json.RawMessage(`"x"`), "wrong")
		r.text(json.RawMessage(`null`), "wrong")
	case "exits":
		r.text(m.ID, "done "+m.Params.Name)
		os.Exit(0)
	case "closes":
		os.Stdout.Close()
		select {}
	case "late":
		if r.calls == 1 { // answered with the next call
			first := m
			line, _ := r.in.ReadBytes('\n') // the cancellation
			var note request
			json.Unmarshal(line, &note)
			r.handle(note)
			r.text(first.ID, "late")
			return
		}
	}
	r.text(m.ID, "done "+m.Params.Name)
}

// handler serves a server over HTTP.
func handler(kind string, s *sdk.Server) http.Handler {
	get := func(*http.Request) *sdk.Server { return s }
	if kind == "sse" {
		return sdk.NewSSEHandler(get, nil)
	}
	return sdk.NewStreamableHTTPHandler(get, nil)
}
