package pager

import (
	"cmp"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/tui/render"
)

// Cost returns a session's costs as sections: in total, by model, by agent, and by model call in order.
func Cost(s event.Spending, calls []float64) []Section {
	total := []render.Block{{Part: render.Title(show.Usage(s.Total))}}
	if len(calls) > 1 {
		total = append(
			total,
			render.Block{Part: render.Spark(calls), Gap: true},
			render.Block{Part: render.Note("cost of each model call")},
		)
	}
	var models, agents render.Bars
	for _, m := range s.Models {
		models = append(models, spent(m.Model, m.Spent, s.Total))
	}
	for _, a := range s.Agents {
		agents = append(agents, spent(cmp.Or(a.Agent, "main"), a.Spent, s.Total))
	}
	sections := []Section{{"Total", total}}
	for _, part := range []struct {
		title string
		bars  render.Bars
	}{{"By model", models}, {"By agent", agents}} {
		if len(part.bars) > 0 {
			blocks := []render.Block{{Part: render.Title(part.title)}, {Part: part.bars}}
			sections = append(sections, Section{part.title, blocks})
		}
	}
	return sections
}

// spent returns the bar for what calls cost or, if no price is known, for their tokens.
func spent(label string, s, total event.Spent) render.Bar {
	value := s.Dollars
	if total.Dollars == 0 {
		value = float64(s.Usage.Input + s.Usage.Output)
	}
	details := " · " + show.Plural(s.Calls, "call") + " · " + show.Tokens(s.Usage.Input) + " in · " + show.Tokens(s.Usage.Output) + " out"
	return render.Bar{Label: label, Value: value, Text: s.Cost().String() + details}
}
