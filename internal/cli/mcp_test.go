package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpServer is an MCP server on standard input and output. Its argument is how many further tools it has.
func mcpServer() {
	fmt.Fprintln(os.Stderr, "server ready, token", os.Getenv("SERVER_TOKEN"), "key", os.Getenv("ANTHROPIC_API_KEY"))
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1.2.3"}, nil)
	type in struct {
		Text string `json:"text"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "echo", Description: "Repeats a text."}, func(_ context.Context, _ *sdk.CallToolRequest, in in) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "echo: " + in.Text}}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "write", Description: "Writes a file."}, func(_ context.Context, _ *sdk.CallToolRequest, in in) (*sdk.CallToolResult, any, error) {
		err := os.WriteFile(in.Text, []byte("written"), 0o600)
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprint("result: ", err)}}, IsError: err != nil}, nil, nil
	})
	s.AddPrompt(&sdk.Prompt{Name: "greet", Arguments: []*sdk.PromptArgument{{Name: "name", Required: true}}}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		text := `call mcp__echo__echo {"text":"greetings, ` + r.Params.Arguments["name"] + `"}`
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: text}}}}, nil
	})
	more := 0
	if len(os.Args) > 1 {
		more, _ = strconv.Atoi(os.Args[1])
	}
	for i := range more {
		sdk.AddTool(s, &sdk.Tool{Name: fmt.Sprintf("operation_%d", i), Description: fmt.Sprintf("Performs operation %d, which takes a text and gives back what it is after the operation, together with the number of the operation.", i)},
			func(_ context.Context, _ *sdk.CallToolRequest, in in) (*sdk.CallToolResult, any, error) {
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf("operation %d: %s", i, in.Text)}}}, nil, nil
			})
	}
	if err := s.Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}

func TestForm_ParsesAnswers(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"z":{"type":"string","description":"a word"},"n":{"type":"integer","default":3},
		"b":{"type":"boolean"},"x":{"type":"number"},"e":{"type":"string","enum":["red","green"]}},"required":["z"]}`)
	fields, err := formFields(schema)
	if err != nil || len(fields) != 5 {
		t.Fatalf("%d fields, %v", len(fields), err)
	}
	for i, want := range []string{"z (a word)", "n [integer; default 3]", "b [boolean; optional]", "x [number; optional]", "e [red, green; optional]"} {
		if got := fields[i].prompt(); got != want {
			t.Errorf("field %d: %q, want %q", i, got, want)
		}
	}
	for _, c := range []struct {
		field int
		line  string
		want  string // value, whether it was given, and error
	}{
		{0, "", "<nil> false z is required"}, {0, "word", "word true <nil>"}, {1, "", "3 true <nil>"}, {1, "4", "4 true <nil>"}, {1, "4.5", "<nil> false answer with an integer"},
		{2, "yes", "true true <nil>"}, {2, "n", "false true <nil>"}, {2, "maybe", "<nil> false answer yes or no"}, {2, "", "<nil> false <nil>"},
		{3, "1.5", "1.5 true <nil>"}, {3, "a", "<nil> false answer with a number"}, {4, "red", "red true <nil>"}, {4, "blue", "<nil> false answer with one of red, green"},
	} {
		v, given, err := fields[c.field].parse(c.line)
		if got := fmt.Sprintf("%v %v %v", v, given, err); got != c.want {
			t.Errorf("field %d, %q: %s, want %s", c.field, c.line, got, c.want)
		}
	}
}
