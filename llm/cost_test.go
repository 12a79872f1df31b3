package llm_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/reins-agent/reins/llm"
)

func TestCost(t *testing.T) {
	const (
		plain  = `{"input": 2, "output": 10}`
		cached = `{"input": 2, "output": 10, "cache_read": 0.2, "cache_write": 2.5, "cache_write_long": 4}`
		long   = `{"input": 2, "output": 10, "long_from": 200, "long": {"input": 4, "output": 15}}`
		tiers  = `{"input": 1, "output": 1, "long_from": 10, "long": {"input": 2, "output": 2, "long_from": 100, "long": {"input": 3, "output": 3}}}`
	)
	tests := []struct {
		name  string
		price string
		usage llm.Usage
		want  float64 // millionths of a dollar; -1 is unknown
	}{
		{"nothing used", plain, llm.Usage{}, 0},
		{"input and output", plain, llm.Usage{Input: 100, Output: 10}, 300},
		{"reasoning is part of the output", plain, llm.Usage{Input: 100, Output: 10, Reasoning: 8}, 300},
		{"cache read and write are part of the input", cached,
			llm.Usage{Input: 100, CacheRead: 50, CacheWrite: 20, Output: 1}, 30*2 + 50*0.2 + 20*2.5 + 10},
		{"a long cache write has its own price", cached,
			llm.Usage{Input: 100, CacheWrite: 100, CacheWriteLong: 60}, 40*2.5 + 60*4},
		{"a long write is never more than the write", cached,
			llm.Usage{Input: 10, CacheWrite: 10, CacheWriteLong: 60}, 10 * 4},
		{"a cache read without a price is unknown", plain, llm.Usage{Input: 100, CacheRead: 50}, -1},
		{"a cache write without a price is unknown", plain, llm.Usage{Input: 100, CacheWrite: 50}, -1},
		{"output without a price is unknown", `{"input": 2}`, llm.Usage{Input: 100, Output: 1}, -1},
		{"a price that is not used need not be known", `{"input": 2}`, llm.Usage{Input: 100}, 200},
		{"at the limit the short price holds", long, llm.Usage{Input: 200, Output: 1}, 410},
		{"over the limit all is dearer", long, llm.Usage{Input: 201, Output: 1}, 201*4 + 15},
		{"searches have a price of their own", `{"input": 2, "search": 10, "long_from": 200, "long": {"input": 4}}`, llm.Usage{Input: 300, Searches: 3}, 300*4 + 30_000},
		{"searches without a price are unknown", plain, llm.Usage{Input: 100, Searches: 1}, -1},
		{"second tier", tiers, llm.Usage{Input: 50}, 100},
		{"third tier", tiers, llm.Usage{Input: 101}, 303},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p llm.Price
			if err := json.Unmarshal([]byte(tt.price), &p); err != nil {
				t.Fatal(err)
			}
			got, known := p.Cost(tt.usage)
			if known != (tt.want >= 0) {
				t.Fatalf("known is %v", known)
			}
			if known && math.Abs(got*1e6-tt.want) > 1e-6 {
				t.Errorf("cost is %v millionths, want %v", got*1e6, tt.want)
			}
			if !known && got != 0 {
				t.Errorf("an unknown cost is %v", got)
			}
		})
	}
}

func TestCost_NoPriceIsUnknown(t *testing.T) {
	if _, known := (*llm.Price)(nil).Cost(llm.Usage{Input: 1}); known {
		t.Error("a model without a price has a cost")
	}
}

func TestCost_SumsStayHonest(t *testing.T) {
	none, ten, unknown := llm.Cost{Known: true}, llm.Cost{Dollars: 0.1, Known: true}, llm.Cost{}
	for _, tt := range []struct {
		cost llm.Cost
		text string
	}{
		{none, "$0.0000"},
		{none.Add(ten), "$0.1000"},
		{none.Add(ten).Add(ten), "$0.2000"},
		{none.Add(ten).Add(unknown), "$0.1000 + unknown"},
		{none.Add(unknown).Add(ten), "$0.1000 + unknown"},
		{none.Add(unknown), "unknown"},
		{llm.CostOf(nil), "unknown"},
		{llm.NewCost((*llm.Price)(nil).Cost(llm.Usage{Input: 1})), "unknown"},
	} {
		if tt.cost.String() != tt.text {
			t.Errorf("%+v reads %q, want %q", tt.cost, tt.cost, tt.text)
		}
		if p := tt.cost.Pointer(); (p != nil) != tt.cost.Known {
			t.Errorf("%+v is recorded as %v", tt.cost, p)
		} else if p != nil && llm.CostOf(p) != tt.cost {
			t.Errorf("%+v comes back as %+v", tt.cost, llm.CostOf(p))
		}
	}
}
