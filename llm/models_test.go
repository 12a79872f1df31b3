package llm_test

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/llm"
)

// published is the date of the prices and rules in these tests.
var published = time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)

func model(t *testing.T, provider, id string) llm.Model {
	t.Helper()
	m, ok := llm.DefaultCatalogue().Exact(provider, id)
	if !ok || m.ID != id {
		t.Fatalf("the catalogue has no %s/%s", provider, id)
	}
	return m
}

// amounts returns input, output, cache read, cache write and long cache write; -1 is unknown.
func amounts(p *llm.Price) (a [5]float64) {
	for i, v := range []*float64{p.Input, p.Output, p.CacheRead, p.CacheWrite, p.CacheWriteLong} {
		a[i] = -1
		if v != nil {
			a[i] = *v
		}
	}
	return a
}

// A wrong price is a wrong bill.
func TestModels_PricesAreTheVendors(t *testing.T) {
	for _, tt := range []struct {
		provider, id string
		want         [5]float64
	}{
		{"anthropic", "claude-fable-5-2", [5]float64{8, 40, 0.20, 10, 16}},
		{"anthropic", "claude-mythos-5-2", [5]float64{8, 40, 0.20, 10, 16}},
		{"anthropic", "claude-fable-5-1", [5]float64{10, 50, 0.25, 12.5, 20}},
		{"anthropic", "claude-mythos-5-1", [5]float64{10, 50, 0.25, 12.5, 20}},
		{"anthropic", "claude-opus-5-5", [5]float64{4, 20, 0.20, 5, 8}},
		{"anthropic", "claude-sonnet-5-5", [5]float64{2, 10, 0.10, 2.5, 4}},
		{"anthropic", "claude-haiku-5-5", [5]float64{0.10, 0.50, 0.01, 0.125, 0.20}},
		{"anthropic", "claude-opus-5", [5]float64{5, 25, 0.5, 6.25, 10}},
		{"anthropic", "claude-sonnet-5", [5]float64{2, 10, 0.2, 2.5, 4}},
		{"anthropic", "claude-opus-4-8", [5]float64{5, 25, 0.5, 6.25, 10}},
		{"anthropic", "claude-opus-4-7", [5]float64{5, 25, 0.5, 6.25, 10}},
		{"anthropic", "claude-opus-4-6", [5]float64{5, 25, 0.5, 6.25, 10}},
		{"anthropic", "claude-sonnet-4-6", [5]float64{3, 15, 0.3, 3.75, 6}},
		{"anthropic", "claude-haiku-4-5", [5]float64{1, 5, 0.1, 1.25, 2}},
		{"anthropic", "claude-sonnet-4-5", [5]float64{3, 15, 0.3, 3.75, 6}},
		{"anthropic", "claude-opus-4-5", [5]float64{5, 25, 0.5, 6.25, 10}},
		{"openai", "gpt-6.1-sol", [5]float64{2, 10, 0.1, 2.5, -1}},
		{"openai", "gpt-6-astra", [5]float64{10, 50, 1, 12.5, -1}},
		{"openai", "gpt-5.5", [5]float64{5, 30, 0.5, -1, -1}},
		{"gemini", "gemini-4-argon", [5]float64{2, 10, 0.10, -1, -1}},
		{"gemini", "gemini-3.8-flash", [5]float64{0.75, 3.75, 0.075, -1, -1}},
		{"deepseek", "deepseek-flash", [5]float64{0.30, 1.20, 0.006, -1, -1}},
		{"deepseek", "deepseek-v4-flash", [5]float64{0.30, 1.20, 0.006, -1, -1}},
		{"deepseek", "deepseek-v4-pro", [5]float64{1.32, 3.96, 0.044, -1, -1}},
		{"xai", "grok-4.7", [5]float64{2, 6, 0.5, -1, -1}},
		{"meta", "muse-ember-1.0", [5]float64{0.1, 0.5, -1, -1, -1}},
	} {
		if got := amounts(model(t, tt.provider, tt.id).Price.At(published)); got != tt.want {
			t.Errorf("%s costs %v, want %v", tt.id, got, tt.want)
		}
	}
	if p := model(t, "anthropic", "claude-haiku-5-5").Price; p.LongFrom != 100_000 || amounts(p.Long) != [5]float64{0.5, 2.5, 0.05, 0.625, 1} {
		t.Errorf("above %d tokens, Haiku 5.5 costs %v, want 5 times the price above 100000", p.LongFrom, amounts(p.Long))
	}
}

