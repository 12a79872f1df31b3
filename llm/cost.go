package llm

import "fmt"

// Cost is a sum of money in US dollars. If it is not Known, at least one of its parts has no price,
// and Dollars is what the others cost together. The zero value is not known; a sum begins with
// [NoCost].
type Cost struct {
	Dollars float64 `json:"dollars"`
	Known   bool    `json:"known"`
}

// NoCost returns the cost of nothing, to add others to.
func NoCost() Cost { return Cost{Known: true} }

// NewCost returns a cost as [Price.Cost] gives it.
func NewCost(dollars float64, known bool) Cost { return Cost{dollars, known} }

// CostOf returns the cost that a record holds, where nil is not known.
func CostOf(dollars *float64) Cost {
	if dollars == nil {
		return Cost{}
	}
	return Cost{*dollars, true}
}

// Add returns the sum of two costs. It is known if both are.
func (c Cost) Add(d Cost) Cost { return Cost{c.Dollars + d.Dollars, c.Known && d.Known} }

// Sub returns the difference of two sums, such as those after and before a piece of work.
func (c Cost) Sub(d Cost) Cost { return Cost{c.Dollars - d.Dollars, c.Known} }

// Pointer returns the dollars, or nil if the cost is not known.
func (c Cost) Pointer() *float64 {
	if !c.Known {
		return nil
	}
	return &c.Dollars
}

// String returns the cost for people: "$0.1234", "$0.1234 + unknown" or "unknown".
func (c Cost) String() string {
	switch {
	case c.Known:
		return fmt.Sprintf("$%.4f", c.Dollars)
	case c.Dollars != 0:
		return fmt.Sprintf("$%.4f + unknown", c.Dollars)
	}
	return "unknown"
}
