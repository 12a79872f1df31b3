package llm_test

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
)

func TestCatalogue_EveryModelIsSane(t *testing.T) {
	cutoff := regexp.MustCompile(`^20\d\d-(0[1-9]|1[0-2])$`)
	for _, m := range llm.DefaultCatalogue().Models() {
		t.Run(m.Provider+"/"+m.ID, func(t *testing.T) {
			if m.Name == "" || m.ContextWindow <= 0 || m.MaxOutput <= 0 {
				t.Errorf("name %q, context window %d or max output %d is missing", m.Name, m.ContextWindow, m.MaxOutput)
			}
			if m.MaxOutput > m.ContextWindow {
				t.Errorf("max output %d is over the context window %d", m.MaxOutput, m.ContextWindow)
			}
			if m.Cutoff != "" && !cutoff.MatchString(m.Cutoff) {
				t.Errorf("cutoff %q is not YYYY-MM", m.Cutoff)
			}
			if m.Freeform && (m.Provider != "openai" || !m.Tools) {
				t.Error("only OpenAI's models with tools support freeform tools")
			}
			checkThinking(t, m)
			if m.Price != nil {
				checkPrice(t, m.Price)
			}
		})
	}
}

func checkThinking(t *testing.T, m llm.Model) {
	t.Helper()
	modes := map[string][]string{
		"anthropic": {"adaptive", "budget"},
		"gemini":    {"level", "budget"},
	}[m.Provider]
	if modes == nil {
		modes = []string{"effort"}
	}
	switch {
	case m.Thinking == "" && len(m.Efforts) > 0:
		t.Error("efforts without thinking")
	case m.Thinking != "" && (!m.Reasoning || len(m.Efforts) == 0):
		t.Error("thinking without reasoning or efforts")
	case m.Thinking != "" && !slices.Contains(modes, m.Thinking):
		t.Errorf("thinking is %q, want one of %v", m.Thinking, modes)
	}
	order := []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
	last := -1
	for _, e := range m.Efforts {
		if i := slices.Index(order, e); i <= last {
			t.Errorf("efforts %v are unknown or not in order", m.Efforts)
		} else {
			last = i
		}
	}
	if first := m.Provider == "openai" || m.Provider == "anthropic" || m.Provider == "gemini"; first &&
		m.Reasoning && !m.Retired && m.Thinking == "" && !strings.HasPrefix(m.ID, "gemma") {
		t.Error("a reasoning model without thinking")
	}
}

func checkPrice(t *testing.T, p *llm.Price) {
	t.Helper()
	for name, v := range map[string]*float64{"input": p.Input, "output": p.Output, "cache_read": p.CacheRead,
		"cache_write": p.CacheWrite, "cache_write_long": p.CacheWriteLong} {
		if v != nil && (*v <= 0 || math.IsNaN(*v)) {
			t.Errorf("%s costs %v; omit an unknown price", name, *v)
		}
	}
	if p.Input == nil || p.Output == nil {
		t.Fatal("the price lacks input or output")
	}
	if p.CacheRead != nil && *p.CacheRead > *p.Input {
		t.Errorf("reading the cache costs %v, more than the input, %v", *p.CacheRead, *p.Input)
	}
	if p.CacheWriteLong != nil && (p.CacheWrite != nil && *p.CacheWriteLong < *p.CacheWrite) {
		t.Errorf("cache_write_long %v is less than cache_write %v", *p.CacheWriteLong, *p.CacheWrite)
	}
	if p.Next != nil {
		checkPrice(t, p.Next)
	}
	if (p.Long == nil) != (p.LongFrom == 0) {
		t.Fatal("long without long_from, or the reverse")
	}
	if p.Long != nil {
		if *p.Long.Input < *p.Input || *p.Long.Output < *p.Output {
			t.Error("a long call is cheaper than a short one")
		}
		if p.Long.Long != nil && p.Long.LongFrom <= p.LongFrom {
			t.Error("the tiers do not rise")
		}
		checkPrice(t, p.Long)
	}
}

