package event

import (
	"encoding/json"
	"slices"

	"github.com/reins-agent/reins/llm"
)

// Spent sums the usage of model calls.
type Spent struct {
	Calls    int
	Usage    llm.Usage
	Dollars  float64 // for calls with a known price
	Unpriced int     // calls without a known price
	// Incomplete counts failed calls that may be billed for more than the provider reported.
	Incomplete int
}

// Cost returns the total cost.
func (s Spent) Cost() llm.Cost { return llm.NewCost(s.Dollars, s.Unpriced == 0) }

func (s *Spent) add(d ModelCallEnd) {
	s.Calls++
	s.Usage = s.Usage.Add(d.Usage).Add(d.Retried)
	if d.Incomplete {
		s.Incomplete++
	}
	if d.Cost == nil {
		s.Unpriced++
		return
	}
	s.Dollars += *d.Cost
}

type spentJSON struct {
	Calls int       `json:"calls"`
	Usage llm.Usage `json:"usage"`
	Cost  *float64  `json:"cost"`
}

func (s Spent) json() spentJSON { return spentJSON{s.Calls, s.Usage, s.Cost().Pointer()} }

// spent returns the sum. If the cost is unknown, no call counts as priced.
func (j spentJSON) spent() Spent {
	s := Spent{Calls: j.Calls, Usage: j.Usage}
	if j.Cost == nil {
		s.Unpriced = j.Calls
	} else {
		s.Dollars = *j.Cost
	}
	return s
}

// MarshalJSON encodes calls, usage and cost. An unknown cost is null.
func (s Spent) MarshalJSON() ([]byte, error) { return json.Marshal(s.json()) }

// UnmarshalJSON decodes what MarshalJSON encodes.
func (s *Spent) UnmarshalJSON(b []byte) error {
	var j spentJSON
	err := json.Unmarshal(b, &j)
	*s = j.spent()
	return err
}

// ModelSpent is one model's usage.
type ModelSpent struct {
	Provider, Model string
	Spent
}

type modelSpentJSON struct {
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model"`
	spentJSON
}

// MarshalJSON encodes the model and its sum as one object.
func (m ModelSpent) MarshalJSON() ([]byte, error) {
	return json.Marshal(modelSpentJSON{m.Provider, m.Model, m.json()})
}

// UnmarshalJSON decodes what MarshalJSON encodes.
func (m *ModelSpent) UnmarshalJSON(b []byte) error {
	var j modelSpentJSON
	err := json.Unmarshal(b, &j)
	*m = ModelSpent{Provider: j.Provider, Model: j.Model, Spent: j.spent()}
	return err
}

// AgentSpent is one agent's usage.
type AgentSpent struct {
	Agent string // path; "" is the root
	Task  string // its first task
	Spent
}

type agentSpentJSON struct {
	Agent string `json:"agent"`
	Task  string `json:"task,omitempty"`
	spentJSON
}

// MarshalJSON encodes the agent and its sum as one object.
func (a AgentSpent) MarshalJSON() ([]byte, error) {
	return json.Marshal(agentSpentJSON{a.Agent, a.Task, a.json()})
}

// UnmarshalJSON decodes what MarshalJSON encodes.
func (a *AgentSpent) UnmarshalJSON(b []byte) error {
	var j agentSpentJSON
	err := json.Unmarshal(b, &j)
	*a = AgentSpent{Agent: j.Agent, Task: j.Task, Spent: j.spent()}
	return err
}

// Spending sums the usage of a session and its subagents, from its records.
type Spending struct {
	Total  Spent
	Turns  int // answers to the root agent
	Models []ModelSpent
	Agents []AgentSpent
}

// Add adds a record. Failed calls that used nothing do not count.
func (s *Spending) Add(r Record) {
	switch d := r.Data.(type) {
	case SubagentStart:
		if a := s.agent(d.ID); a.Task == "" {
			a.Task = d.Task
		}
	case ModelCallEnd:
		if used := d.Usage.Add(d.Retried); d.Error != nil && used.Input+used.Output == 0 {
			return
		}
		s.Total.add(d)
		s.model(d.Provider, d.Model).add(d)
		s.agent(r.Agent).add(d)
		if d.Error == nil && r.Agent == "" {
			s.Turns++
		}
	}
}

// Clone returns a copy.
func (s *Spending) Clone() Spending {
	c := *s
	c.Models, c.Agents = slices.Clone(s.Models), slices.Clone(s.Agents)
	return c
}

func (s *Spending) model(provider, name string) *ModelSpent {
	i := slices.IndexFunc(s.Models, func(m ModelSpent) bool { return m.Provider == provider && m.Model == name })
	if i < 0 {
		i = len(s.Models)
		s.Models = append(s.Models, ModelSpent{Provider: provider, Model: name})
	}
	return &s.Models[i]
}

func (s *Spending) agent(path string) *AgentSpent {
	i := slices.IndexFunc(s.Agents, func(a AgentSpent) bool { return a.Agent == path })
	if i < 0 {
		i = len(s.Agents)
		s.Agents = append(s.Agents, AgentSpent{Agent: path})
	}
	return &s.Agents[i]
}
