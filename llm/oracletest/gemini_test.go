package oracletest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/gemini"
	"github.com/reins-agent/reins/llm/llmtest"
)

const geminiModel = "gemini-3-pro-preview"

// geminiBody is the body of generateContent in the SDK's own types.
type geminiBody struct {
	Contents          []*genai.Content        `json:"contents,omitempty"`
	SystemInstruction *genai.Content          `json:"systemInstruction,omitempty"`
	Tools             []*genai.Tool           `json:"tools,omitempty"`
	ToolConfig        *genai.ToolConfig       `json:"toolConfig,omitempty"`
	GenerationConfig  *genai.GenerationConfig `json:"generationConfig,omitempty"`
}

func geminiState(s string) llm.State {
	return llm.State{Dialect: gemini.Name, Model: geminiModel, Data: []byte(s)}
}

// geminiHistory returns a conversation of n rounds with thoughts, parallel calls and images.
func geminiHistory(n int) []llm.Message {
	messages := []llm.Message{llm.SystemText("You work on code."), llm.UserText("Please fix the tests.")}
	for i := range n {
		read := llm.ToolCall{ID: fmt.Sprintf("r%d", i), Name: "read_file", Arguments: fmt.Sprintf(`{"path":"a%d.go"}`, i), State: geminiState("c2lnbmF0dXJl")}
		run := llm.ToolCall{ID: fmt.Sprintf("s%d", i), Name: "shell", Arguments: `{"command":["go","test","./..."],"timeout":1.5}`}
		messages = append(messages,
			llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
				llm.Thinking{Text: "I should look.", State: geminiState("dGhvdWdodA==")},
				llm.Text{Text: fmt.Sprintf("Step %d: \"quoted\" ünïcode.", i)}, read, run}},
			llm.ToolResults(llm.TextResult(read, strings.Repeat("line of code\n", 20), false), llm.TextResult(run, "FAIL", true)))
		if i%10 == 0 {
			last := &messages[len(messages)-1]
			r := last.Parts[0].(llm.ToolResult)
			r.Parts = append(r.Parts, llm.Image{Media: llm.Media{MIME: "image/png", Data: []byte("picture")}})
			last.Parts[0] = r
		}
	}
	return messages
}

func geminiRequest(messages []llm.Message) *llm.Request {
	half, k := 0.5, 40
	return &llm.Request{
		Model: geminiModel, Messages: messages, MaxTokens: 1000, Temperature: &half, TopK: &k, Stop: []string{"END"}, Effort: "low",
		Tools: []llm.ToolDef{
			{Name: "read_file", Description: "Reads a file.", Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
			{Name: "shell", Description: "Runs a command.", Parameters: json.RawMessage(`{"type":"object","properties":{"command":{"type":"array","items":{"type":"string"}},"timeout":{"type":"number"}}}`)},
		},
		ToolChoice: llm.ToolChoice{Mode: llm.ToolNamed, Name: "shell"},
		Output:     &llm.OutputFormat{Schema: json.RawMessage(`{"type":"object","properties":{"ok":{"type":"boolean"}}}`)},
	}
}

func geminiEncoded(t testing.TB, r *llm.Request) []byte {
	t.Helper()
	call, err := gemini.NewDialect(gemini.Config{}).Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	return call.Body.Bytes()
}

// TestGemini_SDKTypesHoldOurRequests decodes our body into the SDK's types, which must have every field, encodes
// it again and compares.
func TestGemini_SDKTypesHoldOurRequests(t *testing.T) {
	ours := geminiEncoded(t, geminiRequest(geminiHistory(12)))
	var body geminiBody
	dec := json.NewDecoder(bytes.NewReader(ours))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&body); err != nil {
		t.Fatalf("the SDK's types do not take our body: %v", err)
	}
	theirs, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	var want, got any
	if err := json.Unmarshal(ours, &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(theirs, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the SDK's types lose something:\nours   %s\ntheirs %s", ours, theirs)
	}
}

func geminiClient(t testing.TB, server *llmtest.Server) *genai.Client {
	t.Helper()
	client, err := genai.NewClient(context.Background(), &genai.ClientConfig{
		APIKey: "oracle-key", Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: server.BaseURL(gemini.Name)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// geminiTurns returns a script of two rounds of tools and an answer.
func geminiTurns() []llmtest.Turn {
	return []llmtest.Turn{
		{Parts: []llm.Part{
			llm.Thinking{Text: "Two files, one after the other."},
			llm.Text{Text: "I read both, in parallel and at length. Ünïcode 🌍."},
			llm.ToolCall{Name: "read_file", Arguments: `{"path":"a.go"}`},
			llm.ToolCall{Name: "read_file", Arguments: `{"path":"b.go"}`}}},
		llmtest.Call("shell", `{"command":["go","vet"],"timeout":2.5}`),
		{Parts: []llm.Part{llm.Text{Text: "All is well.", State: llm.State{Dialect: gemini.Name, Data: []byte("c2ln")}}}, Usage: llm.Usage{Input: 100, Output: 9, Reasoning: 4, CacheRead: 50}},
	}
}

// TestGemini_SDKClientTalksToOurServer plays a conversation with the SDK's client. It also shows that the strict
// server accepts everything the SDK sends.
func TestGemini_SDKClientTalksToOurServer(t *testing.T) {
	for _, model := range []string{geminiModel, "gemini-2.5-flash"} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s stream=%v", model, stream), func(t *testing.T) {
				server := llmtest.NewServer(llmtest.Play(geminiTurns()...))
				defer server.Close()
				answers := geminiConversation(t, geminiClient(t, server), model, stream)
				want := []string{
					`Two files, one after the other.|I read both, in parallel and at length. Ünïcode 🌍.|read_file {"path":"a.go"}|read_file {"path":"b.go"}`,
					`||shell {"command":["go","vet"],"timeout":2.5}`, `|All is well.`,
				}
				if !reflect.DeepEqual(answers, want) {
					t.Errorf("got  %q\nwant %q", answers, want)
				}
				if v := server.Violations(); len(v) > 0 {
					t.Errorf("violations: %v", v)
				}
			})
		}
	}
}

