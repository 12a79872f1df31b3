package llm_test

import (
	"testing"
	"time"

	"github.com/reins-agent/reins/llm"
)

func TestResolve_AliasesMeanCurrentModels(t *testing.T) {
	for _, tt := range []struct{ provider, name, want string }{
		{"", "opus", "anthropic/claude-opus-5-5"},
		{"", "sonnet", "anthropic/claude-sonnet-5-5"},
		{"", "haiku", "anthropic/claude-haiku-5-5"},
		{"", "fable", "anthropic/claude-fable-5-2"},
		{"", "gpt", "openai/gpt-6.1-sol"},
		{"", "gemini-flash", "gemini/gemini-3.8-flash"},
		{"", "gemini-pro", "gemini/gemini-3.1-pro-preview"},
		{"", "kimi", "moonshot/kimi-k3.1-pro"},
		{"anthropic", "opus", "anthropic/claude-opus-5-5"},
		{"vertex", "opus", "anthropic/claude-opus-5-5"},
		{"vertex", "gemini-flash", "gemini/gemini-3.8-flash"},
		{"vertex", "gpt", ""},
		{"openai", "opus", ""},
		{"chat", "opus", ""}, // the server may have its own names
		{"local", "gpt", ""},
		{"", "claude-opus-5-5", ""}, // a model, not an alias
		{"", "Opus", ""},
		{"", "", ""},
	} {
		m, ok := llm.DefaultCatalogue().Resolve(tt.provider, tt.name)
		got := ""
		if ok {
			got = m.Provider + "/" + m.ID
		}
		if got != tt.want {
			t.Errorf("%s of %q is %q, want %q", tt.name, tt.provider, got, tt.want)
		}
	}
}

func TestAliases_AllResolveToModelsThatStay(t *testing.T) {
	c := llm.DefaultCatalogue()
	for _, a := range c.Aliases() {
		for _, provider := range []string{"", a.Provider} {
			if m, ok := c.Resolve(provider, a.Name); !ok || m.ID != a.Model || m.Retired || m.Ends != "" {
				t.Errorf("%s of %q is %s (%v), want %s, which must not end", a.Name, provider, m.ID, ok, a.Model)
			}
		}
	}
}

// A configured model may have the same name as an alias.
func TestResolve_ModelsWinOverAliases(t *testing.T) {
	c, err := llm.DefaultCatalogue().Extend(llm.Model{ID: "opus", Provider: "gate"})
	if err != nil {
		t.Fatal(err)
	}
	for _, provider := range []string{"", "gate"} {
		if m, ok := c.Resolve(provider, "opus"); ok {
			t.Errorf("opus of %q is %s, want the model of that name", provider, m.ID)
		}
	}
	if m, ok := c.Resolve("anthropic", "opus"); !ok || m.ID != "claude-opus-5-5" {
		t.Errorf("opus of anthropic is %q (%v)", m.ID, ok)
	}
	over := catalogue(t, `{"models":[{"id":"house-1","provider":"acme"}],"aliases":[{"name":"opus","provider":"acme","model":"house-1"}]}`)
	merged, err := llm.DefaultCatalogue().Merge(over)
	if err != nil {
		t.Fatal(err)
	}
	if m, _ := merged.Resolve("", "opus"); m.ID != "house-1" {
		t.Errorf("opus is %q, want the model of the added alias", m.ID)
	}
}

// The rules of unknown models must not be lost when models are added.
func TestExtend_KeepsFamilies(t *testing.T) {
	c, err := llm.DefaultCatalogue().Extend(llm.Model{ID: "own", Provider: "gate"}, llm.Model{ID: "gpt-5", Provider: "openai", Name: "replaced"})
	if err != nil {
		t.Fatal(err)
	}
	if m, ok := c.Like("anthropic", "claude-opus-7"); !ok || !m.Rules.PrefixCheck {
		t.Errorf("got %+v, %v, want the rules of the family", m, ok)
	}
	if _, err := llm.DefaultCatalogue().Extend(model(t, "openai", "gpt-6.1-sol")); err != nil { // openrouter has openai/gpt-6.1-sol
		t.Error(err)
	}
	if m, ok := c.Lookup("", "openai/gpt-6.1-sol"); !ok || m.Provider != "openai" {
		t.Errorf("openai/gpt-6.1-sol is %+v, want the model of OpenAI", m)
	}
	if m, _ := c.Exact("openai", "gpt-5"); m.Name != "replaced" {
		t.Errorf("got %q, want the new model", m.Name)
	}
}

func TestEnded_CountsDays(t *testing.T) {
	day := func(s string) time.Time {
		d, err := time.Parse(time.DateOnly, s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	m := llm.Model{Ends: "2026-12-11"}
	if m.Ended(day("2026-12-11").Add(-time.Second)) || !m.Ended(day("2026-12-11")) || !m.Ended(day("2027-01-01")) {
		t.Error("a model must end at the beginning of its day")
	}
	if (llm.Model{}).Ended(day("2999-01-01")) || !(llm.Model{Retired: true}).Ended(day("2020-01-01")) {
		t.Error("only retired models have ended without a day")
	}
}

func TestSuccessor_IsTheNewestInTheFamily(t *testing.T) {
	for _, tt := range []struct{ provider, id, want string }{
		{"anthropic", "claude-sonnet-4-5", "claude-sonnet-5-5"},
		{"anthropic", "claude-opus-4-1", "claude-opus-5-5"},
		{"openai", "gpt-5", "gpt-6.1-sol"},
		{"openai", "o3", "gpt-6.1-sol"},
		{"minimax", "MiniMax-M2.5", "MiniMax-M3.1-Flash"},
		{"anthropic", "claude-opus-5-5", ""},
	} {
		next, ok := llm.DefaultCatalogue().Successor(model(t, tt.provider, tt.id))
		if ok != (tt.want != "") || ok && next.ID != tt.want {
			t.Errorf("after %s comes %q (%v), want %q", tt.id, next.ID, ok, tt.want)
		}
	}
}
