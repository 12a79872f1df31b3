package llmtest

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm/bedrock"
)

func TestConverse_RefusesLikeTheAPI(t *testing.T) {
	const (
		user = `{"role":"user","content":[{"text":"hi"}]}`
		call = `{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"f","input":{}}}]}`
		done = `{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"ok"}]}}]}`
		f    = `,"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object"}}}}]}`
	)
	request := func(extra string, messages ...string) string {
		return `{"messages":[` + strings.Join(messages, ",") + `]` + extra + `}`
	}
	for _, tt := range []struct{ name, body, want string }{
		{"valid", request(f, user, call, done), ""},
		{"no messages", request(""), "messages"},
		{"unknown member", request(`,"foo":1`, user), "foo"},
		{"unknown setting", request(`,"inferenceConfig":{"topK":1}`, user), "topK"},
		{"blank instruction", request(`,"system":[{"text":" "}]`, user), "blank"},
		{"two users", request("", user, user), "alternate"},
		{"begins with the assistant", request("", `{"role":"assistant","content":[{"text":"x"}]}`, user), "start with a user"},
		{"unknown role", request("", `{"role":"tool","content":[{"text":"x"}]}`), "role"},
		{"no content", request("", `{"role":"user","content":[]}`), "empty"},
		{"blank text", request("", `{"role":"user","content":[{"text":"\n"}]}`), "blank"},
		{"empty block", request("", `{"role":"user","content":[{}]}`), "exactly one"},
		{"unknown block", request("", `{"role":"user","content":[{"foo":1}]}`), "foo"},
		{"calls without tools", request("", user, call, done), "toolConfig"},
		{"call without a result", request(f, user, call, user), "toolResult"},
		{"last call without a result", request(f, user, call), "toolResult"},
		{"result without a call", request(f, done), "unknown toolUse"},
		{"call of the user", request(f, strings.Replace(call, "assistant", "user", 1)), "toolUse"},
		{"long id", request(f, user, strings.ReplaceAll(call, `"a"`, `"`+strings.Repeat("a", 65)+`"`), done), "toolUse"},
		{"unknown status", request(f, user, call, strings.Replace(done, `"content":[{"text"`, `"status":"bad","content":[{"text"`, 1)), "status"},
		{"tool twice", request(strings.Replace(f, `[{"toolSpec"`, `[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object"}}}},{"toolSpec"`, 1), user), "duplicate"},
		{"no description", request(strings.Replace(f, `"name":"f",`, `"name":"f","description":"",`, 1), user), "description"},
		{"no schema", request(strings.Replace(f, `"type":"object"`, ``, 1), user), "object"},
		{"no tools", request(`,"toolConfig":{"tools":[]}`, user), "at least 1"},
		{"choice of an unknown tool", request(strings.Replace(f, `"tools"`, `"toolChoice":{"tool":{"name":"g"}},"tools"`, 1), user), "not in"},
		{"unknown format", request("", `{"role":"user","content":[{"image":{"format":"bmp","source":{"bytes":""}}}]}`), "format"},
		{"bad base64", request("", `{"role":"user","content":[{"image":{"format":"png","source":{"bytes":"!"}}}]}`), "base64"},
	} {
		err := Validate(bedrock.Name, []byte(tt.body))
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want an error with %q", tt.name, err, tt.want)
		}
	}
}

func TestClaude_OnCloudPlatformsHasItsOwnForm(t *testing.T) {
	const rest = `"max_tokens":1,"messages":[{"role":"user","content":"hi"}]}`
	invoke, stream, predict := "/model/x/invoke", "/model/x/invoke-with-response-stream", "/v1/projects/p/locations/l/publishers/anthropic/models/x:streamRawPredict"
	for _, tt := range []struct {
		protocol         hostedClaude
		path, body, want string
	}{
		{bedrockClaude, invoke, `{"anthropic_version":"bedrock-2023-05-31","anthropic_beta":["b"],` + rest, ""},
		{bedrockClaude, stream, `{"anthropic_version":"bedrock-2023-05-31",` + rest, ""},
		{bedrockClaude, invoke, `{` + rest, "anthropic_version"},
		{bedrockClaude, invoke, `{"anthropic_version":"bedrock-2023-05-31","model":"m",` + rest, "model"},
		{bedrockClaude, stream, `{"anthropic_version":"bedrock-2023-05-31","stream":true,` + rest, "stream"},
		{bedrockClaude, invoke, `{"anthropic_version":"bedrock-2023-05-31","foo":1,` + rest, "foo"},
		{vertexClaude, predict, `{"anthropic_version":"vertex-2023-10-16","stream":true,` + rest, ""},
		{vertexClaude, predict, `{"anthropic_version":"vertex-2023-10-16",` + rest, "stream"},
		{vertexClaude, predict, `{"anthropic_version":"bedrock-2023-05-31","stream":true,` + rest, "anthropic_version"},
	} {
		r := httptest.NewRequest("POST", tt.path, nil)
		err := tt.protocol.validate(r, []byte(tt.body))
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) || !tt.protocol.match(r) {
			t.Errorf("%s %s: got %v, want an error with %q", tt.path, tt.body, err, tt.want)
		}
	}
}

func TestAWS_RefusesChangedSignedRequests(t *testing.T) {
	body := []byte(`{"x":1}`)
	signed := func() *http.Request {
		r := httptest.NewRequest("POST", "http://h/model/a%3A0/invoke", bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		key := bedrock.Credentials{AccessKeyID: "ID", SecretAccessKey: "secret", SessionToken: "token"}
		if err := bedrock.Sign("us-east-1", func(context.Context) (bedrock.Credentials, error) { return key, nil })(r, body); err != nil {
			t.Fatal(err)
		}
		r.RequestURI = r.URL.RequestURI()
		return r
	}
	if !awsAuthorized(signed(), body, "secret") || !awsAuthorized(signed(), body, "") {
		t.Fatal("a signed request is refused")
	}
	for name, change := range map[string]func(r *http.Request){
		"path":         func(r *http.Request) { r.RequestURI = "/model/b/invoke" },
		"query":        func(r *http.Request) { r.RequestURI += "?x=1" },
		"method":       func(r *http.Request) { r.Method = "GET" },
		"host":         func(r *http.Request) { r.Host = "other" },
		"token":        func(r *http.Request) { r.Header.Set("X-Amz-Security-Token", "other") },
		"no token":     func(r *http.Request) { r.Header.Del("X-Amz-Security-Token") },
		"new header":   func(r *http.Request) { r.Header.Set("X-Amz-Other", "1") },
		"content type": func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") },
		"date":         func(r *http.Request) { r.Header.Set("X-Amz-Date", "20150830T123600Z") },
		"no date":      func(r *http.Request) { r.Header.Del("X-Amz-Date") },
		"signature":    func(r *http.Request) { r.Header.Set("Authorization", r.Header.Get("Authorization")+"0") },
		"nothing":      func(r *http.Request) { r.Header.Del("Authorization") },
	} {
		r := signed()
		change(r)
		if awsAuthorized(r, body, "secret") {
			t.Errorf("a request with another %s is accepted", name)
		}
	}
	if awsAuthorized(signed(), []byte(`{"x":2}`), "secret") || awsAuthorized(signed(), body, "other") {
		t.Error("a request with another body or key is accepted")
	}
}
