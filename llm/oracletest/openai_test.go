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
	"github.com/openai/openai-go/v3/responses"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/llm/openai"
)

const openaiModel = "gpt-5.5"

func openaiState(format string, args ...any) llm.State {
	return llm.State{Dialect: openai.Name, Model: openaiModel, Data: fmt.Appendf(nil, format, args...)}
}

// openaiHistory returns a conversation of n rounds with reasoning, parallel and freeform calls and images.
func openaiHistory(n int) []llm.Message {
	messages := []llm.Message{llm.SystemText("You work on code."), llm.UserText("Please fix the tests.")}
	for i := range n {
		read := llm.ToolCall{ID: fmt.Sprintf("call_r%d", i), Name: "read_file", Arguments: fmt.Sprintf(`{"path":"a%d.go"}`, i), State: openaiState(`{"id":"fc_%d","status":"completed"}`, i)}
		patch := llm.ToolCall{ID: fmt.Sprintf("call_p%d", i), Name: "apply_patch", Arguments: "*** Begin Patch\n*** End Patch", Custom: true, State: openaiState(`{"id":"ctc_%d"}`, i)}
		look := llm.TextResult(read, strings.Repeat("line of code\n", 20), false)
		if i%10 == 0 {
			look.Parts = append(look.Parts, llm.Image{Media: llm.Media{MIME: "image/png", Data: []byte("picture")}, Detail: "low"})
		}
		messages = append(messages,
			llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
				llm.Thinking{Text: "I should look.", State: openaiState(`{"id":"rs_%d","type":"reasoning","summary":[{"type":"summary_text","text":"I should look."}],"encrypted_content":"%s"}`, i, strings.Repeat("gAAAAABo", 40))},
				llm.Text{Text: fmt.Sprintf("Step %d: \"quoted\" ünïcode.", i), State: openaiState(`{"message":{"id":"msg_%d","status":"completed","phase":"commentary"},"part":{"annotations":[]}}`, i)},
				read, patch}},
			llm.ToolResults(look, llm.TextResult(patch, "FAIL", true)))
	}
	return messages
}

func openaiRequest(messages []llm.Message) *llm.Request {
	half, no, yes := 0.5, false, true
	return &llm.Request{
		Model: openaiModel, Messages: messages, MaxTokens: 1000, Temperature: &half, Effort: "none", CacheKey: "conversation-1",
		ParallelTools: &no, ToolChoice: llm.ToolChoice{Mode: llm.ToolNamed, Name: "read_file"},
		Tools: []llm.ToolDef{
			{Name: "read_file", Description: "Reads a file.", Strict: &yes, Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`)},
			{Name: "apply_patch", Description: "Changes files.", Freeform: &llm.Freeform{Syntax: "lark", Definition: "start: /(.|\\n)+/"}},
			{Hosted: llm.State{Dialect: openai.Name, Data: []byte(`{"type":"web_search","search_context_size":"low"}`)}},
		},
		Output:  &llm.OutputFormat{Name: "answer", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`)},
		Options: map[string]llm.Options{openai.Name: {Body: map[string]json.RawMessage{"service_tier": json.RawMessage(`"flex"`), "text": json.RawMessage(`{"verbosity":"low"}`)}}},
	}
}

func openaiEncoded(t testing.TB, r *llm.Request) []byte {
	t.Helper()
	call, err := openai.NewDialect(openai.Config{Summary: "auto"}).Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	return call.Body.Bytes()
}

// openaiLeaves lists a JSON value's leaves by their paths.
func openaiLeaves(path string, v any, out map[string]string) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			openaiLeaves(path+"."+k, e, out)
		}
	case []any:
		for i, e := range v {
			openaiLeaves(fmt.Sprintf("%s[%d]", path, i), e, out)
		}
	default:
		b, _ := json.Marshal(v)
		out[path] = string(b)
	}
}

func openaiFlat(t *testing.T, body []byte) map[string]string {
	t.Helper()
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatal(err)
	}
	out := make(map[string]string)
	openaiLeaves("", v, out)
	return out
}

