//go:build unix

package oracletest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/openai/openai-go/v3"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/chat"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/llm/wire"
)

// chatRecorded takes an answer of our server, and the number of events in it.
func chatRecorded(t testing.TB, turn llmtest.Turn, stream bool) (openaiTransport, int) {
	t.Helper()
	server := llmtest.NewServer(llmtest.Play(turn))
	defer server.Close()
	body := `{"model":"m","messages":[{"role":"user","content":"hi"}]}`
	if stream {
		body = strings.Replace(body, "{", `{"stream":true,`, 1)
	}
	req, err := http.NewRequest(http.MethodPost, server.BaseURL(chat.Name)+"/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer key")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%v: %s", err, answer)
	}
	return openaiTransport{resp.Header.Get("Content-Type"), answer}, bytes.Count(answer, []byte("data: "))
}

// chatLong is an answer whose stream is mostly deltas, as a model's is.
func chatLong(t testing.TB) (openaiTransport, int) {
	return chatRecorded(t, llmtest.Turn{Parts: []llm.Part{
		llm.Text{Text: strings.Repeat("The next words of an answer,\nas they arrive. ", 150)},
		llm.ToolCall{ID: "call_1", Name: "write", Arguments: `{"text":"` + strings.Repeat(`a line of code\n`, 100) + `"}`},
	}}, true)
}

func chatShort(t testing.TB) openaiTransport {
	short, _ := chatRecorded(t, llmtest.Say("ok"), false)
	return short
}

func chatOurs(f openaiTransport) llm.Provider {
	return chat.New(chat.Config{Endpoint: wire.Endpoint{APIKey: "key", HTTPClient: &http.Client{Transport: f}}})
}

// chatStreamTheirs reads a stream with the SDK. With accumulate it also builds the message, as
// ours always does.
func chatStreamTheirs(t testing.TB, f openaiTransport, accumulate bool) func() {
	client := openaiSDK(f)
	return func() {
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
}

func chatStreamOurs(t testing.TB, f openaiTransport) func() {
	p := chatOurs(f)
	r := &llm.Request{Model: chatModel, Messages: []llm.Message{llm.UserText("Look at a.go.")}}
	return func() {
		n := 0
		for ev, err := range p.Stream(context.Background(), r) {
			if err != nil {
				t.Fatal(err)
			}
			if d, ok := ev.(llm.TextDelta); ok {
				n += len(d.Text)
			}
		}
		if n == 0 {
			t.Fatal("no text")
		}
	}
}

// chatRequestTheirs sends the same history of 200 messages with the SDK.
func chatRequestTheirs(t testing.TB) func() {
	var params sdk.ChatCompletionNewParams
	if err := json.Unmarshal(chatEncoded(t, chatRequest(chatHistory(99))), &params); err != nil {
		t.Fatal(err)
	}
	client := openaiSDK(chatShort(t))
	return func() {
		if _, err := client.Chat.Completions.New(context.Background(), params); err != nil {
			t.Fatal(err)
		}
	}
}

// chatRequestOurs sends it with ours. With a cache, each request has two messages more than the
// one before.
func chatRequestOurs(t testing.TB, cache *llm.Cache) func() {
	p := chatOurs(chatShort(t))
	r := chatRequest(chatHistory(99))
	all := chatHistory(400)
	r.Unary, r.Cache = true, cache
	n := 200
	return func() {
		if cache != nil {
			if r.Messages = all[:n]; n+2 < len(all) {
				n += 2
			}
		}
		if _, err := llm.Collect(p.Stream(context.Background(), r)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestChat_CostNextToTheSDK prints what both sides take for the same work. Only the allocations
// are asserted, since they do not depend on what else the machine does.
func TestChat_CostNextToTheSDK(t *testing.T) {
	row := func(what string, per int, want float64, theirs, ours openaiCost) {
		n := time.Duration(per)
		cpu := float64(theirs.cpu) / float64(max(ours.cpu, 1))
		allocs := theirs.allocs / ours.allocs
		t.Logf("%-26s openai-go %9v %8.1f allocs | ours %9v %7.1f allocs | %5.1f× less CPU, %5.1f× fewer allocs",
			what, theirs.cpu/n, theirs.allocs/float64(per), ours.cpu/n, ours.allocs/float64(per), cpu, allocs)
		if allocs < want {
			t.Errorf("%s: %.1f times fewer allocations than the SDK, want %.0f", what, allocs, want)
		}
	}
	f, events := chatLong(t)
	ours := openaiMeasure(100, chatStreamOurs(t, f))
	row("streamed event", events, 3, openaiMeasure(20, chatStreamTheirs(t, f, false)), ours)
	row("event, with a message", events, 3, openaiMeasure(20, chatStreamTheirs(t, f, true)), ours)
	request := openaiMeasure(20, chatRequestTheirs(t))
	row("request of 200 messages", 1, 3, request, openaiMeasure(50, chatRequestOurs(t, nil)))
	row("two messages more, cached", 1, 20, request, openaiMeasure(200, chatRequestOurs(t, new(llm.Cache))))
}

func BenchmarkChat(b *testing.B) {
	f, _ := chatLong(b)
	for _, c := range []struct {
		name string
		run  func(testing.TB) func()
	}{
		{"Stream/openai-go", func(t testing.TB) func() { return chatStreamTheirs(t, f, false) }},
		{"Stream/ours", func(t testing.TB) func() { return chatStreamOurs(t, f) }},
		{"Request200/openai-go", chatRequestTheirs},
		{"Request200/ours", func(t testing.TB) func() { return chatRequestOurs(t, nil) }},
		{"Request200/cached", func(t testing.TB) func() { return chatRequestOurs(t, new(llm.Cache)) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			run := c.run(b)
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
		})
	}
}
