package show

import (
	"fmt"
	"strconv"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// Price formats an amount in US dollars, or "?" for nil.
func Price(cost *float64) string {
	if cost == nil {
		return "?"
	}
	return fmt.Sprintf("$%.4f", *cost)
}

// SmallPrice formats an amount, with more digits if it would otherwise look like zero.
func SmallPrice(dollars float64) string {
	if dollars > 0 && dollars < 0.0001 {
		return fmt.Sprintf("$%.7f", dollars)
	}
	return Price(&dollars)
}

// Tokens formats a number of tokens, in thousands from 1000 on.
func Tokens(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10)
	}
	return strconv.FormatFloat(float64(n)/1000, 'f', 1, 64) + "k"
}

// cacheShare formats the share of the input that came from the provider's cache; "" if none did.
func cacheShare(u llm.Usage) string {
	if u.Input <= 0 || u.CacheRead <= 0 {
		return ""
	}
	return fmt.Sprintf("%.0f%%", 100*float64(u.CacheRead)/float64(u.Input))
}

// Usage formats what calls used: "10.0k tokens in (80% cached), 5 out · $0.5000".
func Usage(s event.Spent) string {
	cost, cached := s.Cost().String(), ""
	if s.Unpriced > 0 {
		cost = "cost unknown"
	}
	if share := cacheShare(s.Usage); share != "" {
		cached = " (" + share + " cached)"
	}
	return fmt.Sprintf("%s tokens in%s, %s out · %s", Tokens(s.Usage.Input), cached, Tokens(s.Usage.Output), cost)
}

// ModelTable returns a table of what each model used, in the order of s, with a total if there are
// several.
func ModelTable(s event.Spending) *Table {
	t := &Table{Columns: spentColumns("MODEL")}
	for _, m := range s.Models {
		name := m.Model
		if m.Provider != "" {
			name = m.Provider + "/" + m.Model
		}
		t.Add(spentCells(OneLine(name), m.Spent)...)
	}
	if len(s.Models) > 1 {
		t.Add(spentCells("total", s.Total)...)
	}
	return t
}

// AgentTable returns a table of what each agent used. The last column is task(agent).
func AgentTable(s event.Spending, task func(event.AgentSpent) string) *Table {
	t := &Table{Columns: append(spentColumns("AGENT"), Column{Title: "TASK"})}
	for _, a := range s.Agents {
		name := "main"
		if a.Agent != "" {
			name = OneLine(a.Agent)
		}
		t.Add(append(spentCells(name, a.Spent), task(a))...)
	}
	return t
}

// spentColumns returns the columns that spentCells fills.
func spentColumns(first string) []Column {
	return []Column{
		{Title: first, Colour: Cyan}, {Title: "CALLS", Right: true}, {Title: "INPUT", Right: true}, {Title: "CACHED", Right: true},
		{Title: "HIT", Right: true}, {Title: "WRITTEN", Right: true}, {Title: "OUTPUT", Right: true}, {Title: "COST", Right: true},
	}
}

func spentCells(first string, s event.Spent) []string {
	return []string{
		first, strconv.Itoa(s.Calls), Tokens(s.Usage.Input), Tokens(s.Usage.CacheRead), cacheShare(s.Usage),
		Tokens(s.Usage.CacheWrite), Tokens(s.Usage.Output), s.Cost().String(),
	}
}
