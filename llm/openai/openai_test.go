package openai

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
)

// answering starts a server that records its request.
func answering(t *testing.T, got *http.Request) *httptest.Server {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*got = *r
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = w.Write([]byte(`{"id":"r","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"hi"}]}]}`))
	}))
	t.Cleanup(srv.Close)
	return srv
}

func complete(t *testing.T, c Config) {
	t.Helper()
	p := New(c)
	resp, err := llm.Collect(p.Stream(t.Context(), &llm.Request{Model: model, Messages: []llm.Message{llm.UserText("hello")}, Unary: true}))
	if err != nil || resp.Text() != "hi" || resp.Provider != p.Name() {
		t.Fatalf("got %+v, %v", resp, err)
	}
}

func TestNew_SendsTheKeyAsBearerToken(t *testing.T) {
	var got http.Request
	srv := answering(t, &got)
	complete(t, Config{Endpoint: llm.Endpoint{BaseURL: srv.URL + "/v1/", APIKey: "secret"}})
	if got.URL.Path != "/v1/responses" || got.Header.Get("Authorization") != "Bearer secret" {
		t.Errorf("got %s with %v", got.URL, got.Header)
	}
	if name := New(Config{}).Name(); name != "openai" {
		t.Errorf("the provider is named %q", name)
	}
}

func TestAzure_KeyHeaderPathAndVersion(t *testing.T) {
	var got http.Request
	srv := answering(t, &got)
	complete(t, Azure(srv.URL, "secret", "2025-04-01-preview"))
	if got.URL.String() != "/openai/v1/responses?api-version=2025-04-01-preview" ||
		got.Header.Get("api-key") != "secret" || got.Header.Get("Authorization") != "" {
		t.Errorf("got %s with %v", got.URL, got.Header)
	}
	for endpoint, want := range map[string]string{
		"my-resource":                         "https://my-resource.openai.azure.com/openai/v1",
		"https://a.openai.azure.com/":         "https://a.openai.azure.com/openai/v1",
		"b.services.ai.azure.com":             "https://b.services.ai.azure.com/openai/v1",
		"https://gateway.example.com/openai/": "https://gateway.example.com/openai",
	} {
		if got := Azure(endpoint, "k", ""); got.BaseURL != want || got.Query != "" {
			t.Errorf("%s: got %s?%s, want %s", endpoint, got.BaseURL, got.Query, want)
		}
	}
}

func TestReasons_AsksTheCatalogueFirst(t *testing.T) {
	c, err := llm.ReadCatalogue(strings.NewReader(`{"models":[{"id":"plain-1","provider":"openai"},{"id":"gpt-4-thinking","provider":"openai","reasoning":true}]}`))
	if err != nil {
		t.Fatal(err)
	}
	d := NewDialect(Config{Catalogue: c}).(*dialect)
	for name, want := range map[string]bool{
		"plain-1": false, "gpt-4-thinking": true, "gpt-4.1-mini": false, "openai/gpt-4o": false, "gpt-7": true, "o3": true,
	} {
		if d.reasons(name) != want {
			t.Errorf("reasons(%q) is %v", name, !want)
		}
	}
}
