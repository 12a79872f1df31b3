//go:build unix

package oracletest

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	sdk "github.com/openai/openai-go/v3"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/chat"
	"github.com/reins-agent/reins/llm/llmtest"
)

func chatContest(t testing.TB) contest {
	const path = "/chat/completions"
	c := contest{sdk: "openai-go", model: chatModel, request: chatRequest, history: chatHistory}
	c.ours = func(rt http.RoundTripper) llm.Provider {
		return chat.New(chat.Config{Endpoint: llm.Endpoint{APIKey: "key", HTTPClient: &http.Client{Transport: rt}}})
	}
	c.stream, c.events = recorded(t, chat.Name, path, `{"stream":true,"model":"m","messages":[{"role":"user","content":"hi"}]}`, longTurn())
	c.short, _ = recorded(t, chat.Name, path, `{"model":"m","messages":[{"role":"user","content":"hi"}]}`, llmtest.Say("ok"))
	streaming, asking := openaiCanned(c.stream), openaiCanned(c.short)
	c.streamTheirs = map[string]func(){
		eventAlone:       func() { chatRead(t, streaming, false) },
		eventWithMessage: func() { chatRead(t, streaming, true) },
	}
	var params sdk.ChatCompletionNewParams
	if err := json.Unmarshal(chatEncoded(t, chatRequest(chatHistory(99))), &params); err != nil {
		t.Fatal(err)
	}
	c.requestTheirs = func() {
		if _, err := asking.Chat.Completions.New(context.Background(), params); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// chatRead reads a stream with the SDK. With accumulate it also builds the message, which Reins always does.
func chatRead(t testing.TB, client sdk.Client, accumulate bool) {
	stream := client.Chat.Completions.NewStreaming(context.Background(), chatParams())
	var acc sdk.ChatCompletionAccumulator
	n := 0
	for stream.Next() {
		chunk := stream.Current()
		if len(chunk.Choices) > 0 {
			n += len(chunk.Choices[0].Delta.Content)
		}
		if accumulate && !acc.AddChunk(chunk) {
			t.Fatal("the SDK does not take a chunk")
		}
	}
	if stream.Err() != nil || n == 0 {
		t.Fatal(stream.Err())
	}
}

func TestChat_CostNextToTheSDK(t *testing.T) { chatContest(t).print(t) }

func BenchmarkChat(b *testing.B) { chatContest(b).bench(b) }