// TestOpenAI_SDKTypesHoldOurRequests reads our body into the SDK's types and writes it again.
func TestOpenAI_SDKTypesHoldOurRequests(t *testing.T) {
	messages := append(openaiHistory(11),
		llm.Message{Role: llm.RoleDeveloper, Parts: []llm.Part{llm.Text{Text: "Be brief."}}},
		llm.Message{Role: llm.RoleUser, Parts: []llm.Part{
			llm.Text{Text: "And this?"},
			llm.Image{Media: llm.Media{URL: "https://example.org/a.png"}, Detail: "high"},
			llm.Document{Media: llm.Media{MIME: "application/pdf", Data: []byte("%PDF"), Name: "a.pdf"}},
		}})
	body := openaiEncoded(t, openaiRequest(messages))
	var params responses.ResponseNewParams
	if err := json.Unmarshal(body, &params); err != nil {
		t.Fatalf("the SDK cannot read our request: %v", err)
	}
	again, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	want, got := openaiFlat(t, body), openaiFlat(t, again)
	delete(want, ".stream") // the SDK sets it when it sends
	openaiExactly(t, body, got)
	var lost []string
	for path, leaf := range want {
		if got[path] != leaf {
			lost = append(lost, fmt.Sprintf("%s = %s became %s", path, leaf, got[path]))
		}
	}
	slices.Sort(lost)
	if len(lost) > 0 {
		t.Errorf("%d of %d leaves:\n%s", len(lost), len(want), strings.Join(lost, "\n"))
	}
	if n := len(params.Input.OfInputItemList); n != 1+11*6+2 {
		t.Errorf("the SDK sees %d items", n)
	}
	for i, item := range params.Input.OfInputItemList {
		if item.GetType() == nil && item.GetRole() == nil {
			t.Errorf("the SDK does not know what item %d is", i)
		}
	}
	t.Logf("%d leaves of a request went through the SDK's types", len(want))
}

// openaiExactly reads assistant messages and tool choices into their types. The SDK alone reads them as other union
// members.
func openaiExactly(t *testing.T, body []byte, got map[string]string) {
	t.Helper()
	var raw struct {
		Input  []json.RawMessage `json:"input"`
		Choice json.RawMessage   `json:"tool_choice"`
	}
	if err := json.Unmarshal(body, &raw); err != nil {
		t.Fatal(err)
	}
	read := func(path string, data []byte, into any) {
		if err := json.Unmarshal(data, into); err != nil {
			t.Errorf("%s: %v", path, err)
			return
		}
		again, err := json.Marshal(into)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return
		}
		for leaf, v := range openaiFlat(t, again) {
			got[path+leaf] = v
		}
	}
	read(".tool_choice", raw.Choice, &responses.ToolChoiceFunctionParam{})
	for i, item := range raw.Input {
		if strings.Contains(string(item), `"role":"assistant"`) {
			read(fmt.Sprintf(".input[%d]", i), item, &responses.ResponseOutputMessageParam{})
		}
	}
}

var openaiTurn = llmtest.Turn{Parts: []llm.Part{
	llm.Thinking{Text: "Let me see."},
	llm.Text{Text: "I look at the file, \"quoted\" and ünïcode."},
	llm.ToolCall{ID: "call_1", Name: "read_file", Arguments: `{"path":"a.go"}`},
	llm.ToolCall{ID: "call_2", Name: "apply_patch", Arguments: "*** Begin Patch", Custom: true},
}, Usage: llm.Usage{Input: 100, Output: 20, CacheRead: 64, Reasoning: 5}}

func openaiParams() responses.ResponseNewParams {
	return responses.ResponseNewParams{
		Model: openaiModel,
		Input: responses.ResponseNewParamsInputUnion{OfString: sdk.String("Look at a.go.")},
	}
}

func openaiClient(t *testing.T, server *llmtest.Server) sdk.Client {
	t.Helper()
	t.Cleanup(server.Close)
	return sdk.NewClient(option.WithBaseURL(server.BaseURL(openai.Name)), option.WithAPIKey("key"), option.WithMaxRetries(0))
}

