package connect_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/connect"
)

// TestBedrock_ChoosesTheAPIByTheModel pins which models use which API, without a setting and with one.
func TestBedrock_ChoosesTheAPIByTheModel(t *testing.T) {
	const native, invoke, converse = "/anthropic/v1/messages", "/invoke-with-response-stream", "/converse-stream"
	for _, tt := range []struct{ model, api, want string }{
		{"anthropic.claude-sonnet-5-5", "", native},
		{"anthropic.claude-opus-4-7", "", native},
		{"anthropic.claude-fable-5", "", native},
		{"anthropic.claude-sonnet-9", "", native}, // not in the catalogue
		{"claude-sonnet-5-5", "", native},
		{"anthropic.claude-opus-4-6-v1", "", invoke},
		{"anthropic.claude-sonnet-4-6", "", invoke},
		{"anthropic.claude-sonnet-4-5-20250929-v1:0", "", invoke},
		{"anthropic.claude-haiku-4-5-20251001-v1:0", "", invoke},
		{"anthropic.claude-opus-4-20250514-v1:0", "", invoke},
		{"anthropic.claude-3-haiku-20240307-v1:0", "", invoke},
		{"global.anthropic.claude-sonnet-5-5", "", invoke}, // profiles
		{"arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-x", "", invoke},
		{"amazon.nova-pro-v1:0", "", converse},
		{"global.anthropic.claude-sonnet-5-5", "messages", native},
		{"anthropic.claude-opus-4-6-v1", "messages", native},
		{"anthropic.claude-sonnet-5-5", "invoke", invoke},
		{"amazon.nova-pro-v1:0", "messages", converse},
	} {
		r := sent(t, "bedrock", tt.model, env{"AWS_BEARER_TOKEN_BEDROCK": "secret", "AWS_REGION": "us-west-2", "REINS_BEDROCK_API": tt.api})
		if !strings.HasPrefix(r.URL.String(), "https://bedrock-runtime.us-west-2.amazonaws.com/") || !strings.HasSuffix(r.URL.Path, tt.want) {
			t.Errorf("%s with %q goes to %s, want …%s", tt.model, tt.api, r.URL, tt.want)
		}
	}
	r := sent(t, "bedrock", "anthropic.claude-sonnet-5-5", env{"AWS_BEARER_TOKEN_BEDROCK": "secret", "AWS_REGION": "us-west-2", "REINS_BEDROCK_API": "mantle"})
	if got := r.URL.String(); got != "https://bedrock-mantle.us-west-2.api.aws/anthropic/v1/messages" {
		t.Errorf("mantle is at %s", got)
	}
}

// TestBedrock_MessagesAPIIsSignedAndStreams runs a call against a server that checks everything.
func TestBedrock_MessagesAPIIsSignedAndStreams(t *testing.T) {
	const secret = "the secret key"
	for service, api := range map[string]string{"bedrock": "", "bedrock-mantle": "mantle"} {
		var problems []string
		var body []byte
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ = io.ReadAll(r.Body)
			problems = wrongSignature(r, body, secret, "eu-central-1", service)
			if r.Method != http.MethodPost || r.RequestURI != "/anthropic/v1/messages" || r.Header.Get("Anthropic-Version") != "2023-06-01" || r.Header.Get("X-Api-Key") != "" {
				problems = append(problems, fmt.Sprint(r.Method, " ", r.RequestURI, " ", r.Header))
			}
			w.Header().Set("Content-Type", "text/event-stream")
			for _, event := range []string{
				`{"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","model":"x","content":[],"usage":{"input_tokens":3,"output_tokens":1}}}`,
				`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hello"}}`,
				`{"type":"content_block_stop","index":0}`,
				`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}`,
				`{"type":"message_stop"}`,
			} {
				kind, _, _ := strings.Cut(strings.TrimPrefix(event, `{"type":"`), `"`)
				fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, event)
			}
		}))
		client := &http.Client{Transport: &http.Transport{}}
		e := env{"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": secret, "AWS_SESSION_TOKEN": "session", "AWS_REGION": "eu-central-1",
			"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": server.URL, "ANTHROPIC_BEDROCK_MANTLE_BASE_URL": server.URL + "/anthropic", "REINS_BEDROCK_API": api}
		c, err := connect.Open(t.Context(), "bedrock", connect.Config{Getenv: e.get, HTTPClient: client, Retry: llm.RetryPolicy{Retries: -1}})
		if err != nil {
			t.Fatal(err)
		}
		r := request("", "claude-sonnet-5-5")
		r.MaxTokens, r.NoCache = 5, true
		resp, err := c.Complete(t.Context(), r)
		client.CloseIdleConnections()
		server.Close()
		if err != nil || len(problems) > 0 || resp.Text() != "hello" || resp.Provider != "bedrock" {
			t.Errorf("%s: got %+v, %v; problems: %v", service, resp, err, problems)
		}
		if !strings.HasPrefix(string(body), `{"model":"anthropic.claude-sonnet-5-5",`) || !strings.Contains(string(body), `"stream":true`) || strings.Contains(string(body), "anthropic_version") {
			t.Errorf("%s: the body is %s", service, body)
		}
	}
}

// wrongSignature checks a signature as the documentation of Signature Version 4 describes it.
func wrongSignature(r *http.Request, body []byte, secret, region, service string) (problems []string) {
	date := r.Header.Get("X-Amz-Date")
	if len(date) != len("20060102T150405Z") || r.Header.Get("X-Amz-Security-Token") != "session" {
		return []string{"X-Amz-Date or X-Amz-Security-Token is missing"}
	}
	names := "content-type;host;x-amz-date;x-amz-security-token"
	scope := strings.Join([]string{date[:8], region, service, "aws4_request"}, "/")
	canonical := fmt.Sprintf("POST\n%s\n\ncontent-type:application/json\nhost:%s\nx-amz-date:%s\nx-amz-security-token:session\n\n%s\n%x",
		r.URL.Path, r.Host, date, names, sha256.Sum256(body))
	key := []byte("AWS4" + secret)
	for _, part := range []string{date[:8], region, service, "aws4_request", fmt.Sprintf("AWS4-HMAC-SHA256\n%s\n%s\n%x", date, scope, sha256.Sum256([]byte(canonical)))} {
		mac := hmac.New(sha256.New, key)
		_, _ = mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	want := fmt.Sprintf("AWS4-HMAC-SHA256 Credential=AKID/%s, SignedHeaders=%s, Signature=%x", scope, names, key)
	if got := r.Header.Get("Authorization"); got != want {
		problems = append(problems, "Authorization is "+got+", want "+want)
	}
	return problems
}
