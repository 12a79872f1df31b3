package llmtest_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/anthropic"
	"github.com/reins-agent/reins/llm/llmtest"
)

const cassetteKey = "sk-cassette-0123456789abcdef"

func provider(baseURL string, rt http.RoundTripper) llm.Provider {
	return anthropic.New(anthropic.Config{Endpoint: llm.Endpoint{BaseURL: baseURL, APIKey: cassetteKey, HTTPClient: &http.Client{Transport: rt}}})
}

func ask(p llm.Provider, t *testing.T, text string) (*llm.Response, error) {
	return llm.Collect(p.Stream(t.Context(), &llm.Request{Model: "claude-x", MaxTokens: 100, Messages: []llm.Message{llm.UserText(text)}}))
}

// record records two calls to a server and returns the cassette's path and the base URL.
func record(t *testing.T) (path, baseURL string) {
	t.Helper()
	server := llmtest.NewServer(llmtest.Play(llmtest.Say("one, and your key is "+cassetteKey), llmtest.Say("two")))
	defer server.Close()
	rec := &llmtest.Recorder{Transport: &http.Transport{DisableKeepAlives: true}, Secrets: []string{"hush-hush"}}
	p := provider(server.BaseURL(anthropic.Name), rec)
	for _, q := range []string{"first, hush-hush", "second"} {
		if _, err := ask(p, t, q); err != nil {
			t.Fatal(err)
		}
	}
	path = filepath.Join(t.TempDir(), "cassette.json")
	if err := rec.Save(path); err != nil {
		t.Fatal(err)
	}
	return path, server.BaseURL(anthropic.Name)
}

func TestCassette_ReplaysRecordedExchangesInAnyOrder(t *testing.T) {
	path, baseURL := record(t)
	replay, err := llmtest.LoadCassette(path)
	if err != nil {
		t.Fatal(err)
	}
	p := provider(baseURL, replay)
	two, err := ask(p, t, "second")
	if err != nil || two.Text() != "two" {
		t.Fatalf("got %v, error %v; want the second answer", two, err)
	}
	one, err := ask(p, t, "first, [redacted]")
	if err != nil || !strings.HasPrefix(one.Text(), "one") {
		t.Fatalf("got %v, error %v; want the first answer", one, err)
	}
	if n := replay.Unplayed(); n != 0 {
		t.Errorf("got %d exchanges left, want none", n)
	}
}

func TestCassette_ContainsNoSecrets(t *testing.T) {
	path, _ := record(t)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{cassetteKey, "hush-hush", "X-Api-Key", "x-api-key"} {
		if strings.Contains(string(b), secret) {
			t.Errorf("the cassette contains %q", secret)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v, error %v; want 0600", info.Mode(), err)
	}
}

func TestCassette_AnUnknownRequestFailsWithTheDifference(t *testing.T) {
	path, baseURL := record(t)
	replay, err := llmtest.LoadCassette(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = ask(provider(baseURL, replay), t, "third")
	if err == nil || !strings.Contains(err.Error(), "not in the cassette") ||
		!strings.Contains(err.Error(), `"text": "first, [redacted]"`) || !strings.Contains(err.Error(), `"text": "third"`) {
		t.Errorf("got error %v, want the difference", err)
	}
}

func TestCassette_DamagedFileIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bad.json")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := llmtest.LoadCassette(path); err == nil || !strings.Contains(err.Error(), "is not a cassette") {
		t.Errorf("got error %v, want one that says so", err)
	}
}
