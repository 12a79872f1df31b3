//go:build unix

package oracletest

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/llm/openai"
)

func openaiContest(t testing.TB) contest {
	c := contest{sdk: "openai-go", model: openaiModel, request: openaiRequest, history: openaiHistory}
	c.ours = func(rt http.RoundTripper) llm.Provider {
		return openai.New(openai.Config{Endpoint: llm.Endpoint{APIKey: "key", HTTPClient: &http.Client{Transport: rt}}})
	}
	c.stream, c.events = recorded(t, openai.Name, "/responses", `{"stream":true,"model":"gpt-5.5","input":"hi"}`, longTurn())
	c.short, _ = recorded(t, openai.Name, "/responses", `{"model":"gpt-5.5","input":"hi"}`, llmtest.Say("ok"))
	streaming, asking := openaiCanned(c.stream), openaiCanned(c.short)
	c.streamTheirs = map[string]func(){eventAlone: func() { openaiRead(t, streaming) }}
	var params responses.ResponseNewParams
	if err := json.Unmarshal(openaiEncoded(t, openaiRequest(openaiHistory(99))), &params); err != nil {
		t.Fatal(err)
	}
	c.requestTheirs = func() {
		if _, err := asking.Responses.New(context.Background(), params); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func openaiCanned(rt http.RoundTripper) sdk.Client {
	return sdk.NewClient(option.WithAPIKey("key"), option.WithHTTPClient(&http.Client{Transport: rt}), option.WithMaxRetries(0))
}

// openaiRead reads a stream with the SDK and switches on each event, as a caller must.
func openaiRead(t testing.TB, client sdk.Client) {
	stream := client.Responses.NewStreaming(context.Background(), openaiParams())
	n := 0
	for stream.Next() {
		if ev, ok := stream.Current().AsAny().(responses.ResponseTextDeltaEvent); ok {
			n += len(ev.Delta)
		}
	}
	if stream.Err() != nil || n == 0 {
		t.Fatal(stream.Err())
	}
}

func TestOpenAI_CostNextToTheSDK(t *testing.T) { openaiContest(t).print(t) }

func BenchmarkOpenAI(b *testing.B) { openaiContest(b).bench(b) }
