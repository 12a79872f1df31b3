package agent

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

// priced returns a catalogue with a model whose tokens cost more above 10,000, and a model without a step.
func priced(t *testing.T) *llm.Catalogue {
	t.Helper()
	price := &llm.Price{Input: new(1.0), Output: new(2.0), LongFrom: 10_000, Long: &llm.Price{Input: new(2.0), Output: new(3.0)}}
	c, err := llm.NewCatalogue([]llm.Model{
		{ID: "steps", Provider: "p", ContextWindow: 100_000, Price: price},
		{ID: "flat", Provider: "p", ContextWindow: 100_000, Price: &llm.Price{Input: new(1.0), Output: new(2.0)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPriceStep_TheConversationIsCompactedBeforeIt(t *testing.T) {
	for _, tt := range []struct {
		model     string
		past      bool
		compacted bool
	}{{"steps", false, true}, {"steps", true, false}, {"flat", false, false}} {
		t.Run(fmt.Sprintf("%s past %v", tt.model, tt.past), func(t *testing.T) {
			script := &llmtest.Script{Reply: func(_ int, r *llm.Request) llmtest.Turn {
				if strings.Contains(r.Messages[len(r.Messages)-1].Text(), "about to be compacted") {
					return llmtest.Say("Goal: nothing.")
				}
				return llmtest.Say("Yes.")
			}}
			s := open(t, script, func(c *Config) {
				c.Client, c.Provider, c.Model, c.Catalogue = script, "p", tt.model, priced(t)
				c.Compaction = Compaction{At: 0.8, PastPriceStep: tt.past}
			})
			for range 20 {
				submit(t, s, strings.Repeat("word ", 600))
			}
			largest := int64(0)
			for _, end := range records[event.ModelCallEnd](s) {
				largest = max(largest, end.Usage.Input)
			}
			if got := len(records[event.Compaction](s)) > 0; got != tt.compacted || (largest <= 10_000) != tt.compacted {
				t.Errorf("compacted: %v, largest request %d; want %v", got, largest, tt.compacted)
			}
			var warnings int
			for _, w := range records[event.Warning](s) {
				if w.Code == event.WarningPriceStep {
					warnings++
				}
			}
			if want := map[bool]int{true: 1}[tt.past]; warnings != want {
				t.Errorf("got %d warnings about the price, want %d", warnings, want)
			}
		})
	}
}

func TestFallback_TakesOverAfterARefusalAndAnUnknownModel(t *testing.T) {
	refused := llmtest.Turn{Parts: []llm.Part{text("I cannot")}, Finish: llm.FinishContentFilter, Detail: "cyber"}
	for _, tt := range []struct {
		name   string
		turn   llmtest.Turn
		reason string
	}{
		{"refusal", refused, "the model refused to answer (cyber)"},
		{"unknown model", llmtest.Fail(404), "404"},
		{"overload", llmtest.Fail(529), "529"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			script := &llmtest.Script{Reply: func(_ int, r *llm.Request) llmtest.Turn {
				if r.Model == "m" {
					return tt.turn
				}
				return llmtest.Say("Here you are.")
			}}
			s := open(t, script, func(c *Config) { c.Fallback = []Model{{Name: "spare"}} })
			out := submit(t, s, "go")
			f := records[event.ModelFallback](s)
			if out.Status != StatusDone || out.Text != "Here you are." || len(f) != 1 || f[0].To != "spare" || !strings.Contains(f[0].Error.Message, tt.reason) {
				t.Errorf("got %+v and the records %+v, want spare because of %q", out, f, tt.reason)
			}
			for _, m := range s.Messages() {
				if strings.Contains(m.Text(), "I cannot") {
					t.Error("the refused answer is part of the conversation")
				}
			}
			if out, _ := open(t, script, nil).Submit(t.Context(), text("go")); out.Status == StatusDone {
				t.Errorf("without a fallback: got %+v", out)
			}
		})
	}
}

func TestRefusal_IsRecordedWithItsCategory(t *testing.T) {
	s := open(t, llmtest.Play(llmtest.Turn{Finish: llm.FinishContentFilter, Detail: "cyber"}), nil)
	out := submit(t, s, "go")
	if end := records[event.ModelCallEnd](s); out.Status != StatusRefused || len(end) != 1 || end[0].Detail != "cyber" {
		t.Errorf("got %+v and %+v, want StatusRefused and the detail cyber", out, end)
	}
}

func TestFallback_IsAnnouncedWithEachRetry(t *testing.T) {
	script := &llmtest.Script{Reply: func(_ int, r *llm.Request) llmtest.Turn {
		if r.Model == "m" {
			return llmtest.Fail(529)
		}
		return llmtest.Say("Here you are.")
	}}
	client, err := llm.NewClient(llm.ClientConfig{Providers: []llm.Provider{script}, Middleware: []llm.Middleware{llm.RetryPolicy{Retries: 10, Base: 1}.Middleware()}})
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, client, func(c *Config) { c.Fallback = []Model{{Name: "spare"}} })
	submit(t, s, "go")
	retries := records[event.ModelRetry](s)
	if len(retries) != 2 || retries[0].Max != 3 || retries[0].Fallback != "spare" || retries[1].Fallback != "spare" {
		t.Errorf("got %+v, want two retries of at most three attempts, then spare", retries)
	}
}

func TestFallback_GetsOnlySettingsThatItHas(t *testing.T) {
	ttl := func(words ...string) llm.Rules { return llm.Rules{CacheTTLs: words} }
	catalogue, err := llm.NewCatalogue([]llm.Model{
		{ID: "m", Provider: "p", Rules: ttl("5m", "1h")},
		{ID: "same", Provider: "p", Rules: ttl("5m", "1h"), Price: &llm.Price{Tiers: map[string]float64{"flex": 0.5}}},
		{ID: "other", Provider: "p", Rules: llm.Rules{CacheTTLs: []string{"30m"}, Budget: llm.RefusedAlways}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for spare, want := range map[string]string{"same": "1h flex budget", "other": "  "} {
		script := &llmtest.Script{Reply: func(_ int, r *llm.Request) llmtest.Turn {
			if r.Model == "m" {
				return llmtest.Fail(529)
			}
			return llmtest.Say("Here you are.")
		}}
		s := open(t, nil, func(c *Config) {
			c.Client, c.Provider, c.Catalogue, c.CacheTTL, c.Tier, c.ThinkingBudget = script, "p", catalogue, "1h", "flex", new(2000)
			c.Fallback = []Model{{Name: spare}}
		})
		submit(t, s, "go")
		got := ""
		for _, r := range script.Requests() {
			budget := ""
			if r.ThinkingBudget != nil {
				budget = "budget"
			}
			got = fmt.Sprintf("%s %s %s", r.CacheTTL, r.Tier, budget)
			if r.Model == "m" && got != "1h flex budget" {
				t.Errorf("the model itself got %q", got)
			}
		}
		if got != want {
			t.Errorf("%s got %q, want %q", spare, got, want)
		}
	}
}
