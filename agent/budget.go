package agent

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// tree is what the agents of one tree share: what they may spend together and what they have.
type tree struct {
	limits Limits
	root   *Session

	checkpoint checkpointer

	mu     sync.Mutex
	total  Total
	active int       // agents at work
	since  time.Time // when there began to be any
}

// Total is what a session and all its subagents have used up to now.
type Total struct {
	Agents int // that were spawned
	Turns  int // calls of models
	Usage  llm.Usage
	Cost   Cost
	Worked time.Duration // the time in which any of them was at work
	Models []ModelTotal  // by model, in the order of their first call
}

// ModelTotal is what one model has used.
type ModelTotal struct {
	Provider, Model string
	Calls           int
	Usage           llm.Usage
	Cost            Cost
}

// models are the totals by model.
type models []ModelTotal

// add counts a call in.
func (m *models) add(provider, model string, u llm.Usage, dollars float64, known bool) {
	i := slices.IndexFunc(*m, func(t ModelTotal) bool { return t.Provider == provider && t.Model == model })
	if i < 0 {
		i = len(*m)
		*m = append(*m, ModelTotal{Provider: provider, Model: model, Cost: Cost{Known: true}})
	}
	t := &(*m)[i]
	t.Calls++
	t.Usage = t.Usage.Add(u)
	t.Cost = t.Cost.add(dollars, known)
}

// note counts a call in that a record tells of.
func (m *models) note(r event.Record) {
	d, ok := r.Data.(event.ModelCallEnd)
	switch {
	case !ok || d.Error != nil:
	case d.Cost != nil:
		m.add(d.Provider, d.Model, d.Usage, *d.Cost, true)
	default:
		m.add(d.Provider, d.Model, d.Usage, 0, false)
	}
}

// Total is what the session and all its subagents have used up to now.
func (s *Session) Total() Total {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	t := s.tree.now()
	t.Models = slices.Clone(t.Models)
	return t
}

func newTree(l Limits) *tree { return &tree{limits: l, total: Total{Cost: Cost{Known: true}}} }

// now is the total with the time that runs; t.mu is held.
func (t *tree) now() Total {
	total := t.total
	if t.active > 0 {
		total.Worked += time.Since(t.since)
	}
	return total
}

// enter and exit bracket the work of an agent.
func (t *tree) enter() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.active == 0 {
		t.since = time.Now()
	}
	t.active++
}

func (t *tree) exit() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total = t.now()
	t.since = time.Now()
	t.active--
}

// limitError is a limit of the tree that was reached.
type limitError struct {
	name   string
	value  int
	detail string
}

func (e *limitError) Error() string { return e.detail }

// admit checks the limits of the tree before a call, and counts the call.
func (t *tree) admit(known *llm.Catalogue, r *llm.Request) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	l, total := t.limits, t.now()
	tokens := total.Usage.Input + total.Usage.Output
	switch {
	case l.TreeTurns > 0 && total.Turns >= l.TreeTurns:
		return &limitError{"tree_turns", total.Turns, fmt.Sprintf("the agents have made %d calls, which is the limit", total.Turns)}
	case l.TreeTokens > 0 && tokens >= l.TreeTokens:
		return &limitError{"tree_tokens", int(tokens), fmt.Sprintf("the agents have used %d tokens of %d", tokens, l.TreeTokens)}
	case l.TreeDuration > 0 && total.Worked >= l.TreeDuration:
		return &limitError{"tree_duration", int(total.Worked.Seconds()), fmt.Sprintf("the agents have worked for %v of %v", total.Worked.Round(time.Second), l.TreeDuration)}
	case l.TreeCost > 0 && total.Cost.Dollars >= l.TreeCost:
		return &limitError{"tree_cost", int(total.Cost.Dollars), fmt.Sprintf("the agents have spent $%.4f of $%.4f", total.Cost.Dollars, l.TreeCost)}
	case l.TreeCost > 0:
		if err := total.priced(known, r); err != nil {
			return err
		}
	}
	t.total.Turns++
	return nil
}

// priced checks that it is known what all calls cost up to now, and what the next one will.
func (t Total) priced(known *llm.Catalogue, r *llm.Request) error {
	if m, _ := known.Lookup(catalogueName(r.Provider), r.Model); m.Price == nil {
		return llm.Errorf(llm.ErrConfiguration, r.Provider, "the price of %s is not known, so a cost limit cannot be kept: add the model to the catalogue or lift the limit", r.Model)
	}
	for _, m := range t.Models {
		if !m.Cost.Known {
			return llm.Errorf(llm.ErrConfiguration, r.Provider, "it is not known what %s has cost in this session, so a cost limit cannot be kept: lift the limit or begin a new session", m.Model)
		}
	}
	return nil
}

// spend counts what a call has used.
func (t *tree) spend(r *llm.Request, u llm.Usage, dollars float64, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	(*models)(&t.total.Models).add(r.Provider, r.Model, u, dollars, known)
	t.total.Usage = t.total.Usage.Add(u)
	t.total.Cost = t.total.Cost.add(dollars, known)
}

// enlist counts an agent of the tree, if there may be one more.
func (t *tree) enlist(most int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if most > 0 && t.total.Agents >= most {
		return fmt.Errorf("there have been %d agents already, which is the limit", t.total.Agents)
	}
	t.total.Agents++
	return nil
}
