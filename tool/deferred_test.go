package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/reins-agent/reins/env/envtest"
	"github.com/reins-agent/reins/policy"
)

type issueIn struct {
	Repo  string `json:"repo"`
	Title string `json:"title"`
}

// many returns deferred tools, and a variable for the arguments of the last call to any of them.
func many(n int) ([]Tool, *string) {
	var got string
	made := []Tool{Defer(New(Spec{Name: "mcp__hub__create_issue", Description: "Open a new ticket in a repository."}, nil,
		func(_ context.Context, c *Call, in issueIn) (Result, error) {
			got = c.Name + " " + in.Repo + "/" + in.Title
			return Success("opened"), nil
		}))}
	for i := 1; i < n; i++ {
		made = append(made, Defer(New(Spec{Name: fmt.Sprintf("mcp__other__tool_%d", i), Description: "Does something else."}, nil,
			func(context.Context, *Call, struct{}) (Result, error) { return Success("%d", i), nil })))
	}
	return made, &got
}

func deferredPipe(t *testing.T, tools []Tool) *Pipeline {
	t.Helper()
	r := &Registry{}
	plain := New(Spec{Name: "plain", Description: "An ordinary tool."}, Nothing, func(context.Context, *Call, struct{}) (Result, error) { return Success("plain"), nil })
	if err := r.Register(append([]Tool{plain}, tools...)...); err != nil {
		t.Fatal(err)
	}
	if err := r.RegisterSearch(nil); err != nil {
		t.Fatal(err)
	}
	return &Pipeline{Registry: r, Policy: policy.AllowAll{}}
}

func runCall(t *testing.T, p *Pipeline, name, args string) Outcome {
	t.Helper()
	return p.Run(t.Context(), Call{ID: "1", Name: name, Args: json.RawMessage(args), Env: envtest.NewMemory("linux")})
}

func TestDeferred_ToolsAreFoundAndCalled(t *testing.T) {
	tools, got := many(300)
	p := deferredPipe(t, tools)
	var names []string
	for _, d := range p.Registry.Definitions() {
		names = append(names, d.Name)
	}
	if want := "plain tool_search call_tool"; strings.Join(names, " ") != want {
		t.Fatalf("offered %q, want %q", names, want)
	}
	for _, query := range []string{"create an issue", "ticket", "select:mcp__hub__create_issue", "hub createIssue", "title"} {
		args, _ := json.Marshal(searchIn{Query: query, Max: 1})
		out := runCall(t, p, SearchName, string(args))
		if !out.OK() || !strings.Contains(out.Model, `"name":"mcp__hub__create_issue"`) || !strings.Contains(out.Model, `"repo"`) {
			t.Errorf("%q found:\n%s", query, out.Model)
		}
	}
	out := runCall(t, p, CallName, `{"name":"mcp__hub__create_issue","arguments":{"repo":"a/b","title":"x"}}`)
	if !out.OK() || *got != "mcp__hub__create_issue a/b/x" || out.Tool != "mcp__hub__create_issue" {
		t.Errorf("called %q as %q: %s", *got, out.Tool, out.Model)
	}
	if out := runCall(t, p, "mcp__hub__create_issue", `{"repo":"a/b","title":"y"}`); !out.OK() || *got != "mcp__hub__create_issue a/b/y" {
		t.Errorf("a direct call: %q, %s", *got, out.Model)
	}
}

func TestDeferred_PolicyJudgesTheToolThatIsCalled(t *testing.T) {
	tools, got := many(2)
	p := deferredPipe(t, tools)
	var judged []string
	p.Policy = policy.Func(func(_ context.Context, q policy.Query) policy.Decision {
		judged = append(judged, q.Tool+string(q.Args))
		return policy.Decision{Verdict: policy.Deny, Rule: "test", Reason: "no"}
	})
	out := runCall(t, p, CallName, `{"name":"mcp__hub__create_issue","arguments":{"repo":"r","title":"t"}}`)
	if out.OK() || *got != "" || strings.Join(judged, " ") != `mcp__hub__create_issue{"repo":"r","title":"t"}` {
		t.Errorf("judged %q, called %q, outcome %s", judged, *got, out.Model)
	}
}

func TestDeferred_InvalidCalls(t *testing.T) {
	tools, got := many(300)
	p := deferredPipe(t, tools)
	for args, want := range map[string]string{
		`{}`:                   "name",
		`{"name":"plain"}`:     "Call plain itself",
		`{"name":"call_tool"}`: "Call call_tool itself",
		`{"name":"nowhere"}`:   "Unknown tool: nowhere. Available tools: plain, tool_search, call_tool",
		`{"name":"mcp__hub__create_issue","arguments":{"repo":1}}`: "Invalid arguments for mcp__hub__create_issue",
		`{"name":"mcp__hub__create_issue","arguments":[]}`:         "Invalid arguments for call_tool",
	} {
		if out := runCall(t, p, CallName, args); out.OK() || !strings.Contains(out.Model, want) || *got != "" {
			t.Errorf("%s: %s (called %q)", args, out.Model, *got)
		}
	}
	if out := runCall(t, p, SearchName, `{"query":"zeppelin"}`); !out.OK() || !strings.Contains(out.Model, "mcp__other__* (299)") {
		t.Errorf("a search without a result: %s", out.Model)
	}
}

func TestDeferred_NothingIsAddedWithoutThem(t *testing.T) {
	p := deferredPipe(t, nil)
	if names := p.Registry.Names(); len(names) != 1 {
		t.Errorf("registered %q", names)
	}
}
