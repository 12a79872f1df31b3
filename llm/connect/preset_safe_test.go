package connect_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/connect"
)

// Prices differ between providers.
func TestServing_CopiedModelsHaveNoPrice(t *testing.T) {
	c, err := connect.Config{}.Serving("zai-coding-plan")
	if err != nil {
		t.Fatal(err)
	}
	if m, ok := c.Exact("zai", "glm-5.3"); !ok || m.Price == nil {
		t.Fatalf("glm-5.3 of zai is %+v, %v, want a price", m, ok)
	}
	if m, ok := c.Exact("zai-coding-plan", "glm-5.3"); !ok || m.Price != nil {
		t.Errorf("glm-5.3 of the plan: %v, with the price %v, want none", ok, m.Price)
	}
}

func TestPreset_UserHeadersWin(t *testing.T) {
	srv := newRecorder(t, 400)
	for given, want := range map[string]string{"": "3600", "5": "5"} {
		conf := connect.Config{Getenv: env{"NVIDIA_API_KEY": "k"}.get, HTTPClient: srv.Client(), BaseURL: srv.URL}
		if given != "" {
			conf.Header = http.Header{"Nvcf-Poll-Seconds": {given}}
		}
		c, err := connect.Open(t.Context(), "nvidia", conf)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Complete(t.Context(), request("", "m"))
		if got := srv.last(t).Header.Get("NVCF-POLL-SECONDS"); got != want {
			t.Errorf("the header is %q, want %q", got, want)
		}
	}
}

// A value must not move the key to another host.
func TestPreset_VariablesCannotChangeTheHost(t *testing.T) {
	for _, value := range []string{"evil.example/", "evil.example?", "evil.example#", "user@evil.example", `evil.example\`, "evil example"} {
		e := env{"SNOWFLAKE_CORTEX_PAT": "k", "SNOWFLAKE_ACCOUNT": "x" + value + "y"}
		_, err := connect.Open(t.Context(), "snowflake-cortex", connect.Config{Getenv: e.get})
		if llm.KindOf(err) != llm.ErrConfiguration || !strings.Contains(err.Error(), "SNOWFLAKE_ACCOUNT is") {
			t.Errorf("%q: got %v, want an error", value, err)
		}
	}
}

// All models go to the address that the user gave, even models with their own address.
func TestPreset_ABaseURLIsForAllModels(t *testing.T) {
	for _, model := range []string{"anthropic/claude-sonnet-5.5", "openai/gpt-6.1-sol", "other/m"} {
		var got []string
		client := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			got = append(got, r.URL.String())
			return nil, errors.New("not sent")
		})}
		conf := connect.Config{Getenv: env{"AI_GATEWAY_API_KEY": "k"}.get, HTTPClient: client, BaseURL: "https://mine.example/v1", Retry: llm.RetryPolicy{Retries: -1}}
		c, err := connect.Open(t.Context(), "vercel", conf)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Complete(t.Context(), request("", model))
		if want := []string{"https://mine.example/v1/chat/completions"}; !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", model, got, want)
		}
	}
}
