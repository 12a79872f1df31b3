package oracletest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/chat"
	"github.com/reins-agent/reins/llm/llmtest"
)

const chatModel = "gpt-5.5"

// chatHistory returns a conversation of n rounds with parallel calls and images.
func chatHistory(n int) []llm.Message {
	messages := []llm.Message{llm.SystemText("You work on code."), llm.UserText("Please fix the tests.")}
	for i := range n {
		read := llm.ToolCall{ID: fmt.Sprintf("call_r%d", i), Name: "read_file", Arguments: fmt.Sprintf(`{"path":"a%d.go"}`, i)}
		run := llm.ToolCall{ID: fmt.Sprintf("call_p%d", i), Name: "run", Arguments: `{"command":"go test ./..."}`}
		look := llm.TextResult(read, strings.Repeat("line of code\n", 20), false)
		if i%10 == 0 {
			look.Parts = append(look.Parts, llm.Image{Media: llm.Media{MIME: "image/png", Data: []byte("picture")}, Detail: "low"})
		}
		messages = append(messages,
			llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: fmt.Sprintf("Step %d: \"quoted\" ünïcode.", i)}, read, run}},
			llm.ToolResults(look, llm.TextResult(run, "FAIL", true)))
	}
	return messages
}

func chatRequest(messages []llm.Message) *llm.Request {
	half, no, yes := 0.5, false, true
	return &llm.Request{
		Model: chatModel, Messages: messages, MaxTokens: 1000, Temperature: &half, TopP: &half, Stop: []string{"END"},
		Effort: "none", CacheKey: "conversation-1", ParallelTools: &no, ToolChoice: llm.ToolChoice{Mode: llm.ToolNamed, Name: "read_file"},
		Tools: []llm.ToolDef{
			{Name: "read_file", Description: "Reads a file.", Strict: &yes, Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`)},
			{Name: "run", Description: "Runs a command.", Parameters: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}}}`)},
			{Name: "apply_patch", Description: "Changes files.", Freeform: &llm.Freeform{Syntax: "lark", Definition: "start: /(.|\\n)+/"}},
		},
		Output:  &llm.OutputFormat{Name: "answer", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`)},
		Options: map[string]llm.Options{chat.Name: {Body: map[string]json.RawMessage{"service_tier": json.RawMessage(`"flex"`), "verbosity": json.RawMessage(`"low"`)}}},
	}
}

func chatEncoded(t testing.TB, r *llm.Request) []byte {
	t.Helper()
	call, err := chat.NewDialect(chat.Config{}).Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	return call.Body.Bytes()
}

// TestChat_SDKTypesHoldOurRequests reads our body into the SDK's types and writes it again.
func TestChat_SDKTypesHoldOurRequests(t *testing.T) {
	messages := append(chatHistory(11),
		llm.Message{Role: llm.RoleDeveloper, Parts: []llm.Part{llm.Text{Text: "Be brief."}}},
		llm.Message{Role: llm.RoleUser, Parts: []llm.Part{
			llm.Text{Text: "And this?"},
			llm.Image{Media: llm.Media{URL: "https://example.org/a.png"}, Detail: "high"},
			llm.Audio{Media: llm.Media{MIME: "audio/mpeg", Data: []byte("sound")}},
			llm.Document{Media: llm.Media{MIME: "application/pdf", Data: []byte("%PDF"), Name: "a.pdf"}},
		}})
	body := chatEncoded(t, chatRequest(messages))
	if err := llmtest.Validate(chat.Name, body); err != nil {
		t.Errorf("our server refuses our request: %v", err)
	}
	var params sdk.ChatCompletionNewParams
	if err := json.Unmarshal(body, &params); err != nil {
		t.Fatalf("the SDK cannot read our request: %v", err)
	}
	again, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	want, got := openaiFlat(t, body), openaiFlat(t, again)
	delete(want, ".stream") // the SDK sets it when it sends
	// The SDK writes a named choice, but reads it as a list of allowed tools.
	delete(want, ".tool_choice.function.name")
	choice, err := json.Marshal(sdk.ToolChoiceOptionFunctionToolChoice(sdk.ChatCompletionNamedToolChoiceFunctionParam{Name: "read_file"}))
	if err != nil || !strings.Contains(string(body), `"tool_choice":{"type":"function","function":{"name":"read_file"}}`) || string(choice) != `{"function":{"name":"read_file"},"type":"function"}` {
		t.Errorf("the SDK writes the choice as %s, %v", choice, err)
	}
	var lost []string
	for path, leaf := range want {
		if got[path] != leaf && leaf != "null" {
			lost = append(lost, fmt.Sprintf("%s = %s became %s", path, leaf, got[path]))
		}
	}
	slices.Sort(lost)
	if len(lost) > 0 {
		t.Errorf("%d of %d leaves:\n%s", len(lost), len(want), strings.Join(lost, "\n"))
	}
	for i, m := range params.Messages {
		if m.GetRole() == nil {
			t.Errorf("the SDK does not know what message %d is", i)
		}
	}
	t.Logf("%d messages with %d leaves went through the SDK's types", len(params.Messages), len(want))
}

var chatTurn = llmtest.Turn{Parts: []llm.Part{
	llm.Thinking{Text: "Let me see."},
	llm.Text{Text: "I look at the file, \"quoted\" and ünïcode."},
	llm.ToolCall{ID: "call_1", Name: "read_file", Arguments: `{"path":"a.go"}`},
	llm.ToolCall{ID: "call_2", Name: "run", Arguments: `{"command":"ls"}`},
}, Usage: llm.Usage{Input: 100, Output: 20, CacheRead: 64, Reasoning: 5}}

func chatParams() sdk.ChatCompletionNewParams {
	return sdk.ChatCompletionNewParams{Model: chatModel, Messages: []sdk.ChatCompletionMessageParamUnion{sdk.UserMessage("Look at a.go.")}}
}

func chatClient(server *llmtest.Server) sdk.Client {
	return sdk.NewClient(option.WithAPIKey("key"), option.WithBaseURL(server.BaseURL(chat.Name)), option.WithMaxRetries(0))
}

// chatCompare checks the turn that the SDK read against the script.
func chatCompare(t *testing.T, c *sdk.ChatCompletion) {
	t.Helper()
	if len(c.Choices) != 1 {
		t.Fatalf("%d choices", len(c.Choices))
	}
	m := c.Choices[0].Message
	if want := chatTurn.Parts[1].(llm.Text).Text; m.Content != want {
		t.Errorf("text %q, want %q", m.Content, want)
	}
	if len(m.ToolCalls) != 2 {
		t.Fatalf("%d tool calls", len(m.ToolCalls))
	}
	for i, got := range m.ToolCalls {
		want := chatTurn.Parts[2+i].(llm.ToolCall)
		if got.ID != want.ID || got.Function.Name != want.Name || got.Function.Arguments != want.Arguments {
			t.Errorf("call %s %s(%s), want %+v", got.ID, got.Function.Name, got.Function.Arguments, want)
		}
	}
	if c.Choices[0].FinishReason != "tool_calls" || c.Model != chatModel || c.ID == "" {
		t.Errorf("finish %q, model %q, id %q", c.Choices[0].FinishReason, c.Model, c.ID)
	}
	u := c.Usage
	if u.PromptTokens != 100 || u.CompletionTokens != 20 || u.PromptTokensDetails.CachedTokens != 64 || u.CompletionTokensDetails.ReasoningTokens != 5 {
		t.Errorf("usage %s", u.RawJSON())
	}
}

func TestChat_SDKReadsOurServer(t *testing.T) {
	server := llmtest.NewServer(llmtest.Play(chatTurn))
	defer server.Close()
	client := chatClient(server)
	c, err := client.Chat.Completions.New(context.Background(), chatParams())
	if err != nil {
		t.Fatal(err)
	}
	chatCompare(t, c)
}

func TestChat_SDKReadsOurStream(t *testing.T) {
	server := llmtest.NewServer(llmtest.Play(chatTurn))
	defer server.Close()
	client := chatClient(server)
	params := chatParams()
	params.StreamOptions.IncludeUsage = sdk.Bool(true)
	stream := client.Chat.Completions.NewStreaming(context.Background(), params)
	var acc sdk.ChatCompletionAccumulator
	for stream.Next() {
		if !acc.AddChunk(stream.Current()) {
			t.Fatalf("the SDK does not take %s", stream.Current().RawJSON())
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	chatCompare(t, &acc.ChatCompletion)
}
