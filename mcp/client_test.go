package mcp

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/tool"
)

func TestClient_ToolsOfAProcessCanBeCalled(t *testing.T) {
	c := ready(t, Config{Servers: map[string]Server{"one": program(t, "sdk")}})
	want := []string{"mcp__one__add", "mcp__one__die", "mcp__one__echo", "mcp__one__environ", "mcp__one__fail", "mcp__one__hang", "mcp__one__pid", "mcp__one__progress", "mcp__one__remove", "mcp__one__write"}
	if got := names(c); !slices.Equal(got, want) {
		t.Fatalf("the tools are %v, want %v", got, want)
	}
	if res := invoke(t, c, "mcp__one__echo", `{"text":"hello"}`); res.Error != nil || tool.String(res.Output) != "hello" {
		t.Errorf("echo gave %q and the error %v", tool.String(res.Output), res.Error)
	}
	res := invoke(t, c, "mcp__one__fail", `{"text":"so it goes"}`)
	if res.Error == nil || res.Error.Code != ToolFailed || !strings.Contains(tool.String(res.Output), "it failed: so it goes") {
		t.Errorf("fail gave %q and the error %v", tool.String(res.Output), res.Error)
	}
	st := c.Status()[0]
	if st.ServerName != "test" || st.ServerVersion != "1.2.3" || st.Instructions != "Use echo." {
		t.Errorf("the status is %+v", st)
	}
}

func TestClient_ToolsOfTheHostAreCalledDirectly(t *testing.T) {
	type in struct {
		N int `json:"n"`
	}
	own := tool.New(tool.Spec{Name: "double", ReadOnly: true}, tool.Nothing[in], func(_ context.Context, c *tool.Call, v in) (tool.Result, error) {
		return tool.Success("%d", 2*v.N), nil
	})
	c := ready(t, Config{Servers: map[string]Server{"calc": {Tools: []tool.Tool{own}}}})
	res := invoke(t, c, "mcp__calc__double", `{"n":21}`)
	if got := tool.String(res.Output); got != "42" {
		t.Errorf("double gave %q, want 42", got)
	}
	made := c.Tools()[0]
	if !made.Spec().ReadOnly || made.Access(t.Context(), &tool.Call{Args: json.RawMessage(`{"n":1}`)}) == nil {
		t.Error("a tool of the host lost what it declares")
	}
	if server, name, ok := c.Origin("mcp__calc__double"); server != "calc" || name != "double" || !ok {
		t.Errorf("the origin is %s %s %v", server, name, ok)
	}
}

func TestClient_ToolsOverHTTPCanBeCalled(t *testing.T) {
	for _, kind := range []string{"http", "sse"} {
		t.Run(kind, func(t *testing.T) {
			web := httptest.NewServer(handler(kind, testServer()))
			defer web.Close()
			c := ready(t, Config{Servers: map[string]Server{"web": {URL: web.URL, Type: kind}}})
			if res := invoke(t, c, "mcp__web__echo", `{"text":"hello"}`); tool.String(res.Output) != "hello" {
				t.Errorf("echo gave %q and the error %v", tool.String(res.Output), res.Error)
			}
			c.Close()
		})
	}
}