func TestModels_PricesChangeOnTheirDay(t *testing.T) {
	for _, tt := range []struct {
		provider, id, day string
		want              [5]float64
	}{
		{"anthropic", "claude-sonnet-5-5", "2026-10-07", [5]float64{2, 10, 0.2, 2.5, 4}},
		{"anthropic", "claude-sonnet-5-5", "2026-10-08", [5]float64{2, 10, 0.1, 2.5, 4}},
		{"gemini", "gemini-4-argon", "2026-11-30", [5]float64{2, 10, 0.1, -1, -1}},
		{"gemini", "gemini-4-argon", "2026-12-01", [5]float64{4, 20, 0.2, -1, -1}},
		{"gemini", "gemini-3.6-flash", "2026-12-31", [5]float64{0.75, 3.75, 0.075, -1, -1}},
		{"gemini", "gemini-3.6-flash", "2027-01-01", [5]float64{1.5, 7.5, 0.15, -1, -1}},
		{"gemini", "gemini-3.7-flash", "2027-01-01", [5]float64{1.5, 7.5, 0.15, -1, -1}},
		{"gemini", "gemini-3.8-flash", "2026-12-31", [5]float64{0.75, 3.75, 0.075, -1, -1}},
		{"gemini", "gemini-3.8-flash", "2027-01-01", [5]float64{1.5, 7.5, 0.15, -1, -1}},
	} {
		day, err := time.Parse(time.DateOnly, tt.day)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []time.Time{day, day.Add(24*time.Hour - time.Second)} {
			p := model(t, tt.provider, tt.id).Price.At(at)
			if got := amounts(p); got != tt.want {
				t.Errorf("%s costs %v at %v, want %v", tt.id, got, at, tt.want)
			}
			if p.Search == nil {
				t.Errorf("%s has no price for searches at %v", tt.id, at)
			}
		}
	}
}

func TestModels_TiersHaveFactors(t *testing.T) {
	u := llm.Usage{Input: 1_000_000 / 5, Output: 100_000} // below the threshold of long calls
	for _, tt := range []struct {
		provider, id, tier string
		want               float64 // dollars; -1 is unknown
	}{
		{"openai", "gpt-6.1-sol", "", 1.4},
		{"openai", "gpt-6.1-sol", "default", 1.4},
		{"openai", "gpt-6.1-sol", "flex", 0.7},
		{"openai", "gpt-6.1-sol", "fast", 2.8},
		{"openai", "gpt-6.1-sol", "priority", 2.8},
		{"openai", "gpt-6.1-sol", "ultrafast", 8.4},
		{"openai", "gpt-6.1-sol", "warp", -1},
		{"openai", "gpt-5.6-sol", "priority", 5.6},
		{"openai", "gpt-5.5", "priority", 10},
		{"openai", "gpt-5.5", "fast", 10},
		{"openai", "gpt-5.5", "flex", 2},
		{"openai", "gpt-5-mini", "priority", 0.45},
		{"openai", "gpt-4.1", "flex", -1},
		{"anthropic", "claude-opus-5-5", "fast", 5.6},
		{"anthropic", "claude-opus-5-5", "priority", -1},
		{"anthropic", "claude-sonnet-5-5", "fast", -1},
	} {
		u.Tier = tt.tier
		got, known := model(t, tt.provider, tt.id).Price.At(published).Cost(u)
		if known != (tt.want >= 0) || known && math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s in tier %q costs %v (known: %v), want %v", tt.id, tt.tier, got, known, tt.want)
		}
	}
}

// claude is a row of Anthropic's table.
type claude struct {
	types          string
	thinks         bool
	hides          bool
	effort         string
	forced         llm.Refusal
	sampling       llm.Refusal
	budget         llm.Refusal
	prefix, prefil bool
	late, inline   bool
	compacts       bool
}

