//go:build unix

package oracletest

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/anthropic"
	"github.com/reins-agent/reins/llm/llmtest"
)

func anthropicContest(t testing.TB) contest {
	const path = "/v1/messages"
	c := contest{sdk: "anthropic-sdk-go", model: anthropicModel, request: anthropicRequest, history: anthropicHistory}
	c.ours = func(rt http.RoundTripper) llm.Provider {
		return anthropic.New(anthropic.Config{Endpoint: llm.Endpoint{APIKey: "key", HTTPClient: &http.Client{Transport: rt}}})
	}
	c.stream, c.events = recorded(t, anthropic.Name, path, `{"stream":true,"model":"m","max_tokens":10,"messages":[{"role":"user","content":"hi"}]}`, longTurn())
	c.short, _ = recorded(t, anthropic.Name, path, `{"model":"m","max_tokens":10,"messages":[{"role":"user","content":"hi"}]}`, llmtest.Say("ok"))
	theirs := func(rt http.RoundTripper) sdk.Client {
		return sdk.NewClient(option.WithAPIKey("key"), option.WithHTTPClient(&http.Client{Transport: rt}), option.WithMaxRetries(0))
	}
	streaming, asking := theirs(c.stream), theirs(c.short)
	c.streamTheirs = map[string]func(){
		eventAlone:       func() { anthropicRead(t, streaming, false) },
		eventWithMessage: func() { anthropicRead(t, streaming, true) },
	}
	var params sdk.MessageNewParams
	if err := json.Unmarshal(anthropicEncoded(t, anthropicRequest(anthropicHistory(99))), &params); err != nil {
		t.Fatal(err)
	}
	c.requestTheirs = func() {
		if _, err := asking.Messages.New(context.Background(), params); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// anthropicRead reads a stream with the SDK. With accumulate it also builds the message, which Reins always
// does.
func anthropicRead(t testing.TB, client sdk.Client, accumulate bool) {
	stream := client.Messages.NewStreaming(context.Background(), anthropicParams())
	var m sdk.Message
	n := 0
	for stream.Next() {
		ev := stream.Current()
		if d, ok := ev.AsAny().(sdk.ContentBlockDeltaEvent); ok {
			n += len(d.Delta.Text)
		}
		if accumulate {
			if err := m.Accumulate(ev); err != nil {
				t.Fatal(err)
			}
		}
	}
	if stream.Err() != nil || n == 0 {
		t.Fatal(stream.Err())
	}
}

func TestAnthropic_CostNextToTheSDK(t *testing.T) { anthropicContest(t).print(t) }

func BenchmarkAnthropic(b *testing.B) { anthropicContest(b).bench(b) }
