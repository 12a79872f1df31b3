package agent

import (
	"testing"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

func TestModelSetup_FollowsTheRulesOfTheModel(t *testing.T) {
	long := func(from int64) *llm.Price { return &llm.Price{LongFrom: from, Long: &llm.Price{}} }
	c, err := llm.NewCatalogue([]llm.Model{
		{ID: "checked", Provider: "p", ContextWindow: 1000, Price: &llm.Price{},
			Rules: llm.Rules{PrefixCheck: true, Compacts: true, LateSystem: true, InlineTools: true, NoPrefill: true, MaxInput: 800}},
		{ID: "unchecked", Provider: "p", ContextWindow: 1000, Price: &llm.Price{}, Rules: llm.Rules{Compacts: true}},
		{ID: "stepped", Provider: "p", Price: long(200)},
		{ID: "changed", Provider: "p", Price: &llm.Price{NextFrom: "2020-01-01", Next: long(300)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []event.ModelSetup{
		{Model: "checked", Window: 800, LateSystem: true, InlineTools: true, Compacts: true, NoPrefill: true},
		{Model: "unchecked", Window: 1000}, // without a prefix check, our own summary is as good
		{Model: "stepped", PriceStep: 200},
		{Model: "changed", PriceStep: 300},
		{Model: "unknown", Unpriced: true},
	} {
		want.Provider = "p"
		if got := (&Config{Catalogue: c}).model("p", want.Model, 0); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	if got := (&Config{Catalogue: c}).model("p", "checked", 500).Window; got != 500 {
		t.Errorf("the window that the host set is %d, want 500", got)
	}
}

// A call costs the model's price on that day.
func TestPrice_IsThatOfTheDay(t *testing.T) {
	c, err := llm.NewCatalogue([]llm.Model{
		{ID: "m", Provider: "p", Price: &llm.Price{Output: new(1.0), NextFrom: "2020-01-01", Next: &llm.Price{Output: new(2.0)}}}})
	if err != nil {
		t.Fatal(err)
	}
	s := &Session{config: Config{Catalogue: c}}
	if got := s.price(&llm.Request{Provider: "p", Model: "m"}, llm.Usage{Output: 1e6}); got == nil || *got != 2 {
		t.Errorf("got %v, want 2 dollars", got)
	}
}
