package mcpsuite

//lint:file-ignore SA1019 the suite tests logging and sampling, which the newest protocol version deprecates

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/mcp/serve"
	"github.com/reins-agent/reins/tool"
)

// pixel is a red PNG of one pixel, and silence a WAV file without samples.
var (
	pixel, _ = base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==")
	silence  = []byte("RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x44\xac\x00\x00\x88\x58\x01\x00\x02\x00\x10\x00data\x00\x00\x00\x00")
)

// startServer starts a server with the tools, prompts and resources that the suite expects, and returns its URL. Tools
// that do not depend on the SDK go through the pipeline. The function, if any, changes requests.
func startServer(t *testing.T, change func(*http.Request)) string {
	t.Helper()
	e, err := local.New(local.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	reg := &tool.Registry{}
	if err := reg.Register(pipelineTools()...); err != nil {
		t.Fatal(err)
	}
	s, err := serve.New(serve.Config{
		Name: "reins-conformance", Version: "1.0.0", Pipeline: &tool.Pipeline{Registry: reg}, Env: e, Extend: extend,
		Options: sdk.ServerOptions{
			Capabilities:       &sdk.ServerCapabilities{Logging: &sdk.LoggingCapabilities{}},
			SubscribeHandler:   func(context.Context, *sdk.SubscribeRequest) error { return nil },
			UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { return nil },
			CompletionHandler: func(_ context.Context, r *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
				return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{r.Params.Argument.Value + "ing"}}}, nil
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	const token = "the suite cannot send a token"
	h, err := s.Handler(serve.HTTPConfig{Token: token, EventStore: sdk.NewMemoryEventStore(nil)})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+token)
		if change != nil {
			change(r)
		}
		h.ServeHTTP(w, r)
	})}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	return "http://" + l.Addr().String() + serve.Path
}

// pipelineTools are the suite's tools that a pipeline can have.
func pipelineTools() []tool.Tool {
	type none = struct{}
	simple := func(name string, run tool.Run[none]) tool.Tool {
		return tool.New(tool.Spec{Name: name, Description: "Tests " + name + ".", ReadOnly: true}, tool.Nothing, run)
	}
	return []tool.Tool{
		simple("test_simple_text", func(context.Context, *tool.Call, none) (tool.Result, error) {
			return tool.Success("This is a simple text response for testing."), nil
		}),
		simple("test_image_content", func(context.Context, *tool.Call, none) (tool.Result, error) {
			return tool.Result{Images: []llm.Image{{Media: llm.Media{MIME: "image/png", Data: pixel}}}}, nil
		}),
		simple("test_error_handling", func(context.Context, *tool.Call, none) (tool.Result, error) {
			return tool.Failure(tool.InternalError, "This tool intentionally returns an error for testing"), nil
		}),
		simple("test_tool_with_progress", func(_ context.Context, c *tool.Call, _ none) (tool.Result, error) {
			for i := range 3 {
				if c.Output != nil {
					c.Output(fmt.Appendf(nil, "step %d\n", i))
				}
				time.Sleep(200 * time.Millisecond) // notifications are at least 50 ms apart
			}
			return tool.Success("done"), nil
		}),
		tool.NewRaw(tool.Spec{Name: "json_schema_2020_12_tool", Description: "Tests schemas.", Input: json.RawMessage(`{
			"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
			"$defs": {"address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
			"properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}}, "additionalProperties": false}`),
		}, nil, func(context.Context, *tool.Call) (tool.Result, error) { return tool.Success("done"), nil }),
	}
}