// The order keeps update diffs readable.
func TestDefaultCatalogue_IsSorted(t *testing.T) {
	var done []string
	var last llm.Model
	for _, m := range llm.DefaultCatalogue().Models() {
		if m.Provider != last.Provider {
			if slices.Contains(done, m.Provider) {
				t.Errorf("the models of %s are not together", m.Provider)
			}
			done = append(done, m.Provider)
		} else if m.ID <= last.ID {
			t.Errorf("%s/%s is after %s", m.Provider, m.ID, last.ID)
		}
		last = m
	}
	if want := []string{"openai", "anthropic", "gemini"}; !slices.Equal(done[:3], want) {
		t.Errorf("the catalogue starts with %v, want %v: a name alone means the first model that has it", done[:3], want)
	}
}

func TestCatalogue_LookupFindsDatedAndAliasedNames(t *testing.T) {
	tests := []struct{ provider, name, want string }{
		{"anthropic", "claude-opus-5-5", "claude-opus-5-5"},
		{"anthropic", "claude-sonnet-4-5-20250929", "claude-sonnet-4-5"},
		{"anthropic", "claude-sonnet-4-20250514", "claude-sonnet-4-0"},
		{"anthropic", "claude-3-7-sonnet@20250219", "claude-3-7-sonnet"},
		{"anthropic", "claude-3-5-haiku-latest", "claude-3-5-haiku"},
		{"openai", "gpt-5-2025-08-07", "gpt-5"},
		{"openai", "gpt-4o-2024-05-13", "gpt-4o-2024-05-13"},
		{"openai", "gpt-5.6", "gpt-5.6-sol"},
		{"gemini", "gemini-2.0-flash-001", "gemini-2.0-flash"},
		{"gemini", "gemini-flash-latest", "gemini-flash-latest"},
		{"", "claude-opus-5-5", "claude-opus-5-5"},
		{"", "anthropic/claude-sonnet-5.5", "anthropic/claude-sonnet-5.5"},
	}
	for _, tt := range tests {
		m, ok := llm.DefaultCatalogue().Lookup(tt.provider, tt.name)
		if !ok || m.ID != tt.want {
			t.Errorf("Lookup(%q, %q) = %q, %v; want %q", tt.provider, tt.name, m.ID, ok, tt.want)
		}
	}
	for _, name := range []string{"", "gpt-99", "claude-opus-5-5-2026", "-20250101"} {
		if m, ok := llm.DefaultCatalogue().Lookup("", name); ok {
			t.Errorf("Lookup of %q found %s", name, m.ID)
		}
	}
	if _, ok := llm.DefaultCatalogue().Exact("openai", "claude-opus-5-5"); ok {
		t.Error("a model was found with a provider that does not serve it")
	}
}

func TestCatalogue_LookupFindsBedrockNames(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		priced     bool
	}{
		{"global.anthropic.claude-opus-4-6-v1", "claude-opus-4-6", true},
		{"us.anthropic.claude-opus-4-6-v1", "claude-opus-4-6", false},
		{"anthropic.claude-sonnet-4-6", "claude-sonnet-4-6", false},
		{"global.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5", true},
		{"arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5", false},
		{"amazon.nova-pro-v1:0", "amazon.nova-pro-v1:0", true},
		{"eu.amazon.nova-pro-v1:0", "amazon.nova-pro-v1:0", false},
		{"meta.llama-9", "", false},
	} {
		m, ok := llm.DefaultCatalogue().Lookup("bedrock", tt.name)
		if m.ID != tt.want || ok != (tt.want != "") || (m.Price != nil) != tt.priced {
			t.Errorf("%s: got %q, %v, price %v; want %q", tt.name, m.ID, ok, m.Price, tt.want)
		}
		if m, ok := llm.DefaultCatalogue().Lookup("anthropic", tt.name); ok && m.Provider != "bedrock" {
			t.Errorf("%s is taken for a model of Anthropic's own API", tt.name)
		}
	}
}

