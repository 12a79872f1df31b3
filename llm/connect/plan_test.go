package connect

import (
	"errors"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/openai"
)

func TestOpen_Plans(t *testing.T) {
	var got llm.Endpoint
	plan := Plan{"plan", func(e llm.Endpoint, c *llm.Catalogue) (llm.Provider, error) {
		got = e
		return openai.New(openai.Config{Endpoint: e, Catalogue: c}), nil
	}}
	c := Config{Getenv: func(string) string { return "" }, Plans: []Plan{plan}, BaseURL: "https://base.example"}
	client, err := Open(t.Context(), "plan", c)
	if err != nil || strings.Join(client.Providers(), " ") != "plan" || got.Name != "plan" || got.BaseURL != "https://base.example" || got.HTTPClient == nil {
		t.Errorf("got %v, %+v", err, got)
	}
	c.Default = "plan"
	if client, err = FromEnv(c); err != nil || strings.Join(client.Providers(), " ") != "plan" || got.BaseURL != "" {
		t.Errorf("FromEnv: got %v, %+v", err, got)
	}
	c.Plans[0].Open = func(llm.Endpoint, *llm.Catalogue) (llm.Provider, error) { return nil, errors.New("not signed in") }
	if _, err := Open(t.Context(), "plan", c); err == nil || err.Error() != "not signed in" {
		t.Errorf("got %v, want the plan's error", err)
	}
	c.Entries = []Entry{{Name: "plan", BaseURL: "https://entry.example"}}
	if _, err := Open(t.Context(), "plan", c); err != nil {
		t.Errorf("an entry does not replace a plan: %v", err)
	}
}
