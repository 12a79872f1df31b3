package connect_test

import (
	"bytes"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/connect"
	"github.com/reins-agent/reins/llm/llmtest"
)

// sent opens a provider, makes a call and returns the request that would be sent.
func sent(t *testing.T, provider, model string, e env) *http.Request {
	t.Helper()
	var got *http.Request
	client := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		got = r
		return nil, errors.New("not sent")
	})}
	c, err := connect.Open(t.Context(), provider, connect.Config{Getenv: e.get, HTTPClient: client, Retry: llm.RetryPolicy{Retries: -1}})
	if err != nil {
		t.Fatalf("%s: %v", provider, err)
	}
	if _, err := c.Complete(t.Context(), request("", model)); llm.KindOf(err) != llm.ErrNetwork {
		t.Fatalf("%s: %v", provider, err)
	}
	return got
}

func TestCloud_URLsAndCredentials(t *testing.T) {
	aws := env{"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "s", "AWS_REGION": "us-west-2", "AWS_DEFAULT_REGION": "no"}
	token := env{"AWS_BEARER_TOKEN_BEDROCK": "secret", "AWS_REGION": "cn-north-1"}
	google := env{"GOOGLE_OAUTH_ACCESS_TOKEN": "secret", "GOOGLE_CLOUD_PROJECT": "p"}
	regional := env{"GOOGLE_OAUTH_ACCESS_TOKEN": "secret", "GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "europe-west4"}
	azure := env{"AZURE_OPENAI_ENDPOINT": "https://res.openai.azure.com/", "AZURE_OPENAI_API_KEY": "secret"}
	v1 := env{"AZURE_OPENAI_ENDPOINT": "https://res.services.ai.azure.com/openai/v1/", "AZURE_OPENAI_API_KEY": "secret", "AZURE_OPENAI_API_VERSION": "preview"}
	entra := env{"AZURE_OPENAI_ENDPOINT": "res", "AZURE_OPENAI_AD_TOKEN": "secret", "AZURE_OPENAI_API_VERSION": "2025-04-01-preview"}
	named := env{"AZURE_RESOURCE_NAME": "res", "AZURE_API_KEY": "secret"}
	for _, tt := range []struct {
		provider, model    string
		env                env
		url, header, value string
	}{
		{"bedrock", "us.anthropic.claude-x-v1:0", aws, "https://bedrock-runtime.us-west-2.amazonaws.com/model/us.anthropic.claude-x-v1%3A0/invoke-with-response-stream", "Authorization", "AWS4-HMAC-SHA256 Credential=AKID/"},
		{"bedrock", "amazon.nova-pro-v1:0", aws, "https://bedrock-runtime.us-west-2.amazonaws.com/model/amazon.nova-pro-v1%3A0/converse-stream", "Authorization", "AWS4-HMAC-SHA256 Credential=AKID/"},
		{"bedrock", "amazon.nova-pro-v1:0", token, "https://bedrock-runtime.cn-north-1.amazonaws.com.cn/model/amazon.nova-pro-v1%3A0/converse-stream", "Authorization", "Bearer secret"},
		{"bedrock", "anthropic.claude-x", token, "https://bedrock-runtime.cn-north-1.amazonaws.com.cn/anthropic/v1/messages", "Authorization", "Bearer secret"},
		{"bedrock", "anthropic.claude-opus-4-6-v1", token, "https://bedrock-runtime.cn-north-1.amazonaws.com.cn/model/anthropic.claude-opus-4-6-v1/invoke-with-response-stream", "Authorization", "Bearer secret"},
		{"vertex", "gemini-x", google, "https://aiplatform.googleapis.com/v1beta1/projects/p/locations/global/publishers/google/models/gemini-x:streamGenerateContent?alt=sse", "Authorization", "Bearer secret"},
		{"vertex", "claude-x@1", regional, "https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/europe-west4/publishers/anthropic/models/claude-x@1:streamRawPredict", "Authorization", "Bearer secret"},
		{"azure", "d", azure, "https://res.openai.azure.com/openai/v1/responses", "Api-Key", "secret"},
		{"azure", "d", named, "https://res.openai.azure.com/openai/v1/responses", "Api-Key", "secret"},
		{"azure", "d", v1, "https://res.services.ai.azure.com/openai/v1/responses?api-version=preview", "Api-Key", "secret"},
		{"azure", "d", entra, "https://res.openai.azure.com/openai/responses?api-version=2025-04-01-preview", "Authorization", "Bearer secret"},
		{"azure-chat", "d", azure, "https://res.openai.azure.com/openai/v1/chat/completions", "Api-Key", "secret"},
		{"azure-chat", "d", v1, "https://res.services.ai.azure.com/openai/v1/chat/completions?api-version=preview", "Api-Key", "secret"},
		{"azure-chat", "d", entra, "https://res.openai.azure.com/openai/deployments/d/chat/completions?api-version=2025-04-01-preview", "Authorization", "Bearer secret"},
	} {
		r := sent(t, tt.provider, tt.model, tt.env)
		if r.URL.String() != tt.url || !strings.HasPrefix(r.Header.Get(tt.header), tt.value) {
			t.Errorf("%s %s:\n got %s with %v\nwant %s", tt.provider, tt.model, r.URL, r.Header, tt.url)
		}
		for _, name := range []string{"Authorization", "Api-Key", "X-Api-Key", "X-Goog-Api-Key"} {
			if name != tt.header && r.Header.Get(name) != "" {
				t.Errorf("%s: the header %s is %s", tt.provider, name, r.Header.Get(name))
			}
		}
	}
}

func TestCloud_ErrorNamesTheMissingVariable(t *testing.T) {
	for _, tt := range []struct {
		provider string
		env      env
		says     string
	}{
		{"bedrock", env{}, "set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"},
		{"bedrock", env{"AWS_BEARER_TOKEN_BEDROCK": "k"}, "set AWS_REGION"},
		{"bedrock", env{"AWS_ACCESS_KEY_ID": "k", "AWS_REGION": "us-east-1"}, "AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not"},
		{"bedrock", env{"AWS_BEARER_TOKEN_BEDROCK": "k", "AWS_REGION": "evil.example/"}, `AWS_REGION is "evil.example/", which is not a region`},
		{"bedrock", env{"AWS_BEARER_TOKEN_BEDROCK": "k", "AWS_REGION": "us-east-1", "REINS_BEDROCK_API": "soap"}, `REINS_BEDROCK_API is "soap"; use messages, invoke or mantle`},
		{"bedrock", env{"AWS_PROFILE": "none", "HOME": "/nowhere"}, `AWS_PROFILE is "none"`},
		{"vertex", env{"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_APPLICATION_CREDENTIALS": "/nowhere/key.json"}, "/nowhere/key.json"},
		{"vertex", env{"GOOGLE_OAUTH_ACCESS_TOKEN": "k"}, "set GOOGLE_CLOUD_PROJECT"},
		{"vertex", env{"GOOGLE_OAUTH_ACCESS_TOKEN": "k", "GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "evil.example/"}, "GOOGLE_CLOUD_LOCATION"},
		{"azure", env{"AZURE_OPENAI_API_KEY": "k"}, "set AZURE_OPENAI_ENDPOINT"},
		{"azure", env{"AZURE_OPENAI_ENDPOINT": "https://x"}, "AZURE_OPENAI_API_KEY or AZURE_OPENAI_AD_TOKEN"},
		{"azure-chat", env{}, "provider azure-chat is not configured: set AZURE_OPENAI_ENDPOINT"},
	} {
		_, err := connect.Open(t.Context(), tt.provider, connect.Config{Getenv: tt.env.get})
		if llm.KindOf(err) != llm.ErrConfiguration || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s with %v: got %v, want one sentence with %q", tt.provider, tt.env, err, tt.says)
		}
	}
	t.Setenv("PATH", t.TempDir()) // without gcloud
	_, err := connect.Open(t.Context(), "vertex", connect.Config{Getenv: env{"GOOGLE_CLOUD_PROJECT": "p", "HOME": "/nowhere"}.get})
	if llm.KindOf(err) != llm.ErrConfiguration || !strings.Contains(err.Error(), "gcloud auth application-default login") || !strings.Contains(err.Error(), "GOOGLE_OAUTH_ACCESS_TOKEN") {
		t.Errorf("vertex: got %v", err)
	}
}

func TestFromEnv_ACloudPlatformIsUsedOnlyIfItIsTheDefault(t *testing.T) {
	e := env{"OPENAI_API_KEY": "k", "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "k", "AWS_REGION": "us-east-1", "AZURE_OPENAI_API_KEY": "k", "AZURE_OPENAI_ENDPOINT": "x"}
	for standard, want := range map[string][]string{"": {"openai"}, "openai": {"openai"}, "bedrock": {"openai", "bedrock"}, "azure": {"openai", "azure"}} {
		c, err := connect.FromEnv(connect.Config{Getenv: e.get, Default: standard})
		if err != nil || !slices.Equal(c.Providers(), want) {
			t.Errorf("default %q: got %v, %v; want %v", standard, c.Providers(), err, want)
		}
	}
	if _, err := connect.FromEnv(connect.Config{Getenv: env{"OPENAI_API_KEY": "k"}.get, Default: "bedrock"}); llm.KindOf(err) != llm.ErrConfiguration {
		t.Errorf("a default without credentials: got %v", err)
	}
}

func TestCloud_RefusedCredentialsAreNamedAndNotShown(t *testing.T) {
	server := llmtest.StartServer(llmtest.ServerConfig{Script: llmtest.Play(), Key: "the right secret"})
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	const wrong = "odd secret of mine"
	for _, tt := range []struct {
		provider, model string
		env             env
		says            string
	}{
		{"bedrock", "anthropic.claude", env{"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": wrong, "AWS_REGION": "us-east-1"}, "the credentials are from AWS_ACCESS_KEY_ID"},
		{"bedrock", "amazon.nova", env{"AWS_BEARER_TOKEN_BEDROCK": wrong}, "the key is from AWS_BEARER_TOKEN_BEDROCK"},
		{"vertex", "claude", env{"GOOGLE_OAUTH_ACCESS_TOKEN": wrong, "GOOGLE_CLOUD_PROJECT": "p"}, "the credentials are from GOOGLE_OAUTH_ACCESS_TOKEN"},
		{"vertex", "gemini", env{"CLOUDSDK_AUTH_ACCESS_TOKEN": wrong, "GOOGLE_CLOUD_PROJECT": "p"}, "the credentials are from CLOUDSDK_AUTH_ACCESS_TOKEN"},
		{"azure", "d", env{"AZURE_OPENAI_API_KEY": wrong}, "the key is from AZURE_OPENAI_API_KEY"},
		{"azure-chat", "d", env{"AZURE_OPENAI_AD_TOKEN": wrong}, "the credentials are from AZURE_OPENAI_AD_TOKEN"},
	} {
		var log bytes.Buffer
		c, err := connect.Open(t.Context(), tt.provider, connect.Config{Getenv: tt.env.get, BaseURL: server.BaseURL("anthropic"), HTTPClient: client, Debug: &log})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Complete(t.Context(), request("", tt.model))
		if llm.KindOf(err) != llm.ErrAuthentication || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %v, want an error with %q", tt.provider, err, tt.says)
		}
		if strings.Contains(err.Error()+log.String(), wrong) || !strings.Contains(log.String(), "[redacted]") {
			t.Errorf("%s: the secret is visible in %v or\n%s", tt.provider, err, log.String())
		}
	}
}