func TestModels_ClaudeRules(t *testing.T) {
	const always, thinking, changed = llm.RefusedAlways, llm.RefusedThinking, llm.RefusedChanged
	fable := claude{"adaptive", true, true, "high", always, always, always, true, false, true, true, true}
	opus55, sonnet55, haiku55 := fable, fable, fable
	opus55.effort = "medium"
	sonnet55.types = "adaptive between_tools"
	haiku55.types, haiku55.effort, haiku55.forced = "adaptive disabled", "medium", ""
	opus5 := claude{"adaptive disabled", true, true, "high", thinking, changed, always, false, false, true, true, true}
	sonnet5, fable5, opus48 := opus5, opus5, opus5
	sonnet5.late, sonnet5.inline = false, false
	fable5.types = "adaptive"
	opus48.thinks = false
	opus47 := opus48
	opus47.late, opus47.inline = false, false
	claude46 := claude{"adaptive enabled disabled", false, false, "high", thinking, thinking, "", false, false, false, false, true}
	claude45 := claude{"enabled disabled", false, false, "", thinking, llm.RefusedBoth, "", false, true, false, false, false}
	for id, want := range map[string]claude{
		"claude-fable-5-2": fable, "claude-mythos-5-2": fable, "claude-fable-5-1": fable, "claude-mythos-5-1": fable,
		"claude-opus-5-5": opus55, "claude-sonnet-5-5": sonnet55, "claude-haiku-5-5": haiku55,
		"claude-opus-5": opus5, "claude-sonnet-5": sonnet5, "claude-fable-5": fable5, "claude-mythos-5": fable5,
		"claude-opus-4-8": opus48, "claude-opus-4-7": opus47, "claude-opus-4-6": claude46, "claude-sonnet-4-6": claude46,
		"claude-haiku-4-5": claude45, "claude-sonnet-4-5": claude45, "claude-opus-4-5": claude45,
	} {
		m := model(t, "anthropic", id)
		r := m.Rules
		got := claude{strings.Join(r.ThinkingTypes, " "), r.Thinks, r.Hides, r.DefaultEffort, r.ForcedTools, r.Sampling, r.Budget,
			r.PrefixCheck, !r.NoPrefill, r.LateSystem, r.InlineTools, r.Compacts}
		if got != want {
			t.Errorf("%s:\ngot  %+v\nwant %+v", id, got, want)
		}
		if r.Cache != "cache_control" || !slices.Equal(r.CacheTTLs, []string{"5m", "1h"}) {
			t.Errorf("%s has cache %s with %v", id, r.Cache, r.CacheTTLs)
		}
		if none := slices.Contains(m.Efforts, "none"); none != r.Accepts("disabled") {
			t.Errorf("%s supports the efforts %v, but the thinking types %v", id, m.Efforts, r.ThinkingTypes)
		}
	}
}

func TestModels_GPTRules(t *testing.T) {
	const always, thinking = llm.RefusedAlways, llm.RefusedThinking
	options, retention := "prompt_cache_options 30m 12h", "prompt_cache_retention in_memory 24h"
	for _, tt := range []struct {
		id, effort, efforts string
		thinks              bool
		sampling, chat      llm.Refusal
		input               int64
		cache               string
	}{
		{"gpt-6.1-sol", "medium", "low medium high xhigh max", true, always, always, 922_000, options},
		{"gpt-6-astra", "medium", "low medium high xhigh max", true, always, always, 922_000, options},
		{"gpt-6.1-terra", "medium", "none low medium high xhigh max", true, always, thinking, 922_000, options},
		{"gpt-6-sol", "medium", "none low medium high xhigh max", true, always, thinking, 922_000, options},
		{"gpt-6-luna", "medium", "none low medium high xhigh max", true, always, thinking, 922_000, options},
		{"gpt-5.6-sol", "medium", "none low medium high xhigh max", true, thinking, thinking, 922_000, options},
		{"gpt-5.6-luna", "medium", "none low medium high xhigh max", true, thinking, thinking, 922_000, options},
		{"gpt-5.5", "medium", "none low medium high xhigh", true, thinking, "", 922_000, "prompt_cache_retention 24h"},
		{"gpt-5.4", "none", "none low medium high xhigh", false, thinking, "", 922_000, retention},
		{"gpt-5.1", "none", "none low medium high", false, thinking, "", 272_000, retention},
		{"gpt-5", "medium", "minimal low medium high", true, always, "", 272_000, retention},
		{"gpt-4.1", "", "", false, "", "", 0, retention},
	} {
		m := model(t, "openai", tt.id)
		r := m.Rules
		cache := strings.Join(append([]string{r.Cache}, r.CacheTTLs...), " ")
		if r.DefaultEffort != tt.effort || strings.Join(m.Efforts, " ") != tt.efforts || r.Thinks != tt.thinks || r.Sampling != tt.sampling ||
			r.ChatTools != tt.chat || r.MaxInput != tt.input || cache != tt.cache {
			t.Errorf("%s: got %+v with efforts %v, want %+v", tt.id, r, m.Efforts, tt)
		}
	}
	for _, m := range llm.DefaultCatalogue().Models() {
		if want := map[int64]int64{1_050_000: 922_000, 400_000: 272_000}[m.ContextWindow]; m.Provider == "openai" && m.Rules.MaxInput != want {
			t.Errorf("%s takes %d input tokens of %d, want %d", m.ID, m.Rules.MaxInput, m.ContextWindow, want)
		}
	}
}