func TestCatalogue_AProviderMayServeOtherVendorsModels(t *testing.T) {
	c := catalogue(t, `{"models":[{"id":"a","provider":"p","name":"p's"},{"id":"a","provider":"q","name":"q's"},{"id":"b","provider":"q","name":"b","aliases":["c"]}]}`)
	for _, tt := range []struct{ provider, model, want string }{
		{"p", "a", "p's"}, {"q", "a", "q's"}, {"q", "a-20250101", "q's"}, // their own entries first
		{"", "a", "p's"}, {"local", "a", "p's"}, {"p", "b", "b"}, {"local", "c", "b"}, {"p", "c-2025-01-01", "b"},
		{"p", "d", ""}, {"local", "d", ""}, {"", "", ""},
	} {
		if m, ok := c.Lookup(tt.provider, tt.model); m.Name != tt.want || ok != (tt.want != "") {
			t.Errorf("%s of %q is %q, want %q", tt.model, tt.provider, m.Name, tt.want)
		}
	}
	if m, ok := c.Exact("p", "b"); ok {
		t.Errorf("%s is taken for a model of p", m.Name)
	}
}

func TestCatalogue_CallersCannotChangeIt(t *testing.T) {
	models := []llm.Model{{ID: "a", Provider: "p"}}
	c, err := llm.NewCatalogue(models)
	if err != nil {
		t.Fatal(err)
	}
	models[0].ID = "changed"
	c.Models()[0].ID = "changed"
	if m, ok := c.Exact("p", "a"); !ok || m.ID != "a" {
		t.Errorf("got %+v, %v, want model a", m, ok)
	}
}

func TestCatalogue_MergeReplacesAndAdds(t *testing.T) {
	base := catalogue(t, `{"models":[{"id":"a","provider":"p","name":"old"},{"id":"b","provider":"p","name":"kept"}]}`)
	over := catalogue(t, `{"models":[{"id":"a","provider":"p","name":"new"},{"id":"c","provider":"q","name":"added"}]}`)
	merged, err := base.Merge(over)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"a": "new", "b": "kept", "c": "added"} {
		if m, _ := merged.Lookup("", id); m.Name != want {
			t.Errorf("%s is %q, want %q", id, m.Name, want)
		}
	}
}

