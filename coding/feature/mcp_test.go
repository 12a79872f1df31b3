package feature

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/mcp"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// A server gets another tool while the agent works; the next model call offers it.
func TestMCP_ToolsThatChangeReachARunningSession(t *testing.T) {
	server := sdk.NewServer(&sdk.Implementation{Name: "growing"}, nil)
	say := func(text string) sdk.ToolHandlerFor[struct{}, any] {
		return func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil, nil
		}
	}
	sdk.AddTool(server, &sdk.Tool{Name: "grow"}, func(ctx context.Context, r *sdk.CallToolRequest, in struct{}) (*sdk.CallToolResult, any, error) {
		sdk.AddTool(server, &sdk.Tool{Name: "grown"}, say("from the new tool"))
		return say("growing")(ctx, r, in)
	})
	site := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	t.Cleanup(func() {
		for s := range server.Sessions() {
			s.Close()
		}
		site.CloseClientConnections()
		site.Close()
	})

	changed := make(chan mcp.Change, 10)
	client := mcp.Open(t.Context(), mcp.Config{
		Servers:  map[string]mcp.Server{"s": {URL: site.URL}},
		OnChange: func(c mcp.Change) { changed <- c },
	})
	t.Cleanup(func() { client.Close() })
	client.Wait(t.Context(), time.Minute)
	<-changed // the first list

	g := newOpenRig(t)
	var session *agent.Session
	wait := tool.New(tool.Spec{Name: "wait_for_change", Description: "Waits."}, tool.Nothing, func(ctx context.Context, _ *tool.Call, _ struct{}) (tool.Result, error) {
		c := <-changed
		return tool.Success("changed"), session.Reconfigure(ctx, agent.Change{Add: c.Add, Remove: c.Remove})
	})
	g.model = llmtest.Play(
		llmtest.Turn{Parts: []llm.Part{llm.ToolCall{Name: "mcp__s__grow", Arguments: "{}"}}},
		llmtest.Turn{Parts: []llm.Part{llm.ToolCall{Name: "wait_for_change", Arguments: "{}"}}},
		llmtest.Turn{Parts: []llm.Part{llm.ToolCall{Name: "mcp__s__grown", Arguments: "{}"}}},
		llmtest.Say("done"))
	session = g.open(coding.Config{Provider: "anthropic", Model: "claude-sonnet-5-5", Tools: []tool.Tool{wait},
		Extensions: with(func(context.Context, *coding.Host) (coding.Feature, error) {
			return coding.Feature{Tools: client.Tools()}, nil
		}), Session: agent.Config{Policy: policy.AllowAll{}}})
	if out, err := session.Submit(t.Context(), llm.Text{Text: "grow"}); err != nil || out.Text != "done" {
		t.Fatalf("%+v, %v", out, err)
	}
	requests := g.model.Requests()
	last := requests[len(requests)-1]
	if !slices.Contains(toolNames(last), "mcp__s__grown") || slices.Contains(toolNames(requests[0]), "mcp__s__grown") {
		t.Errorf("the last request offers %q", toolNames(last))
	}
	if r := last.Messages[len(last.Messages)-1].Parts[0].(llm.ToolResult); r.Text() != "from the new tool" {
		t.Errorf("the new tool returned %q", r.Text())
	}
}

// A change that arrives while earlier ones are applied comes after them.
func TestMCP_ChangesKeepTheirOrder(t *testing.T) {
	named := func(name string) tool.Tool {
		return tool.New(tool.Spec{Name: name, Description: "Does nothing."}, tool.Nothing, func(context.Context, *tool.Call, struct{}) (tool.Result, error) {
			return tool.Success("done"), nil
		})
	}
	g := newOpenRig(t)
	session := g.open(coding.Config{Provider: "anthropic", Model: "claude-sonnet-5-5"})
	s := &Servers{pending: []mcp.Change{{Add: []tool.Tool{named("no name")}}, {Add: []tool.Tool{named("brief")}}}}
	s.warn = func(error) { s.changed(mcp.Change{Remove: []string{"brief"}}) }
	if err := s.follow(t.Context(), session); err != nil {
		t.Fatal(err)
	}
	if _, err := session.Submit(t.Context(), llm.Text{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	if names := toolNames(g.model.Requests()[0]); slices.Contains(names, "brief") {
		t.Errorf("the model is offered %q, which was removed last", names)
	}
}

func TestMCP_ManyToolsAreFoundBySearchAndSlowServersAreNotAwaited(t *testing.T) {
	release := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(silent.Close)
	t.Cleanup(func() { close(release) })
	look := tool.New(tool.Spec{Name: "look", Description: "Looks at something."}, tool.Nothing, func(context.Context, *tool.Call, struct{}) (tool.Result, error) {
		return tool.Success("seen"), nil
	})
	for _, limit := range []int{0, 10} {
		var states []mcp.State
		g := newOpenRig(t)
		s := &Servers{
			Config:     mcp.Config{Servers: map[string]mcp.Server{"own": {Tools: []tool.Tool{look}}, "silent": {URL: silent.URL}}},
			Wait:       time.Hour,
			Slow:       []string{"silent"},
			DeferAbove: limit,
			Report: func(list []mcp.Status) {
				for _, st := range list {
					states = append(states, st.State)
				}
			},
		}
		r := g.ask(g.open(coding.Config{Model: "claude-sonnet-5-5", Extensions: with(s.Attach)}))
		if got := slices.Contains(toolNames(r), "mcp__own__look"); got != (limit == 0) {
			t.Errorf("limit %d: the model is offered %q", limit, toolNames(r))
		}
		if !slices.Equal(states, []mcp.State{mcp.Connected, mcp.Pending}) {
			t.Errorf("limit %d: the reported states are %v", limit, states)
		}
		if n := len(s.Client().Tools()); n != 1 {
			t.Errorf("limit %d: the client has %d tools, want 1", limit, n)
		}
	}
}
