package project

import (
	"slices"
	"testing"
	"time"

	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/llm"
)

func TestProviders_AKnownModelNeedsOnlyItsName(t *testing.T) {
	no, price := false, 7.0
	known := llm.DefaultCatalogue()
	want, _ := known.Exact("anthropic", "claude-opus-5-5")
	got := catalogued(config.Model{ID: "claude-opus-5-5", Vision: &no, InputPrice: &price, OutputPrice: &price}, known)
	same := got.ContextWindow == want.ContextWindow && got.MaxOutput == want.MaxOutput && got.Name == want.Name
	if !same || !slices.Equal(got.Efforts, want.Efforts) || got.Vision || !got.Tools {
		t.Errorf("%+v, want what is known: %+v", got, want)
	}
	if cost, ok := got.Price.Cost(llm.Usage{Input: 1e6, CacheRead: 1e6}); !ok || cost != 7 {
		t.Errorf("cached input costs %v, %v, want the price of input", cost, ok)
	}
	if got = catalogued(config.Model{ID: "claude-opus-5-5"}, known); got.Price != nil {
		t.Errorf("the price of another provider is used: %+v", got.Price)
	}
}

func TestEndNote_WithoutASuccessor(t *testing.T) {
	c, err := llm.NewCatalogue([]llm.Model{{ID: "a", Provider: "p", Retired: true}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := endNote(c, c.Models()[0], time.Now()), "a is retired and may not answer"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
