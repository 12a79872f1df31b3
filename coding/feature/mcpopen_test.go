package feature

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/mcp"
	"github.com/reins-agent/reins/policy"
)

// The servers are connected by Open, offer their tools, and are disconnected by the Close of the session.
func TestOpen_ConnectsToMCPServers(t *testing.T) {
	server := sdk.NewServer(&sdk.Implementation{Name: "growing"}, &sdk.ServerOptions{Instructions: "Be gentle."})
	say := func(text string) sdk.ToolHandlerFor[struct{}, any] {
		return func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil, nil
		}
	}
	sdk.AddTool(server, &sdk.Tool{Name: "ping"}, say("pong"))
	site := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	defer func() {
		site.CloseClientConnections()
		site.Close()
	}()
	g := newOpenRig(t)
	g.model = llmtest.Play(llmtest.Call("mcp__s__ping", "{}"), llmtest.Say("done"))
	var warned []string
	servers := &Servers{Config: mcp.Config{Servers: map[string]mcp.Server{"s": {URL: site.URL}, "broken": {Command: "no-such-program"}}}}
	s := g.open(coding.Config{
		Model:      "claude-sonnet-5-5",
		Extensions: with(servers.Attach),
		Warn:       func(err error) { warned = append(warned, err.Error()) },
		Session:    agent.Config{Policy: policy.AllowAll{}},
	})
	r := g.ask(s)
	if !slices.Contains(toolNames(r), "mcp__s__ping") || !strings.Contains(r.Messages[0].Text(), "Be gentle.") {
		t.Errorf("the model is offered %q", toolNames(r))
	}
	if res := r.Messages[len(r.Messages)-1].Parts[0].(llm.ToolResult); res.Text() != "pong" {
		t.Errorf("the tool returned %q", res.Text())
	}
	if n := len(slices.Collect(server.Sessions())); n != 0 {
		t.Errorf("%d connections are left after Close", n)
	}
	if !slices.ContainsFunc(warned, func(w string) bool { return strings.Contains(w, "MCP server broken cannot be used") }) {
		t.Errorf("got warnings %q", warned)
	}
}
