package cli

import (
	"net/url"
	"reflect"
	"testing"

	"github.com/reins-agent/reins/llm"
)

func TestMergedPrice_AnImportedPriceStays(t *testing.T) {
	old := &llm.Price{
		Input: new(1.0), Output: new(2.0), CacheRead: new(0.1), Search: new(10.0),
		NextFrom: "2026-12-01", Next: &llm.Price{Input: new(9.0), Output: new(9.0)},
	}
	got := mergedPrice(old, &llm.Price{Input: new(3.0), Output: new(4.0)})
	want := &llm.Price{Input: new(3.0), Output: new(4.0), CacheRead: new(0.1), Search: new(10.0)}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want the imported price without a day on which it changes", got)
	}
	if old.Next == nil || *old.Input != 1 {
		t.Error("the old price was changed")
	}
}

func TestDevCost_StepsAreInOrderAndNotAtZero(t *testing.T) {
	tier := func(size, input float64) (d devTier) {
		d.Input, d.Output, d.Tier.Size = input, 10*input, size
		return d
	}
	c := devCost{Input: 1, Output: 10, Tiers: []devTier{tier(400_000, 3), tier(0, 5), tier(200_000, 2)}}
	got, err := c.price("acme")
	want := &llm.Price{Input: new(1.0), Output: new(10.0), LongFrom: 200_000, Long: &llm.Price{
		Input: new(2.0), Output: new(20.0), LongFrom: 400_000, Long: &llm.Price{Input: new(3.0), Output: new(30.0)},
	}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want two steps", got, err)
	}
}

func TestCheapest_IsAModelThatStaysAndHasTools(t *testing.T) {
	priced := func(id string, output float64, change func(*llm.Model)) llm.Model {
		m := llm.Model{ID: id, Provider: "acme", Tools: true, Price: &llm.Price{Input: new(output), Output: new(output)}}
		change(&m)
		return m
	}
	c, err := llm.NewCatalogue([]llm.Model{
		priced("default", 9, func(m *llm.Model) { m.Default = true }),
		priced("cheap", 5, func(*llm.Model) {}),
		priced("ends", 1, func(m *llm.Model) { m.Ends = "2027-01-01" }),
		priced("retired", 1, func(m *llm.Model) { m.Retired = true }),
		priced("toolless", 1, func(m *llm.Model) { m.Tools = false }),
		priced("unpriced", 1, func(m *llm.Model) { m.Price = nil }),
		priced("foreign", 1, func(m *llm.Model) { m.Provider = "other" }),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := cheapest(c, "acme").ID; got != "cheap" {
		t.Errorf("got %s, want cheap", got)
	}
	if got := cheapest(c, "nobody").ID; got != "" {
		t.Errorf("got %s for an unknown provider", got)
	}
}

func TestSafeURL_IsHTTPSOrThisMachine(t *testing.T) {
	for address, want := range map[string]bool{
		"https://models.example/api.json": true, "http://localhost:8000/x": true, "http://127.0.0.1/x": true, "http://[::1]/x": true,
		"http://models.example/api.json": false, "http://localhost.example/x": false, "file:///etc/passwd": false, "https:///x": false, "ftp://localhost/x": false,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := safeURL(u); got != want {
			t.Errorf("%s: got %v, want %v", address, got, want)
		}
	}
}