func TestModels_OtherRules(t *testing.T) {
	for _, tt := range []struct {
		provider, id, efforts string
		want                  llm.Rules
	}{
		{"gemini", "gemini-4-argon", "low medium high", llm.Rules{Thinks: true, Budget: llm.RefusedAlways}},
		{"gemini", "gemini-3.8-flash", "low medium high", llm.Rules{Thinks: true, DefaultEffort: "medium"}},
		{"gemini", "gemini-3.7-flash", "low medium high", llm.Rules{Thinks: true, DefaultEffort: "medium"}},
		{"gemini", "gemini-3.6-flash", "minimal low medium high", llm.Rules{Thinks: true}},
		{"gemini", "gemini-3.1-pro-preview", "low medium high", llm.Rules{Thinks: true, DefaultEffort: "high"}},
		{"deepseek", "deepseek-flash", "low high max", llm.Rules{Thinks: true, NeedsThinking: true}},
		{"deepseek", "deepseek-v4-pro", "low high max", llm.Rules{Thinks: true, NeedsThinking: true}},
		{"moonshot", "kimi-k3", "low high max",
			llm.Rules{Thinks: true, DefaultEffort: "max", Sampling: llm.RefusedChanged, NeedsThinking: true}},
		{"moonshot", "kimi-k3.1-pro", "low high max",
			llm.Rules{Thinks: true, DefaultEffort: "max", Sampling: llm.RefusedChanged, NeedsThinking: true}},
		{"moonshot", "kimi-k2.7-code", "", llm.Rules{Thinks: true, NeedsThinking: true}},
		{"qwen", "qwen3.8-max", "low medium xhigh", llm.Rules{Thinks: true, DefaultEffort: "xhigh"}},
		{"minimax", "MiniMax-M3.1-Flash", "low medium high xhigh max", llm.Rules{Thinks: true, DefaultEffort: "max", NeedsThinking: true}},
		{"zai", "glm-5.3", "low high max", llm.Rules{}},
	} {
		m := model(t, tt.provider, tt.id)
		if strings.Join(m.Efforts, " ") != tt.efforts || !reflect.DeepEqual(m.Rules, tt.want) {
			t.Errorf("%s: got efforts %v and %+v, want %s and %+v", tt.id, m.Efforts, m.Rules, tt.efforts, tt.want)
		}
	}
}

