package show

import (
	"fmt"
	"strconv"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// Price returns an amount in US dollars, or "?" if it is not known.
func Price(cost *float64) string {
	if cost == nil {
		return "?"
	}
	return fmt.Sprintf("$%.4f", *cost)
}

// SmallPrice returns an amount with more digits if it would look like nothing otherwise.
func SmallPrice(dollars float64) string {
	if dollars > 0 && dollars < 0.0001 {
		return fmt.Sprintf("$%.7f", dollars)
	}
	return Price(&dollars)
}

// Tokens returns a number of tokens, in thousands if there are many.
func Tokens(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10)
	}
	return strconv.FormatFloat(float64(n)/1000, 'f', 1, 64) + "k"
}

// CacheShare returns the share of the input that came from the provider's cache, if any did.
func CacheShare(u llm.Usage) (string, bool) {
	if u.Input <= 0 || u.CacheRead <= 0 {
		return "", false
	}
	return fmt.Sprintf("%.0f%%", 100*float64(u.CacheRead)/float64(u.Input)), true
}

// Usage returns on one line what calls have used: "10.0k tokens in (80% cached), 5 out · $0.5000".
func Usage(s event.Spent) string {
	cost, cached := s.Cost().String(), ""
	if s.Unpriced > 0 {
		cost = "cost unknown"
	}
	if share, ok := CacheShare(s.Usage); ok {
		cached = " (" + share + " cached)"
	}
	return fmt.Sprintf("%s tokens in%s, %s out · %s", Tokens(s.Usage.Input), cached, Tokens(s.Usage.Output), cost)
}

// ModelTable returns what each model has used, and the sum if there are several. The models come in the
// order of the spending.
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

// AgentTable returns what each agent has used. The task function says what an agent was given to do.
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

// spentColumns are a first column and those that spentCells fills.
func spentColumns(first string) []Column {
	return []Column{
		{Title: first, Colour: Cyan}, {Title: "CALLS", Right: true}, {Title: "INPUT", Right: true}, {Title: "CACHED", Right: true},
		{Title: "HIT", Right: true}, {Title: "WRITTEN", Right: true}, {Title: "OUTPUT", Right: true}, {Title: "COST", Right: true},
	}
}

func spentCells(first string, s event.Spent) []string {
	share, _ := CacheShare(s.Usage)
	return []string{
		first, strconv.Itoa(s.Calls), Tokens(s.Usage.Input), Tokens(s.Usage.CacheRead), share,
		Tokens(s.Usage.CacheWrite), Tokens(s.Usage.Output), s.Cost().String(),
	}
}
