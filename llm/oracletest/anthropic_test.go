package oracletest

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/anthropic"
	"github.com/reins-agent/reins/llm/llmtest"
)

const anthropicModel = "claude-sonnet-4-5"

func anthropicState(data string) llm.State {
	return llm.State{Dialect: anthropic.Name, Model: anthropicModel, Data: []byte(data)}
}

// anthropicHistory returns a conversation of n rounds, two messages each, with thinking, parallel calls and
// images.
func anthropicHistory(n int) []llm.Message {
	messages := []llm.Message{llm.SystemText("You work on code."), llm.UserText("Please fix the tests.")}
	for i := range n {
		read := llm.ToolCall{ID: fmt.Sprintf("toolu_r%d", i), Name: "read_file", Arguments: fmt.Sprintf(`{"path":"a%d.go"}`, i)}
		list := llm.ToolCall{ID: fmt.Sprintf("toolu_l%d", i), Name: "list_dir", Arguments: `{}`, State: anthropicState(`{"caller":{"type":"direct"}}`)}
		picture := llm.TextResult(read, "package a // with \"quotes\"\n\tand tabs\n", false)
		if i%10 == 0 {
			picture.Parts = append(picture.Parts, llm.Image{Media: llm.Media{MIME: "image/png", Data: []byte("picture")}})
		}
		messages = append(messages,
			llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
				llm.Thinking{Text: "I should look at it.", State: anthropicState(`{"signature":"EqoBCkgIARABGAIiQL0123456789=="}`)},
				llm.Text{Text: "I look at the file and around it."}, read, list,
			}},
			llm.ToolResults(picture, llm.TextResult(list, "no such directory", true)))
	}
	return messages
}

func anthropicRequest(messages []llm.Message) *llm.Request {
	return &llm.Request{
		Model: anthropicModel, MaxTokens: 8000, Messages: messages,
		Tools: []llm.ToolDef{
			{Name: "read_file", Description: "Reads a file.", Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
			{Name: "list_dir", Description: "Lists a directory.", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)},
		},
	}
}

func anthropicEncoded(t testing.TB, r *llm.Request) []byte {
	t.Helper()
	call, err := anthropic.NewDialect(anthropic.Config{}).Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	return call.Body.Bytes()
}

// TestAnthropic_TheSDKsTypesHoldOurRequests decodes our bodies into the SDK's types and encodes them again. Only stream
// is not one of their fields.
func TestAnthropic_TheSDKsTypesHoldOurRequests(t *testing.T) {
	parallel, budget := false, 2000
	media := llm.Message{Role: llm.RoleUser, Parts: []llm.Part{
		llm.Document{Media: llm.Media{MIME: "application/pdf", Data: []byte("pdf"), Name: "a.pdf"}},
		llm.Document{Media: llm.Media{MIME: "text/plain", Data: []byte("text")}},
		llm.Image{Media: llm.Media{URL: "https://example.com/a.png"}},
	}}
	redacted := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Thinking{Redacted: true, State: anthropicState(`{"data":"abc"}`)}, llm.Text{Text: "ok"}}}
	tests := map[string]func(r *llm.Request){
		"a long history": func(r *llm.Request) { r.Messages = anthropicHistory(50) },
		"media":          func(r *llm.Request) { r.Messages = []llm.Message{media, redacted, llm.UserText("go on")} },
		"budget":         func(r *llm.Request) { r.ThinkingBudget = &budget; r.Stop = []string{"END"} },
		"forced":         func(r *llm.Request) { r.ToolChoice.Mode, r.ParallelTools = llm.ToolRequired, &parallel },
		"named":          func(r *llm.Request) { r.ToolChoice = llm.ToolChoice{Mode: llm.ToolNamed, Name: "list_dir"} },
		"adaptive":       func(r *llm.Request) { r.Model, r.Effort = "claude-opus-4-6", "high" },
		"output":         func(r *llm.Request) { r.Output = &llm.OutputFormat{Schema: json.RawMessage(`{"type":"object"}`)} },
	}
	for name, change := range tests {
		r := anthropicRequest(anthropicHistory(1))
		change(r)
		body := anthropicEncoded(t, r)
		var params sdk.MessageNewParams
		if err := json.Unmarshal(body, &params); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		back, err := json.Marshal(params)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var ours, theirs map[string]any
		if err := json.Unmarshal(body, &ours); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(back, &theirs); err != nil {
			t.Fatal(err)
		}
		delete(ours, "stream")
		if !reflect.DeepEqual(ours, theirs) {
			t.Errorf("%s: the SDK makes\n%s\nof\n%s", name, back, body)
		}
	}
}

func anthropicParams() sdk.MessageNewParams {
	return sdk.MessageNewParams{
		Model: anthropicModel, MaxTokens: 1000,
		Messages: []sdk.MessageParam{sdk.NewUserMessage(sdk.NewTextBlock("Look at a.go."))},
		Tools:    []sdk.ToolUnionParam{{OfTool: &sdk.ToolParam{Name: "read_file", InputSchema: sdk.ToolInputSchemaParam{Properties: map[string]any{}}}}},
	}
}

// TestAnthropic_TheSDKReadsOurServer plays the same turn to the SDK as a stream and whole.
func TestAnthropic_TheSDKReadsOurServer(t *testing.T) {
	turn := llmtest.Turn{
		Parts: []llm.Part{
			llm.Thinking{Text: "Hm, a file.", State: anthropicState(`{"signature":"c2lnbmF0dXJl"}`)},
			llm.Text{Text: "I read it, \"quoted\" and ünïcode."},
			llm.ToolCall{ID: "toolu_1", Name: "read_file", Arguments: `{"path":"a.go"}`},
		},
		Usage: llm.Usage{Input: 100, Output: 20, CacheRead: 30, CacheWrite: 10},
	}
	server := llmtest.NewServer(llmtest.Play(turn, turn))
	defer server.Close()
	client := sdk.NewClient(option.WithBaseURL(server.BaseURL(anthropic.Name)), option.WithAPIKey("key"), option.WithMaxRetries(0))
	check := func(mode string, m *sdk.Message) {
		if len(m.Content) != 3 || m.StopReason != sdk.StopReasonToolUse {
			t.Fatalf("%s: the message is %s", mode, m.RawJSON())
		}
		if b := m.Content[0]; b.Thinking != "Hm, a file." || b.Signature != "c2lnbmF0dXJl" {
			t.Errorf("%s: thinking is %q, %q", mode, b.Thinking, b.Signature)
		}
		if got := m.Content[1].Text; got != turn.Parts[1].(llm.Text).Text {
			t.Errorf("%s: text is %q", mode, got)
		}
		if b := m.Content[2]; b.ID != "toolu_1" || b.Name != "read_file" || string(b.Input) != `{"path":"a.go"}` {
			t.Errorf("%s: the call is %s %s %s", mode, b.ID, b.Name, b.Input)
		}
		if u := m.Usage; u.InputTokens != 60 || u.OutputTokens != 20 || u.CacheReadInputTokens != 30 || u.CacheCreationInputTokens != 10 {
			t.Errorf("%s: usage is %+v", mode, u)
		}
	}
	whole, err := client.Messages.New(context.Background(), anthropicParams())
	if err != nil {
		t.Fatal(err)
	}
	check("whole", whole)
	stream := client.Messages.NewStreaming(context.Background(), anthropicParams())
	var streamed sdk.Message
	for stream.Next() {
		if err := streamed.Accumulate(stream.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	check("streamed", &streamed)
	if v := server.Violations(); len(v) > 0 {
		t.Errorf("violations: %v", v)
	}
}
