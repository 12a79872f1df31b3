package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// curious returns a server that asks the client.
func curious() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "curious", Version: "1"}, nil)
	add := func(name string, f func(context.Context, *sdk.ServerSession) (string, error)) {
		sdk.AddTool(s, &sdk.Tool{Name: name}, func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			got, err := f(ctx, r.Session)
			return text("%s", got), nil, err
		})
	}
	add("ask", func(ctx context.Context, s *sdk.ServerSession) (string, error) {
		r, err := s.Elicit(ctx, &sdk.ElicitParams{Message: "Your name?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)})
		if err != nil {
			return "", err
		}
		name, _ := r.Content["name"].(string)
		return r.Action + " " + name, nil
	})
	add("sample", func(ctx context.Context, s *sdk.ServerSession) (string, error) {
		//lint:ignore SA1019 servers still use it
		r, err := s.CreateMessage(ctx, &sdk.CreateMessageParams{SystemPrompt: "Be short.", MaxTokens: 9, Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: "Hi"}}}})
		if err != nil {
			return "", err
		}
		return r.Model + ": " + r.Content.(*sdk.TextContent).Text, nil
	})
	add("roots", func(ctx context.Context, s *sdk.ServerSession) (string, error) {
		//lint:ignore SA1019 servers still use it
		r, err := s.ListRoots(ctx, nil)
		if err != nil {
			return "", err
		}
		var list []string
		for _, root := range r.Roots {
			list = append(list, root.Name+"="+root.URI)
		}
		return strings.Join(list, " "), nil
	})
	return s
}

// asking opens a client of a curious server with sessions.
func asking(t *testing.T, cfg Config, timeout time.Duration) *Client {
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return curious() }, nil)
	s := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") > legacy {
			http.Error(w, "unsupported", http.StatusBadRequest)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	cfg.Servers = map[string]Server{"x": {URL: s.URL, Timeout: timeout}}
	c := ready(t, cfg)
	t.Cleanup(func() { c.Close() })
	return c
}

func TestAsk_UserAnswersAServer(t *testing.T) {
	for action, want := range map[ElicitAction]string{Accept: "accept Ada", Decline: "decline ", "": "cancel "} {
		c := asking(t, Config{Elicit: func(_ context.Context, server string, r ElicitRequest) (ElicitAnswer, error) {
			if server != "x" || r.Message != "Your name?" || !strings.Contains(string(r.Schema), `"name"`) {
				t.Errorf("server %s asks %+v", server, r)
			}
			return ElicitAnswer{action, map[string]any{"name": "Ada"}}, nil
		}}, 0)
		if got := tool.String(invoke(t, c, "mcp__x__ask", `{}`).Output); got != want {
			t.Errorf("the server got %q, want %q", got, want)
		}
		c.Close()
	}
}

func TestAsk_TimeOfTheUserDoesNotCount(t *testing.T) {
	t.Parallel()
	ask := func(timeout time.Duration) tool.Result {
		c := asking(t, Config{Elicit: func(context.Context, string, ElicitRequest) (ElicitAnswer, error) {
			<-time.After(timeout + 500*time.Millisecond) // a user who thinks for longer than the call timeout
			return ElicitAnswer{Decline, nil}, nil
		}}, timeout)
		return invoke(t, c, "mcp__x__ask", `{}`)
	}
	res := ask(2 * time.Second)
	if res.Error != nil && res.Error.Code == TimedOut { // the rest of the call takes long on a busy machine
		res = ask(20 * time.Second)
	}
	if tool.String(res.Output) != "decline " {
		t.Errorf("got %q and the error %v", tool.String(res.Output), res.Error)
	}
}

