//go:build unix

package oracletest

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"google.golang.org/genai"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/gemini"
	"github.com/reins-agent/reins/llm/llmtest"
)

func geminiContest(t testing.TB) contest {
	const path, body = "/v1beta/models/" + geminiModel, `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`
	c := contest{sdk: "genai", model: geminiModel, request: geminiRequest, history: geminiHistory}
	c.ours = func(rt http.RoundTripper) llm.Provider {
		return gemini.New(gemini.Config{Endpoint: llm.Endpoint{APIKey: "key", HTTPClient: &http.Client{Transport: rt}}})
	}
	c.stream, c.events = recorded(t, gemini.Name, path+":streamGenerateContent?alt=sse", body, longTurn())
	c.short, _ = recorded(t, gemini.Name, path+":generateContent", body, llmtest.Say("ok"))
	streaming, asking := geminiCanned(t, c.stream), geminiCanned(t, c.short)
	c.streamTheirs = map[string]func(){eventAlone: func() {
		for _, err := range streaming.Models.GenerateContentStream(context.Background(), geminiModel, genai.Text("hi"), nil) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}}
	var sent geminiBody
	if err := json.Unmarshal(geminiEncoded(t, geminiRequest(geminiHistory(99))), &sent); err != nil {
		t.Fatal(err)
	}
	config := &genai.GenerateContentConfig{SystemInstruction: sent.SystemInstruction, Tools: sent.Tools, ToolConfig: sent.ToolConfig, MaxOutputTokens: 1000}
	c.requestTheirs = func() {
		if _, err := asking.Models.GenerateContent(context.Background(), geminiModel, sent.Contents, config); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func geminiCanned(t testing.TB, rt http.RoundTripper) *genai.Client {
	client, err := genai.NewClient(context.Background(), &genai.ClientConfig{APIKey: "key", Backend: genai.BackendGeminiAPI, HTTPClient: &http.Client{Transport: rt}})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestGemini_CostNextToTheSDK(t *testing.T) { geminiContest(t).print(t) }

func BenchmarkGemini(b *testing.B) { geminiContest(b).bench(b) }
