package cli

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/host/show"
	"github.com/reins-agent/reins/llm"
)

// billJSON is what sessions have cost, as JSON. Agents are those of one session only.
type billJSON struct {
	Sessions []string           `json:"sessions"`
	Models   []event.ModelSpent `json:"models"`
	Agents   []event.AgentSpent `json:"agents,omitempty"`
	Calls    int                `json:"calls"`
	Usage    llm.Usage          `json:"usage"`
	Cost     *float64           `json:"cost"`
	CacheHit float64            `json:"cache_hit"` // the share of the input that came from the cache
}

func (b *bill) print(h Host, asJSON bool) error {
	slices.SortStableFunc(b.spent.Models, func(a, b event.ModelSpent) int { return cmp.Compare(b.Dollars, a.Dollars) })
	if asJSON {
		return printJSON(h.Stdout, b.json())
	}
	total := b.spent.Total
	if total.Calls == 0 {
		aside(h, "no model calls were made in %s", show.Plural(len(b.sessions), "session"))
		return nil
	}
	if err := printTable(h, show.ModelTable(b.spent)); err != nil {
		return err
	}
	if len(b.sessions) == 1 && len(b.spent.Agents) > 1 {
		fmt.Fprintln(h.Stdout)
		task := func(a event.AgentSpent) string {
			if a.Agent == "" {
				return called(h, b.last)
			}
			return oneLiner(h, a.Task)
		}
		if err := printTable(h, show.AgentTable(b.spent, task)); err != nil {
			return err
		}
	}
	if total.Unpriced > 0 {
		aside(h, "%s of %d had no known price; \"reins models\" shows the prices that are known, and --catalogue of \"reins run\" adds others", show.Plural(total.Unpriced, "call"), total.Calls)
	}
	return nil
}

func (b *bill) json() billJSON {
	total := b.spent.Total
	j := billJSON{
		Sessions: orEmpty(b.sessions), Models: orEmpty(b.spent.Models),
		Calls: total.Calls, Usage: total.Usage, Cost: total.Cost().Pointer(),
	}
	if len(b.sessions) == 1 {
		j.Agents = b.spent.Agents
	}
	if total.Usage.Input > 0 {
		j.CacheHit = float64(total.Usage.CacheRead) / float64(total.Usage.Input)
	}
	return j
}

// orEmpty returns a list that is [] in JSON, not null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