func TestAsk_ModelAnswersAServer(t *testing.T) {
	c := asking(t, Config{Sample: func(_ context.Context, server string, r SampleRequest) (SampleAnswer, error) {
		if server != "x" || r.System != "Be short." || r.MaxTokens != 9 || len(r.Messages) != 1 || r.Messages[0].Role != llm.RoleUser || r.Messages[0].Parts[0].(llm.Text).Text != "Hi" {
			t.Errorf("server %s asks %+v", server, r)
		}
		return SampleAnswer{"m", "Hello"}, nil
	}}, 0)
	if got := tool.String(invoke(t, c, "mcp__x__sample", `{}`).Output); got != "m: Hello" {
		t.Errorf("the server got %q", got)
	}
}

func TestAsk_HostCanRefuse(t *testing.T) {
	c := asking(t, Config{
		Sample: func(context.Context, string, SampleRequest) (SampleAnswer, error) {
			return SampleAnswer{}, errors.New("not now")
		},
	}, 0)
	if res := invoke(t, c, "mcp__x__sample", `{}`); res.Error == nil || !strings.Contains(tool.String(res.Output), "not now") {
		t.Errorf("got %q and the error %v", tool.String(res.Output), res.Error)
	}
	if res := invoke(t, c, "mcp__x__ask", `{}`); res.Error == nil || !strings.Contains(tool.String(res.Output), "does not support") {
		t.Errorf("a host that cannot ask: got %q and the error %v", tool.String(res.Output), res.Error)
	}
}

func TestAsk_Roots(t *testing.T) {
	c := asking(t, Config{Roots: []string{"/work/my project", `C:\src`}}, 0)
	if got, want := tool.String(invoke(t, c, "mcp__x__roots", `{}`).Output), "src=file:///C:/src my project=file:///work/my%20project"; got != want {
		t.Errorf("the roots are %q, want %q", got, want)
	}
}

// Servers with the newest protocol version ask in their answer to a call, which is then made again.
func TestAsk_NewestProtocol(t *testing.T) {
	server := sdk.NewServer(&sdk.Implementation{Name: "new", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "deploy"}, func(_ context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		answer, asked := r.Params.InputResponses["sure"].(*sdk.ElicitResult)
		if !asked {
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"sure": &sdk.ElicitParams{Message: "Sure?"}}, RequestState: "1"}, nil, nil
		}
		return text("%s %s", answer.Action, r.Params.RequestState), nil, nil
	})
	s := newSite(t, sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true}))
	for _, cfg := range []struct {
		elicit func(context.Context, string, ElicitRequest) (ElicitAnswer, error)
		want   string
	}{
		{func(context.Context, string, ElicitRequest) (ElicitAnswer, error) {
			return ElicitAnswer{Action: Accept}, nil
		}, "accept 1"},
		{nil, ""},
	} {
		c := ready(t, Config{Servers: map[string]Server{"x": {URL: s.URL}}, Elicit: cfg.elicit})
		if got := c.Status()[0].Protocol; got <= legacy {
			t.Errorf("the protocol is %s", got)
		}
		res := invoke(t, c, "mcp__x__deploy", `{}`)
		if got := tool.String(res.Output); got != cfg.want || (res.Error == nil) != (cfg.want != "") {
			t.Errorf("the server got %q; the error is %v", got, res.Error)
		}
		c.Close()
	}
}

func TestAsk_OnlyWhileACallRuns(t *testing.T) {
	c := &conn{srv: &server{}}
	yes := func() (string, error) {
		return ask(t.Context(), c, func(context.Context) (string, error) { return "yes", nil })
	}
	refused := func(when string) {
		t.Helper()
		if got, err := yes(); err == nil || !strings.Contains(err.Error(), "only during a call") {
			t.Errorf("%s: got %q, %v; want a refusal", when, got, err)
		}
	}
	refused("before a call")
	first, second := c.begin(t.Context(), nil), c.begin(t.Context(), nil)
	first.stop()
	if got, err := yes(); got != "yes" || err != nil {
		t.Errorf("during a call: got %q, %v", got, err)
	}
	second.stop()
	refused("after the calls")
}
