package mcp

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// library returns a server with resources and prompts.
func library() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "library", Version: "1"}, nil)
	read := func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		c := &sdk.ResourceContents{URI: r.Params.URI, Text: "content of " + r.Params.URI}
		if strings.HasSuffix(r.Params.URI, ".png") {
			c = &sdk.ResourceContents{URI: r.Params.URI, MIMEType: "image/png", Blob: []byte("PNG")}
		}
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{c}}, nil
	}
	s.AddResource(&sdk.Resource{URI: "mem://a.txt", Name: "a", Description: "The first", MIMEType: "text/plain"}, read)
	s.AddResource(&sdk.Resource{URI: "mem://b.png", Name: "b"}, read)
	s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "mem://day/{n}", Name: "days"}, read)
	s.AddPrompt(&sdk.Prompt{Name: "review", Description: "Review code", Arguments: []*sdk.PromptArgument{{Name: "file", Required: true}}},
		func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{
				{Role: "user", Content: &sdk.TextContent{Text: "Review " + r.Params.Arguments["file"]}},
				{Role: "assistant", Content: &sdk.TextContent{Text: "I will."}},
			}}, nil
		})
	return s
}

func withLibrary(t *testing.T) *Client {
	s := newSite(t, sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return library() }, nil))
	c := ready(t, Config{Servers: map[string]Server{"lib": {URL: s.URL}, "proc": program(t, "sdk")}})
	t.Cleanup(func() { c.Close() })
	return c
}

func TestResources_AreListedAndRead(t *testing.T) {
	c := withLibrary(t)
	list, err := c.Resources(t.Context(), "")
	want := []Resource{{"lib", "mem://a.txt", "a", "The first", "text/plain", false}, {"lib", "mem://b.png", "b", "", "", false}, {"lib", "mem://day/{n}", "days", "", "", true}}
	if err != nil || !slices.Equal(list, want) {
		t.Errorf("got %+v and the error %v", list, err)
	}
	got, err := c.ReadResource(t.Context(), "lib", "mem://day/7")
	if err != nil || len(got) != 1 || got[0].Text != "content of mem://day/7" {
		t.Errorf("got %+v and the error %v", got, err)
	}
	if _, err := c.ReadResource(t.Context(), "none", "x"); err == nil {
		t.Error("an unknown server gave no error")
	}
	if _, err := c.ReadResource(t.Context(), "lib", "mem://missing"); err == nil {
		t.Error("an unknown resource gave no error")
	}
}

func TestResources_ToolsForTheModel(t *testing.T) {
	c := withLibrary(t)
	all := names(c)
	if n := len(all); !slices.Equal(all[n-2:], []string{"list_mcp_resources", "read_mcp_resource"}) {
		t.Fatalf("the tools are %v", all)
	}
	if got := tool.String(invoke(t, c, "list_mcp_resources", `{}`).Output); !strings.Contains(got, "lib resource mem://a.txt (a) text/plain: The first") || !strings.Contains(got, "lib template mem://day/{n}") {
		t.Errorf("the list is %q", got)
	}
	if got := tool.String(invoke(t, c, "read_mcp_resource", `{"server":"lib","uri":"mem://a.txt"}`).Output); got != "[resource mem://a.txt]\ncontent of mem://a.txt" {
		t.Errorf("the resource is %q", got)
	}
	res := invokeCall(t.Context(), t, c, &tool.Call{Name: "read_mcp_resource", Args: []byte(`{"server":"lib","uri":"mem://b.png"}`), Vision: true})
	if len(res.Images) != 1 || string(res.Images[0].Data) != "PNG" {
		t.Errorf("the images are %v", res.Images)
	}
	if res := invoke(t, c, "read_mcp_resource", `{"server":"none","uri":"x"}`); res.Error == nil || res.Error.Code != tool.ValidationError {
		t.Errorf("an unknown server gives the error %v", res.Error)
	}
	for _, tl := range c.Tools() {
		if s := tl.Spec(); s.ReadOnly || !s.OpenWorld || tl.Access(t.Context(), &tool.Call{Args: []byte(`{}`)}) != nil {
			t.Errorf("%s would run without an approval", s.Name)
		}
	}
}

func TestResources_NoToolsWithoutResources(t *testing.T) {
	c := ready(t, Config{Servers: map[string]Server{"x": program(t, "garbage")}})
	if got := names(c); slices.Contains(got, "list_mcp_resources") {
		t.Errorf("the tools are %v", got)
	}
}

func TestResources_ToolsComeAndGoWithThem(t *testing.T) {
	s := newSite(t, sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return library() }, nil))
	changes := make(chan Change, 10)
	c := ready(t, Config{Servers: map[string]Server{"lib": {URL: s.URL}, "more": {URL: s.URL}}, OnChange: func(ch Change) { changes <- ch }})
	if ch := <-changes; len(ch.Add) != 2 || ch.Add[1].Spec().Name != "read_mcp_resource" {
		t.Errorf("the change is %+v", ch)
	}
	c.SetServers(map[string]Server{"more": {URL: s.URL}})
	if len(changes) > 0 || len(c.Tools()) != 2 {
		t.Errorf("with one server left there are the tools %v and the change %+v", names(c), <-changes)
	}
	c.SetServers(nil)
	if ch := <-changes; !slices.Equal(ch.Remove, []string{"list_mcp_resources", "read_mcp_resource"}) || len(c.Tools()) > 0 {
		t.Errorf("the change is %+v", ch)
	}
	c.Close()
}

func TestPrompts_AreListedAndFilledIn(t *testing.T) {
	c := withLibrary(t)
	list, err := c.Prompts(t.Context(), "")
	if err != nil || len(list) != 1 || list[0].Server != "lib" || list[0].Name != "review" || !slices.Equal(list[0].Arguments, []PromptArgument{{"file", "", true}}) {
		t.Errorf("got %+v and the error %v", list, err)
	}
	got, err := c.GetPrompt(t.Context(), "lib", "review", map[string]string{"file": "a.go"})
	if err != nil || len(got) != 2 || got[0].Role != llm.RoleUser || got[0].Parts[0].(llm.Text).Text != "Review a.go" || got[1].Role != llm.RoleAssistant {
		t.Errorf("got %+v and the error %v", got, err)
	}
}

func TestCommand_ExpandsPrompts(t *testing.T) {
	c := withLibrary(t)
	parts, ok, err := c.Command(t.Context(), "/mcp__lib__review main.go and more")
	if want := []llm.Part{llm.Text{Text: "Review main.go and more"}, llm.Text{Text: "Assistant: I will."}}; !ok || err != nil || !reflect.DeepEqual(parts, want) {
		t.Errorf("%v, %v, %v", parts, ok, err)
	}
	for input, want := range map[string]string{"/mcp__lib__review": "needs the argument file", "/mcp__lib__none x": "no connected MCP server has this prompt"} {
		if _, ok, err := c.Command(t.Context(), input); !ok || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %s", input, ok, err, want)
		}
	}
	for _, input := range []string{"review", "/review", "mcp__lib__review"} {
		if _, ok, err := c.Command(t.Context(), input); ok || err != nil {
			t.Errorf("%s: %v, %v", input, ok, err)
		}
	}
}
