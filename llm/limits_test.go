package llm_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reins-agent/reins/llm"
)

func TestInputLimit_IsTheLesserOne(t *testing.T) {
	for _, tt := range []struct{ window, input, want int64 }{
		{1000, 0, 1000}, {1000, 800, 800}, {1000, 1200, 1000}, {0, 800, 800}, {0, 0, 0},
	} {
		m := llm.Model{ContextWindow: tt.window, Rules: llm.Rules{MaxInput: tt.input}}
		if got := m.InputLimit(); got != tt.want {
			t.Errorf("window %d and input %d: got %d, want %d", tt.window, tt.input, got, tt.want)
		}
	}
}

// An unknown model has its family's rules, and nothing else from the model that defines them.
func TestLike_HasRulesOnly(t *testing.T) {
	c, err := llm.ReadCatalogue(strings.NewReader(`{"families": [{"provider": "acme", "prefix": "a-", "like": "a-1"}], "models": [
		{"id": "a-1", "provider": "acme", "name": "A 1", "aliases": ["a-one"], "context_window": 7, "efforts": ["low"], "cutoff": "2026-01",
		"ends": "2026-12-01", "default": true, "price": {"input": 1}, "rules": {"prefix_check": true}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	got, ok := c.Like("acme", "a-2")
	want := llm.Model{ID: "a-2", Provider: "acme", Name: "a-2", ContextWindow: 7, Efforts: []string{"low"}, Rules: llm.Rules{PrefixCheck: true}}
	if !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, ok, want)
	}
	if _, ok := c.Like("acme", "b-2"); ok {
		t.Error("a model of no family has rules")
	}
}

func TestAddedTools_OmitsToolsRemovedAgain(t *testing.T) {
	change := func(c llm.ToolChange) llm.Message { return llm.Message{Role: llm.RoleSystem, Parts: []llm.Part{c}} }
	a, b := llm.ToolDef{Name: "a"}, llm.ToolDef{Name: "b"}
	got := llm.AddedTools([]llm.Message{
		llm.UserText("hi"),
		change(llm.ToolChange{Add: []llm.ToolDef{a, b}}),
		change(llm.ToolChange{Remove: []llm.RemovedTool{{Tool: a}}}),
	})
	if !reflect.DeepEqual(got, []llm.ToolDef{b}) {
		t.Errorf("got %+v, want b", got)
	}
}

func TestCost_OrdinaryTiersCostThePrice(t *testing.T) {
	p := &llm.Price{Output: new(3.0), Tiers: map[string]float64{"flex": 0.5}}
	for tier, want := range map[string]float64{
		"": 3, "auto": 3, "default": 3, "standard": 3, "standard_only": 3, "on_demand": 3, "flex": 1.5,
	} {
		if got, known := p.Cost(llm.Usage{Output: 1e6, Tier: tier}); !known || got != want {
			t.Errorf("tier %q: got %v, %v, want %v", tier, got, known, want)
		}
	}
	if got, known := p.Cost(llm.Usage{Output: 1e6, Tier: "batch"}); known || got != 0 {
		t.Errorf("an unknown tier: got %v, %v", got, known)
	}
}

// If another model can take over, a call is not tried for long.
func TestRetry_HonoursTheRequestsAttempts(t *testing.T) {
	slow := &llm.Error{Kind: llm.ErrRateLimit, Status: 429, RetryAfter: 11 * time.Second}
	quick := &llm.Error{Kind: llm.ErrRateLimit, Status: 429, RetryAfter: 10 * time.Second}
	for name, tt := range map[string]struct {
		attempts int
		err      *llm.Error
		calls    int
		most     int
	}{
		"as many as the policy has":    {0, overloaded, 6, 6},
		"three":                        {3, overloaded, 3, 3},
		"more than the policy has":     {9, overloaded, 6, 6},
		"a short wait":                 {3, quick, 3, 3},
		"a long wait":                  {3, slow, 1, 0},
		"a long wait without attempts": {0, slow, 6, 6},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newFake("p", failure(tt.err))
			policy := llm.RetryPolicy{Retries: 5, Base: time.Millisecond, Jitter: noJitter}
			c := newClient(t, llm.ClientConfig{Providers: []llm.Provider{p}, Middleware: []llm.Middleware{policy.Middleware()}})
			most := 0
			var err error
			for ev, e := range c.Stream(t.Context(), &llm.Request{Attempts: tt.attempts}) {
				if r, ok := ev.(llm.Retry); ok {
					most = r.Max
				}
				err = e
			}
			if p.calls() != tt.calls || most != tt.most || !errors.Is(err, tt.err) {
				t.Errorf("%s: %d calls of %d, %v; want %d of %d", name, p.calls(), most, err, tt.calls, tt.most)
			}
		})
	}
}
