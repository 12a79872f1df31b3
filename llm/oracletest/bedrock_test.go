package oracletest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	claude "github.com/anthropics/anthropic-sdk-go/bedrock"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/document"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/bedrock"
	"github.com/reins-agent/reins/llm/llmtest"
)

const awsSecret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"

// awsConfig configures the SDK for our server.
func awsConfig(base string) aws.Config {
	return aws.Config{Region: "eu-west-1", BaseEndpoint: &base, RetryMaxAttempts: 1, Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: awsSecret, SessionToken: "session"}, nil
	})}
}

// TestBedrock_SignaturesEqualTheSDKs signs random requests with both signers.
func TestBedrock_SignaturesEqualTheSDKs(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	for range 200 {
		model := pick("anthropic.claude-v2", "us.anthropic.claude-x-v1:0", "arn:aws:bedrock:us-east-1:1:inference-profile/x y+z", "ü~._-@=&")
		key := bedrock.Credentials{AccessKeyID: "AKID", SecretAccessKey: pick(awsSecret, "short"), SessionToken: pick("", "to/ken==")}
		region, body := pick("us-east-1", "eu-central-1"), []byte(strings.Repeat("x", random.IntN(100)))
		request := func() *http.Request {
			r, err := http.NewRequest("POST", "https://bedrock-runtime.eu.example:8443/model/"+url.QueryEscape(model)+"/invoke", bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			return r
		}
		ours, theirs := request(), request()
		if err := bedrock.Sign(region, func(context.Context) (bedrock.Credentials, error) { return key, nil })(ours, body); err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse("20060102T150405Z", ours.Header.Get("X-Amz-Date"))
		if err != nil {
			t.Fatal(err)
		}
		theirs.ContentLength = 0 // we do not sign the length
		sum := sha256.Sum256(body)
		credentials := aws.Credentials{AccessKeyID: key.AccessKeyID, SecretAccessKey: key.SecretAccessKey, SessionToken: key.SessionToken}
		if err := v4.NewSigner().SignHTTP(t.Context(), credentials, theirs, hex.EncodeToString(sum[:]), "bedrock", region, at); err != nil {
			t.Fatal(err)
		}
		if got, want := ours.Header.Get("Authorization"), theirs.Header.Get("Authorization"); got != want {
			t.Fatalf("%s:\n got %s\nwant %s", model, got, want)
		}
	}
}

// TestBedrock_ReadsTheSDKsRequests decodes messages that the SDK encoded.
func TestBedrock_ReadsTheSDKsRequests(t *testing.T) {
	var stream bytes.Buffer
	for _, ev := range [][2]string{
		{"messageStart", `{"role":"assistant"}`}, {"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"hello"}}`}, {"contentBlockStop", `{"contentBlockIndex":0}`},
		{"messageStop", `{"stopReason":"end_turn"}`}, {"metadata", `{"usage":{"inputTokens":3,"outputTokens":1,"totalTokens":4}}`},
	} {
		m := eventstream.Message{Payload: []byte(ev[1])}
		m.Headers.Set(":event-type", eventstream.StringValue(ev[0]))
		m.Headers.Set(":message-type", eventstream.StringValue("event"))
		m.Headers.Set("time", eventstream.TimestampValue(time.Now()))
		m.Headers.Set("flag", eventstream.BoolValue(true))
		m.Headers.Set("bytes", eventstream.BytesValue([]byte("xyz")))
		m.Headers.Set("number", eventstream.Int32Value(7))
		if err := eventstream.NewEncoder().Encode(&stream, m); err != nil {
			t.Fatal(err)
		}
	}
	a := wire.NewAssembler(bedrock.Name, "m", func(llm.StreamEvent) bool { return true })
	answer := wire.Answer{Status: 200, Header: http.Header{"Content-Type": {"application/vnd.amazon.eventstream"}}, Body: &stream, Stream: true}
	if err := wire.Read(bedrock.NewDialect(bedrock.Config{}), answer, a); err != nil || a.Response().Text() != "hello" || a.Response().Usage.Input != 3 {
		t.Errorf("got %+v, %v", a.Response(), err)
	}
}

// TestBedrock_TheSDKsClientTalksToOurServer checks the test server's signatures, framing and forms.
func TestBedrock_TheSDKsClientTalksToOurServer(t *testing.T) {
	turn := llmtest.Turn{Parts: []llm.Part{llm.Thinking{Text: "Hm."}, llm.Text{Text: "I look."}, llm.ToolCall{ID: "call_1", Name: "read_file", Arguments: `{"path":"a.go"}`}}, Usage: llm.Usage{Input: 10, Output: 5, CacheRead: 4}}
	server := llmtest.StartServer(llmtest.ServerConfig{Script: &llmtest.Script{Reply: func(int, *llm.Request) llmtest.Turn { return turn }}, Key: awsSecret})
	defer server.Close()
	client := bedrockruntime.NewFromConfig(awsConfig(server.BaseURL("bedrock")))
	model := aws.String("us.amazon.nova-x-v1:0")
	messages := []types.Message{{Role: types.ConversationRoleUser, Content: []types.ContentBlock{&types.ContentBlockMemberText{Value: "look"}}}}
	tools := &types.ToolConfiguration{Tools: []types.Tool{&types.ToolMemberToolSpec{Value: types.ToolSpecification{Name: aws.String("read_file"),
		InputSchema: &types.ToolInputSchemaMemberJson{Value: document.NewLazyDocument(map[string]any{"type": "object"})}}}}}
	whole, err := client.Converse(t.Context(), &bedrockruntime.ConverseInput{ModelId: model, Messages: messages, ToolConfig: tools})
	if err != nil {
		t.Fatalf("%v (violations: %v)", err, server.Violations())
	}
	content := whole.Output.(*types.ConverseOutputMemberMessage).Value.Content
	if len(content) != 3 || content[1].(*types.ContentBlockMemberText).Value != "I look." || whole.StopReason != types.StopReasonToolUse || *whole.Usage.InputTokens != 6 {
		t.Errorf("the whole answer is %+v", whole)
	}
	streamed, err := client.ConverseStream(t.Context(), &bedrockruntime.ConverseStreamInput{ModelId: model, Messages: messages, ToolConfig: tools})
	if err != nil {
		t.Fatalf("%v (violations: %v)", err, server.Violations())
	}
	text, arguments, stop := "", "", types.StopReason("")
	for ev := range streamed.GetStream().Events() {
		switch ev := ev.(type) {
		case *types.ConverseStreamOutputMemberContentBlockDelta:
			switch d := ev.Value.Delta.(type) {
			case *types.ContentBlockDeltaMemberText:
				text += d.Value
			case *types.ContentBlockDeltaMemberToolUse:
				arguments += *d.Value.Input
			}
		case *types.ConverseStreamOutputMemberMessageStop:
			stop = ev.Value.StopReason
		}
	}
	if err := streamed.GetStream().Err(); err != nil || text != "I look." || arguments != `{"path":"a.go"}` || stop != types.StopReasonToolUse {
		t.Errorf("the stream gives %q, %q, %s, %v", text, arguments, stop, err)
	}
}

// TestBedrock_AnthropicsClientTalksToOurServer does the same for Claude.
func TestBedrock_AnthropicsClientTalksToOurServer(t *testing.T) {
	server := llmtest.StartServer(llmtest.ServerConfig{Script: &llmtest.Script{Reply: func(int, *llm.Request) llmtest.Turn { return llmtest.Say("I look.") }}, Key: awsSecret})
	defer server.Close()
	client := sdk.NewClient(claude.WithConfig(awsConfig("")), option.WithBaseURL(server.BaseURL("bedrock")), option.WithMaxRetries(0))
	params := sdk.MessageNewParams{Model: "us.anthropic.claude-x-v1:0", MaxTokens: 100, Messages: []sdk.MessageParam{sdk.NewUserMessage(sdk.NewTextBlock("look"))}}
	whole, err := client.Messages.New(t.Context(), params)
	if err != nil || whole.Content[0].Text != "I look." {
		t.Fatalf("the whole answer is %+v, %v (violations: %v)", whole, err, server.Violations())
	}
	stream := client.Messages.NewStreaming(t.Context(), params)
	var message sdk.Message
	for stream.Next() {
		if err := message.Accumulate(stream.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.Err(); err != nil || message.Content[0].Text != "I look." {
		t.Errorf("the stream gives %+v, %v (violations: %v)", message, err, server.Violations())
	}
}
