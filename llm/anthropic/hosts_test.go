package anthropic

import (
	"encoding/json"
	"testing"

	"github.com/reins-agent/reins/llm"
)

func TestHosts_RewriteTheCall(t *testing.T) {
	request := func() *llm.Request {
		return &llm.Request{Model: "claude@1", MaxTokens: 5, NoCache: true, Messages: []llm.Message{hi},
			Options: map[string]llm.Options{Name: {Betas: []string{"b1", "b2"}}}}
	}
	const messages = `"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]`
	tests := []struct {
		name       string
		rewrite    func(*llm.Request, *llm.Call) error
		model      string
		unary      bool
		path, body string
		stream     bool
	}{
		{"Vertex, stream", Vertex("p", "eu"), "claude@1", false, "/projects/p/locations/eu/publishers/anthropic/models/claude@1:streamRawPredict",
			`{"anthropic_version":"vertex-2023-10-16","max_tokens":5,"stream":true,` + messages + `}`, true},
		{"Vertex, unary", Vertex("p", "eu"), "claude@1", true, "/projects/p/locations/eu/publishers/anthropic/models/claude@1:rawPredict",
			`{"anthropic_version":"vertex-2023-10-16","max_tokens":5,` + messages + `}`, false},
		{"Bedrock, stream", Bedrock(), "us.anthropic.c-v1:0", false, "/model/us.anthropic.c-v1%3A0/invoke-with-response-stream",
			`{"anthropic_version":"bedrock-2023-05-31","anthropic_beta":["b1","b2"],"max_tokens":5,` + messages + `}`, true},
		{"Bedrock, unary", Bedrock(), "arn:aws:x/y", true, "/model/arn%3Aaws%3Ax%2Fy/invoke",
			`{"anthropic_version":"bedrock-2023-05-31","anthropic_beta":["b1","b2"],"max_tokens":5,` + messages + `}`, false},
		{"Bedrock's Messages, stream", BedrockMessages(), "anthropic.claude-x-5", false, "/anthropic/v1/messages",
			`{"model":"anthropic.claude-x-5","max_tokens":5,"stream":true,` + messages + `}`, true},
		{"Bedrock's Messages, with Anthropic's name", BedrockMessages(), "claude-x-5", true, "/anthropic/v1/messages",
			`{"model":"anthropic.claude-x-5","max_tokens":5,` + messages + `}`, false},
	}
	for _, tt := range tests {
		r := request()
		r.Model, r.Unary = tt.model, tt.unary
		call := encode(t, r)
		if err := tt.rewrite(r, call); err != nil {
			t.Fatal(err)
		}
		if call.Path != tt.path || call.Stream != tt.stream || string(call.Body.Bytes()) != tt.body {
			t.Errorf("%s: the call is %s %v\n%s", tt.name, call.Path, call.Stream, call.Body.Bytes())
		}
	}
}

func TestHosts_RewriteABodyThatIsAllOptions(t *testing.T) {
	r := &llm.Request{Model: "m", Options: map[string]llm.Options{Name: {Body: map[string]json.RawMessage{"messages": json.RawMessage(`[]`)}}}}
	call := encode(t, r)
	if err := Bedrock()(r, call); err != nil {
		t.Fatal(err)
	}
	if want := `{"anthropic_version":"bedrock-2023-05-31","max_tokens":32000,"messages":[]}`; string(call.Body.Bytes()) != want {
		t.Errorf("got %s, want %s", call.Body.Bytes(), want)
	}
}