// geminiConversation runs the tools until an answer has no calls, and returns the answers.
func geminiConversation(t *testing.T, client *genai.Client, model string, stream bool) (answers []string) {
	history := []*genai.Content{genai.NewContentFromText("look", genai.RoleUser)}
	config := &genai.GenerateContentConfig{
		SystemInstruction: genai.NewContentFromText("Be brief.", genai.RoleUser),
		MaxOutputTokens:   500,
		Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{
			{Name: "read_file", ParametersJsonSchema: map[string]any{"type": "object"}}, {Name: "shell", Description: "d"}}}},
	}
	for range 5 {
		var parts []*genai.Part
		if stream {
			for resp, err := range client.Models.GenerateContentStream(t.Context(), model, history, config) {
				if err != nil {
					t.Fatal(err)
				}
				parts = append(parts, resp.Candidates[0].Content.Parts...)
			}
		} else {
			resp, err := client.Models.GenerateContent(t.Context(), model, history, config)
			if err != nil {
				t.Fatal(err)
			}
			parts = resp.Candidates[0].Content.Parts
		}
		answer, results := geminiRun(parts)
		answers = append(answers, answer)
		if len(results) == 0 {
			return answers
		}
		var said []*genai.Part
		for _, p := range parts {
			if p.Text != "" || p.FunctionCall != nil {
				said = append(said, p)
			}
		}
		history = append(history, genai.NewContentFromParts(said, genai.RoleModel), genai.NewContentFromParts(results, genai.RoleUser))
	}
	return answers
}

// geminiRun records an answer and returns a result for each of its calls.
func geminiRun(parts []*genai.Part) (answer string, results []*genai.Part) {
	var thoughts, text string
	var calls []string
	for _, p := range parts {
		switch {
		case p.FunctionCall != nil:
			args, _ := json.Marshal(p.FunctionCall.Args)
			calls = append(calls, p.FunctionCall.Name+" "+string(args))
			r := genai.NewPartFromFunctionResponse(p.FunctionCall.Name, map[string]any{"output": "ok"})
			r.FunctionResponse.ID = p.FunctionCall.ID
			results = append(results, r)
		case p.Thought:
			thoughts += p.Text
		default:
			text += p.Text
		}
	}
	sort.Strings(calls)
	return strings.Join(append([]string{thoughts, text}, calls...), "|"), results
}

// TestGemini_SDKSeesOurErrors checks that the SDK recognizes a refusal.
func TestGemini_SDKSeesOurErrors(t *testing.T) {
	server := llmtest.NewServer(llmtest.Play(llmtest.Fail(429)))
	defer server.Close()
	_, err := geminiClient(t, server).Models.GenerateContent(t.Context(), geminiModel, genai.Text("hi"), nil)
	apiErr, ok := err.(genai.APIError)
	if !ok || apiErr.Code != 429 || apiErr.Status != "RESOURCE_EXHAUSTED" {
		t.Errorf("%T %+v", err, err)
	}
}

// TestGemini_BothSidesReadTheSame reads one server with the SDK and with our adapter.
func TestGemini_BothSidesReadTheSame(t *testing.T) {
	turn := geminiTurns()[0]
	server := llmtest.NewServer(llmtest.Play(turn, turn))
	defer server.Close()
	var parts []*genai.Part
	for resp, err := range geminiClient(t, server).Models.GenerateContentStream(t.Context(), geminiModel, genai.Text("hi"), nil) {
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, resp.Candidates[0].Content.Parts...)
	}
	theirs, _ := geminiRun(parts)
	p := gemini.New(gemini.Config{Endpoint: llm.Endpoint{BaseURL: server.BaseURL(gemini.Name), APIKey: "k"}})
	resp, err := llm.Collect(p.Stream(t.Context(), &llm.Request{Model: geminiModel, Messages: []llm.Message{llm.UserText("hi")}}))
	if err != nil {
		t.Fatal(err)
	}
	ours := []string{resp.Thinking(), resp.Text()}
	for _, c := range resp.ToolCalls() {
		ours = append(ours, c.Name+" "+c.Arguments)
	}
	if got := strings.Join(ours, "|"); got != theirs {
		t.Errorf("ours   %s\ntheirs %s", got, theirs)
	}
}
