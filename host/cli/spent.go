package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// spent is what calls of models have used. It is not known what they cost once one had no price.
type spent struct {
	Calls int
	Usage llm.Usage

	dollars  float64 // of the calls that have a price
	unpriced int     // calls that have none
}

// spentJSON is how results tell of it; cost is null if it is not known.
type spentJSON struct {
	Calls int       `json:"calls"`
	Usage llm.Usage `json:"usage"`
	Cost  *float64  `json:"cost"`
}

func (s spent) json() spentJSON { return spentJSON{s.Calls, s.Usage, s.cost()} }

// add counts a call in.
func (s *spent) add(d event.ModelCallEnd) {
	s.Calls++
	s.Usage = s.Usage.Add(d.Usage)
	if d.Cost != nil {
		s.dollars += *d.Cost
	} else {
		s.unpriced++
	}
}

func (s spent) priced() bool { return s.unpriced == 0 }

// cost is in US dollars; nil if it is not known.
func (s spent) cost() *float64 {
	if !s.priced() {
		return nil
	}
	return &s.dollars
}

// price is the cost in words. What is known of one that is not known whole is said too.
func (s spent) price() string {
	switch {
	case s.priced():
		return price(s.cost())
	case s.unpriced < s.Calls:
		return fmt.Sprintf("%s + unknown", price(&s.dollars))
	}
	return "unknown"
}

// cacheShare is how much of what was read came from the provider's cache, if any did.
func cacheShare(u llm.Usage) (string, bool) {
	if u.Input <= 0 || u.CacheRead <= 0 {
		return "", false
	}
	return fmt.Sprintf("%.0f%%", 100*float64(u.CacheRead)/float64(u.Input)), true
}

// modelSpent is what one model has used.
type modelSpent struct {
	Provider, Model string
	spent
}

// MarshalJSON writes it flat.
func (m modelSpent) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Provider string `json:"provider,omitempty"`
		Model    string `json:"model"`
		spentJSON
	}{m.Provider, m.Model, m.json()})
}

// agentSpent is what one agent of a tree has used; the root is "".
type agentSpent struct {
	Agent string
	Task  string // that it was given
	spent
}

// MarshalJSON writes it flat.
func (a agentSpent) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Agent string `json:"agent"`
		Task  string `json:"task,omitempty"`
		spentJSON
	}{a.Agent, a.Task, a.json()})
}

// tally counts, from the events, what a tree of agents uses.
type tally struct {
	mu sync.Mutex
	spent
	turns  int // of the root itself
	models []modelSpent
	agents []agentSpent
}

func (t *tally) add(r event.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch d := r.Data.(type) {
	case event.SubagentStart:
		if a := t.agent(d.ID); a.Task == "" {
			a.Task = d.Task
		}
	case event.ModelCallEnd:
		if d.Error != nil {
			return
		}
		t.spent.add(d)
		t.model(d.Provider, d.Model).add(d)
		t.agent(r.Agent).add(d)
		if r.Agent == "" {
			t.turns++
		}
	}
}

// model and agent find the line of one, or begin it.

func (t *tally) model(provider, name string) *modelSpent {
	i := slices.IndexFunc(t.models, func(m modelSpent) bool { return m.Provider == provider && m.Model == name })
	if i < 0 {
		i = len(t.models)
		t.models = append(t.models, modelSpent{Provider: provider, Model: name})
	}
	return &t.models[i]
}

func (t *tally) agent(id string) *agentSpent {
	i := slices.IndexFunc(t.agents, func(a agentSpent) bool { return a.Agent == id })
	if i < 0 {
		i = len(t.agents)
		t.agents = append(t.agents, agentSpent{Agent: id})
	}
	return &t.agents[i]
}

// fill puts what was counted into a result.
func (t *tally) fill(r *result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r.Usage, r.Turns, r.Cost, r.Models = t.Usage, t.turns, t.cost(), slices.Clone(t.models)
}