func TestCatalogue_BrokenFilesAreRefused(t *testing.T) {
	for name, in := range map[string]string{
		"not JSON":        `{"models":`,
		"unknown field":   `{"models":[{"id":"a","provider":"p","colour":"red"}]}`,
		"no id":           `{"models":[{"provider":"p"}]}`,
		"no provider":     `{"models":[{"id":"a"}]}`,
		"id twice":        `{"models":[{"id":"a","provider":"p"},{"id":"a","provider":"p"}]}`,
		"alias is taken":  `{"models":[{"id":"a","provider":"p"},{"id":"b","provider":"p","aliases":["a"]}]}`,
		"wrong type":      `{"models":[{"id":"a","provider":"p","tools":"yes"}]}`,
		"a list at root":  `[]`,
		"empty":           ``,
		"alias is itself": `{"models":[{"id":"a","provider":"p","aliases":["a"]}]}`,
	} {
		if _, err := llm.ReadCatalogue(strings.NewReader(in)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func catalogue(t *testing.T, in string) *llm.Catalogue {
	t.Helper()
	c, err := llm.ReadCatalogue(strings.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCheckEffort_NamesTheSupportedEfforts(t *testing.T) {
	for _, tt := range []struct {
		provider, model, effort string
		says                    string // "" means no error
	}{
		{"openai", "gpt-5", "high", ""},
		{"openai", "gpt-5", "", ""},
		{"openai", "gpt-5", "ludicrous", `gpt-5 does not support effort "ludicrous"; use minimal, low, medium or high`},
		{"openai", "gpt-5", "High", "use minimal, low, medium or high"},
		{"openai", "gpt-5-pro", "low", "use high"},
		{"anthropic", "claude-haiku-4-5", "medum", "use none, low, medium or high"},
		{"anthropic", "claude-haiku-4-5-20251001", "none", ""},
		{"gemini", "gemini-3-pro-preview", "medium", "use low or high"},
		{"local", "gpt-5", "ludicrous", "use minimal"}, // any provider
		{"openai", "gpt-99", "ludicrous", ""},          // unknown models accept any
		{"chat", "glm-5", "ludicrous", ""},             // no efforts are documented
	} {
		err := llm.DefaultCatalogue().CheckEffort(tt.provider, tt.model, tt.effort)
		if tt.says == "" && err == nil || err != nil && tt.says != "" && strings.Contains(err.Error(), tt.says) && llm.KindOf(err) == llm.ErrConfiguration {
			continue
		}
		t.Errorf("%s, effort %q: got %v, want an error that says %q", tt.model, tt.effort, err, tt.says)
	}
}

func TestReadCatalogue_ReadsTheBuiltInOneAsJSON(t *testing.T) {
	want := llm.DefaultCatalogue().Models()
	text, err := json.Marshal(map[string]any{"models": want})
	if err != nil {
		t.Fatal(err)
	}
	c, err := llm.ReadCatalogue(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Models(); !reflect.DeepEqual(got, want) || len(want) < 200 {
		t.Errorf("got %d models that differ from the %d built-in ones", len(got), len(want))
	}
}

func TestReadCatalogue_AddsSearchPrices(t *testing.T) {
	c, err := llm.ReadCatalogue(strings.NewReader(`{"search": {"acme": 7}, "models": [
		{"id": "a", "provider": "acme", "price": {"input": 1}},
		{"id": "b", "provider": "acme", "price": {"input": 1, "search": 3}},
		{"id": "c", "provider": "acme"},
		{"id": "d", "provider": "other", "price": {"input": 1}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]*float64{"a": new(7.0), "b": new(3.0), "c": nil, "d": nil} {
		m, _ := c.Lookup("", name)
		var got *float64
		if m.Price != nil {
			got = m.Price.Search
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("model %s: got the price %v, want %v", name, got, want)
		}
	}
}

func TestCatalogue_WithKeepsTheFamilies(t *testing.T) {
	c, err := llm.DefaultCatalogue().Extend(llm.Model{ID: "claude-sonnet-5-5", Provider: "gateway", ContextWindow: 7})
	if err != nil {
		t.Fatal(err)
	}
	if m, ok := c.Exact("gateway", "claude-sonnet-5-5"); !ok || m.ContextWindow != 7 {
		t.Errorf("the added model is %v, %v", m, ok)
	}
	if m, ok := c.Like("anthropic", "claude-unheard-9"); !ok || m.MaxOutput == 0 {
		t.Errorf("an unknown model of a family is %v, %v; want the rules of the newest", m, ok)
	}
	if m, ok := c.Lookup("", "claude-sonnet-5-5"); !ok || m.Provider != "anthropic" {
		t.Errorf("the name alone means %v, %v; want the model of anthropic", m, ok)
	}
}

func TestCatalogue_AReplacedModelKeepsItsPlaceAmongModelsWithTheSameName(t *testing.T) {
	c, err := llm.NewCatalogue([]llm.Model{{ID: "m", Provider: "first"}, {ID: "m", Provider: "second"}})
	if err != nil {
		t.Fatal(err)
	}
	if c, err = c.Extend(llm.Model{ID: "m", Provider: "first", ContextWindow: 7}); err != nil {
		t.Fatal(err)
	}
	if m, ok := c.Lookup("", "m"); !ok || m.Provider != "first" || m.ContextWindow != 7 {
		t.Errorf("the name alone means %v, %v; want the replaced model of the first provider", m, ok)
	}
}

func TestCatalogue_ARouterMayUseOtherProvidersNames(t *testing.T) {
	c, err := llm.NewCatalogue([]llm.Model{{ID: "maker/m", Provider: "router"}, {ID: "m", Provider: "maker", ContextWindow: 7}})
	if err != nil {
		t.Fatal(err)
	}
	if m, ok := c.Exact("maker", "m"); !ok || m.ContextWindow != 7 {
		t.Errorf("the maker's model is %v, %v", m, ok)
	}
	if m, ok := c.Exact("router", "maker/m"); !ok || m.Provider != "router" {
		t.Errorf("the router's model is %v, %v", m, ok)
	}
}