// openaiCheck compares the response that the SDK read with the script.
func openaiCheck(t *testing.T, resp *responses.Response) {
	t.Helper()
	want := llm.Message{Parts: openaiTurn.Parts}
	if got := resp.OutputText(); got != want.Text() {
		t.Errorf("the SDK reads the text %q", got)
	}
	if resp.Status != "completed" || resp.Usage.InputTokens != 100 || resp.Usage.InputTokensDetails.CachedTokens != 64 {
		t.Errorf("the SDK reads status %s and usage %+v", resp.Status, resp.Usage)
	}
	var kinds []string
	for _, item := range resp.Output {
		kinds = append(kinds, item.Type)
		switch item.Type {
		case "function_call":
			if c := item.AsFunctionCall(); c.CallID != "call_1" || c.Name != "read_file" || c.Arguments != `{"path":"a.go"}` {
				t.Errorf("the SDK reads the call %+v", c)
			}
		case "custom_tool_call":
			if c := item.AsCustomToolCall(); c.CallID != "call_2" || c.Input != "*** Begin Patch" {
				t.Errorf("the SDK reads the call %+v", c)
			}
		case "reasoning":
			if r := item.AsReasoning(); r.EncryptedContent == "" || len(r.Summary) != 1 || r.Summary[0].Text != "Let me see." {
				t.Errorf("the SDK reads the reasoning %+v", r)
			}
		}
	}
	if want := []string{"reasoning", "message", "function_call", "custom_tool_call"}; !slices.Equal(kinds, want) {
		t.Errorf("the SDK reads the items %v", kinds)
	}
}

func TestOpenAI_SDKReadsOurServer(t *testing.T) {
	client := openaiClient(t, llmtest.NewServer(llmtest.Play(openaiTurn)))
	resp, err := client.Responses.New(context.Background(), openaiParams())
	if err != nil {
		t.Fatal(err)
	}
	openaiCheck(t, resp)
}

func TestOpenAI_SDKStreamsFromOurServer(t *testing.T) {
	client := openaiClient(t, llmtest.NewServer(llmtest.Play(openaiTurn)))
	stream := client.Responses.NewStreaming(context.Background(), openaiParams())
	defer stream.Close()
	var text, arguments, input, summary string
	finished := false
	for stream.Next() {
		switch ev := stream.Current().AsAny().(type) {
		case responses.ResponseTextDeltaEvent:
			text += ev.Delta
		case responses.ResponseFunctionCallArgumentsDeltaEvent:
			arguments += ev.Delta
		case responses.ResponseCustomToolCallInputDeltaEvent:
			input += ev.Delta
		case responses.ResponseReasoningSummaryTextDeltaEvent:
			summary += ev.Delta
		case responses.ResponseCompletedEvent:
			finished = true
			openaiCheck(t, &ev.Response)
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	want := llm.Message{Parts: openaiTurn.Parts}
	if text != want.Text() || arguments != `{"path":"a.go"}` || input != "*** Begin Patch" || summary != "Let me see." || !finished {
		t.Errorf("the SDK streamed %q, %q, %q, %q; finished: %v", text, arguments, input, summary, finished)
	}
}

// TestOpenAI_SDKUnderstandsOurRefusal sends a request that the server must refuse.
func TestOpenAI_SDKUnderstandsOurRefusal(t *testing.T) {
	server := llmtest.NewServer(llmtest.Play(openaiTurn))
	client := openaiClient(t, server)
	params := openaiParams()
	params.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: responses.ResponseInputParam{
		responses.ResponseInputItemParamOfFunctionCall("{}", "call_9", "read_file"),
	}}
	_, err := client.Responses.New(context.Background(), params)
	e, ok := err.(*sdk.Error)
	if !ok || e.StatusCode != 400 || e.Type != "invalid_request_error" || !strings.Contains(e.Message, "no tool output found for function call call_9") {
		t.Errorf("the SDK got %v", err)
	}
}
