package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// billJSON is what sessions have cost, as JSON. Agents are those of one session only.
type billJSON struct {
	Sessions []string     `json:"sessions"`
	Models   []modelSpent `json:"models"`
	Agents   []agentSpent `json:"agents,omitempty"`
	spentJSON
	CacheHit float64 `json:"cache_hit"` // the share of the input that came from the cache
}

func (b *bill) print(h Host, asJSON bool) error {
	t := &b.tally
	slices.SortStableFunc(t.models, func(a, b modelSpent) int { return cmp.Compare(b.dollars, a.dollars) })
	if asJSON {
		j := billJSON{Sessions: b.sessions, Models: t.models, spentJSON: t.json()}
		if len(b.sessions) == 1 {
			j.Agents = t.agents
		}
		if t.Usage.Input > 0 {
			j.CacheHit = float64(t.Usage.CacheRead) / float64(t.Usage.Input)
		}
		j.Sessions, j.Models = orEmpty(j.Sessions), orEmpty(j.Models)
		return printJSON(h.Stdout, j)
	}
	if t.Calls == 0 {
		aside(h, "no calls of a model were made in %s", plural(len(b.sessions), "session"))
		return nil
	}
	if err := b.byModel().print(h); err != nil {
		return err
	}
	if len(b.sessions) == 1 && len(t.agents) > 1 {
		fmt.Fprintln(h.Stdout)
		if err := b.byAgent(h).print(h); err != nil {
			return err
		}
	}
	if !t.priced() {
		aside(h, "%s of %d had no known price; \"reins models\" shows the prices that are known, and --catalogue of \"reins run\" adds others", plural(t.unpriced, "call"), t.Calls)
	}
	return nil
}

// orEmpty is a list that is [] in JSON, not null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// spentColumns are a first column and those that tell what was spent, which spentCells fills.
func spentColumns(first string) []column {
	return []column{
		{title: first, colour: cyan}, {title: "CALLS", right: true}, {title: "INPUT", right: true}, {title: "CACHED", right: true},
		{title: "HIT", right: true}, {title: "WRITTEN", right: true}, {title: "OUTPUT", right: true}, {title: "COST", right: true},
	}
}

func spentCells(first string, s spent) []string {
	share, _ := cacheShare(s.Usage)
	return []string{
		first, strconv.Itoa(s.Calls), tokens(s.Usage.Input), tokens(s.Usage.CacheRead), share,
		tokens(s.Usage.CacheWrite), tokens(s.Usage.Output), s.price(),
	}
}

func (b *bill) byModel() *table {
	t := &table{columns: spentColumns("MODEL")}
	for _, m := range b.tally.models {
		t.add(spentCells(modelName(m), m.spent)...)
	}
	if len(b.tally.models) > 1 {
		t.add(spentCells("total", b.tally.spent)...)
	}
	return t
}

func modelName(m modelSpent) string {
	if m.Provider == "" {
		return inLine(m.Model)
	}
	return inLine(m.Provider + "/" + m.Model)
}

func (b *bill) byAgent(h Host) *table {
	t := &table{columns: append(spentColumns("AGENT"), column{title: "TASK"})}
	for _, a := range b.tally.agents {
		name, task := "main", called(h, b.last)
		if a.Agent != "" {
			name, task = inLine(a.Agent), oneLiner(h, a.Task)
		}
		t.add(append(spentCells(name, a.spent), task)...)
	}
	return t
}
