package mcp_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/mcp"
	"github.com/reins-agent/reins/tool"
)

// A tool that a server adds while the session runs is called in the same turn.
func TestSession_ChangedToolsReachARunningSession(t *testing.T) {
	place, err := local.New(local.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer place.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	added := make(chan struct{})
	var session *agent.Session
	ready := make(chan struct{})
	client := mcp.Open(t.Context(), mcp.Config{
		Env:     place,
		Servers: map[string]mcp.Server{"x": {Command: self, Env: map[string]string{"MCP_TEST_SERVER": "sdk"}}},
		OnChange: func(c mcp.Change) {
			if slices.ContainsFunc(c.Add, func(t tool.Tool) bool { return t.Spec().Name == "mcp__x__extra" }) {
				<-ready
				if err := session.Reconfigure(context.Background(), agent.Change{Add: c.Add, Remove: c.Remove}); err != nil {
					t.Error(err)
				}
				close(added)
			}
		},
	})
	defer client.Close()
	client.Wait(t.Context(), time.Minute)

	var asked []string
	var tools tool.Registry
	if err := tools.Register(client.Tools()...); err != nil {
		t.Fatal(err)
	}
	model := llmtest.Play(llmtest.Call("mcp__x__add", `{"text":"extra"}`), llmtest.Call("mcp__x__extra", `{}`), llmtest.Call("mcp__x__environ", `{"text":5}`), llmtest.Say("Done."))
	session, err = agent.New(agent.Config{
		Client: model, Model: "claude-sonnet-5-5", Env: place, Tools: &tools,
		Approve: func(_ context.Context, r tool.Request) (tool.Approval, error) {
			asked = append(asked, r.Call.Name)
			return tool.Approval{Allow: true}, nil
		},
		BeforeModel: []func(context.Context, *llm.Request) error{func(_ context.Context, r *llm.Request) error {
			if len(r.Messages) > 2 {
				<-added
			}
			return nil
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	close(ready)
	out, err := session.Submit(t.Context(), llm.Text{Text: "Go."})
	if err != nil || out.Text != "Done." {
		t.Fatalf("the outcome is %+v, %v", out, err)
	}
	var results []string
	for _, m := range session.Messages() {
		for _, p := range m.Parts {
			if r, ok := p.(llm.ToolResult); ok {
				results = append(results, fmt.Sprintf("%.17s", r.Text()))
			}
		}
	}
	if !slices.Equal(results, []string{"added", "new", "Invalid arguments"}) || !slices.Equal(asked, []string{"mcp__x__add", "mcp__x__extra"}) {
		t.Errorf("the results are %q; approvals were asked for %v", results, asked)
	}
}