func TestModels_EndsAreTheVendors(t *testing.T) {
	want := map[string]string{
		"gpt-3.5-turbo": "2026-10-23", "gpt-4": "2026-10-23", "gpt-4-turbo": "2026-10-23", "gpt-4o-2024-05-13": "2026-10-23",
		"gpt-4.1-nano": "2026-10-23", "o1": "2026-10-23", "o1-pro": "2026-10-23", "o3-mini": "2026-10-23", "o4-mini": "2026-10-23",
		"gpt-5": "2026-12-11", "gpt-5-mini": "2026-12-11", "gpt-5-nano": "2026-12-11", "gpt-5-pro": "2026-12-11",
		"o3": "2026-12-11", "o3-pro": "2026-12-11",
		"gpt-4o": "2027-01-14", "gpt-4o-mini": "2027-01-14", "gpt-4.1": "2027-01-14", "gpt-4.1-mini": "2027-01-14", "gpt-5.1": "2027-04-01",
		"claude-sonnet-4-5": "2026-11-30",
		"MiniMax-M2.5":      "2026-11-18", "MiniMax-M2.5-highspeed": "2026-11-18", "MiniMax-M2.7": "2026-11-18", "MiniMax-M2.7-highspeed": "2026-11-18",
		"kimi-k2.5": "2026-12-31", "kimi-k2.6": "2026-12-31", "kimi-k2.7-code": "2026-12-31", "kimi-k2.7-code-highspeed": "2026-12-31",
	}
	for _, m := range llm.DefaultCatalogue().Models() {
		if m.Provider == "openrouter" || m.Provider == "groq" {
			continue
		}
		if m.Ends != want[m.ID] {
			t.Errorf("%s ends on %q, want %q", m.ID, m.Ends, want[m.ID])
		}
		if m.Ends != "" && m.Retired != (m.Ends <= published.Format(time.DateOnly)) {
			t.Errorf("%s ends on %s, but retired is %v", m.ID, m.Ends, m.Retired)
		}
	}
}

// Unknown models have the same rules as the newest similar model.
func TestLike_UnknownNamesHaveTheirFamilysRules(t *testing.T) {
	for _, tt := range []struct{ provider, name, like, thinking string }{
		{"anthropic", "claude-opus-7", "claude-opus-5-5", "adaptive"},
		{"anthropic", "claude-fable-6", "claude-fable-5-2", "adaptive"},
		{"anthropic", "claude-mythos-6", "claude-mythos-5-2", "adaptive"},
		{"anthropic", "claude-sonnet-6-20270101", "claude-sonnet-5-5", "adaptive"},
		{"anthropic", "claude-haiku-6", "claude-haiku-5-5", "adaptive"},
		{"anthropic", "claude-saga-1", "claude-sonnet-5-5", "adaptive"},
		{"openai", "gpt-7", "gpt-6.1-sol", "effort"},
		{"gemini", "gemini-5-x", "gemini-3.8-flash", "level"},
		{"gemini", "gemini-4-neon", "gemini-4-argon", "level"},
		{"xai", "grok-5", "grok-4.7", "effort"},
		{"moonshot", "kimi-k4", "kimi-k3.1-pro", "effort"},
		{"deepseek", "deepseek-v5", "deepseek-flash", "effort"},
		{"zai", "glm-6", "glm-5.3", "effort"},
		{"qwen", "qwen4-max", "qwen3.8-max", "effort"},
		{"minimax", "MiniMax-M4", "MiniMax-M3.1-Flash", "effort"},
	} {
		m, ok := llm.DefaultCatalogue().Like(tt.provider, tt.name)
		like := model(t, tt.provider, tt.like)
		if !ok || m.ID != tt.name || m.Price != nil || m.Thinking != tt.thinking || m.Ends != "" || !reflect.DeepEqual(m.Rules, like.Rules) {
			t.Errorf("%s: got %+v, want the rules of %s", tt.name, m, tt.like)
		}
	}
	for _, unknown := range [][2]string{{"openai", "claude-opus-7"}, {"local", "gpt-oss:20b"}, {"openai", "o9"}, {"", "gpt-7"}} {
		if m, ok := llm.DefaultCatalogue().Like(unknown[0], unknown[1]); ok {
			t.Errorf("%s of %q is taken for %s", unknown[1], unknown[0], m.ID)
		}
	}
}

func TestModels_CurrentClaudeModelsListThinkingTypes(t *testing.T) {
	for _, m := range llm.DefaultCatalogue().Models() {
		if m.Provider == "anthropic" && !m.Retired && len(m.Rules.ThinkingTypes) == 0 {
			t.Errorf("%s lists no thinking types", m.ID)
		}
		if e := m.Rules.DefaultEffort; e != "" && !slices.Contains(m.Efforts, e) && m.Thinking != "" {
			t.Errorf("%s has the default effort %s, which it does not support", m.ID, e)
		}
		if m.Rules.MaxInput > m.ContextWindow {
			t.Errorf("%s takes more input than its context window", m.ID)
		}
	}
}