// extend adds what tests only the SDK: content that results of Reins do not have, logging, sampling, forms, resources
// and prompts.
func extend(s *sdk.Server) {
	add := func(name, properties string, h func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error)) {
		s.AddTool(&sdk.Tool{Name: name, Description: "Tests " + name + ".", InputSchema: json.RawMessage(`{"type":"object","properties":{` + properties + `}}`)}, h)
	}
	constant := func(content ...sdk.Content) func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: content}, nil
		}
	}
	embedded := &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "test://embedded-resource", MIMEType: "text/plain", Text: "This is an embedded resource content."}}
	add("test_audio_content", "", constant(&sdk.AudioContent{Data: silence, MIMEType: "audio/wav"}))
	add("test_embedded_resource", "", constant(embedded))
	add("test_multiple_content_types", "", constant(&sdk.TextContent{Text: "Multiple content types test:"}, &sdk.ImageContent{Data: pixel, MIMEType: "image/png"}, embedded))
	add("test_tool_with_logging", "", func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		for _, text := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
			if err := r.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "info", Data: text}); err != nil {
				return nil, err
			}
		}
		return said("done")
	})
	add("test_sampling", `"prompt":{"type":"string"}`, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		var in struct{ Prompt string }
		if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
			return nil, err
		}
		answer, err := r.Session.CreateMessage(ctx, &sdk.CreateMessageParams{MaxTokens: 100, Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: in.Prompt}}}})
		if err != nil {
			return nil, err
		}
		return said("LLM response: %v", answer.Content.(*sdk.TextContent).Text)
	})
	add("test_reconnection", "", func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		r.Extra.CloseSSEStream(sdk.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
		time.Sleep(100 * time.Millisecond) // the client comes back
		return said("done")
	})
	addForms(add)
	addResources(s)
	addPrompts(s)
}

func said(format string, args ...any) (*sdk.CallToolResult, error) {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf(format, args...)}}}, nil
}

// addForms adds the tools that ask the user.
func addForms(add func(name, properties string, h func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error))) {
	for name, properties := range map[string]string{
		"test_elicitation": `"username":{"type":"string","description":"User's response"},"email":{"type":"string","description":"User's email address"}`,
		"test_elicitation_sep1034_defaults": `"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},
			"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}`,
		"test_elicitation_sep1330_enums": `"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
			"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
			"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
			"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
			"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}`,
	} {
		schema := json.RawMessage(`{"type":"object","properties":{` + properties + `}}`)
		add(name, `"message":{"type":"string"}`, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			in := struct{ Message string }{"Please answer."}
			if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
				return nil, err
			}
			answer, err := r.Session.Elicit(ctx, &sdk.ElicitParams{Message: in.Message, RequestedSchema: schema})
			if err != nil {
				return nil, err
			}
			return said("Elicitation completed: action=%s, content=%v", answer.Action, answer.Content)
		})
	}
}

func addResources(s *sdk.Server) {
	text := func(text string) sdk.ResourceHandler {
		return func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: "text/plain", Text: text + r.Params.URI}}}, nil
		}
	}
	s.AddResource(&sdk.Resource{URI: "test://static-text", Name: "text", Description: "A text.", MIMEType: "text/plain"}, text("This is the content of "))
	s.AddResource(&sdk.Resource{URI: "test://watched-resource", Name: "watched", Description: "A watched text.", MIMEType: "text/plain"}, text("Watched: "))
	s.AddResource(&sdk.Resource{URI: "test://static-binary", Name: "binary", Description: "An image.", MIMEType: "image/png"},
		func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: "image/png", Blob: pixel}}}, nil
		})
	s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "test://template/{id}/data", Name: "template", Description: "A template.", MIMEType: "text/plain"}, text("Data for "))
}

func addPrompts(s *sdk.Server) {
	add := func(name string, content func(args map[string]string) []sdk.Content, args ...string) {
		p := &sdk.Prompt{Name: name, Description: "Tests " + name + "."}
		for _, a := range args {
			p.Arguments = append(p.Arguments, &sdk.PromptArgument{Name: a, Description: "An argument.", Required: true})
		}
		s.AddPrompt(p, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			res := &sdk.GetPromptResult{}
			for _, c := range content(r.Params.Arguments) {
				res.Messages = append(res.Messages, &sdk.PromptMessage{Role: "user", Content: c})
			}
			return res, nil
		})
	}
	add("test_simple_prompt", func(map[string]string) []sdk.Content {
		return []sdk.Content{&sdk.TextContent{Text: "This is a simple prompt for testing."}}
	})
	add("test_prompt_with_arguments", func(args map[string]string) []sdk.Content {
		return []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", args["arg1"], args["arg2"])}}
	}, "arg1", "arg2")
	add("test_prompt_with_embedded_resource", func(args map[string]string) []sdk.Content {
		return []sdk.Content{
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: args["resourceUri"], MIMEType: "text/plain", Text: "Embedded resource content for testing."}},
			&sdk.TextContent{Text: "Please process the embedded resource above."},
		}
	}, "resourceUri")
	add("test_prompt_with_image", func(map[string]string) []sdk.Content {
		return []sdk.Content{&sdk.ImageContent{Data: pixel, MIMEType: "image/png"}, &sdk.TextContent{Text: "Please analyze the image above."}}
	})
}
