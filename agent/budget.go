package agent

import (
	"fmt"
	"sync"
	"time"

	"github.com/reins-agent/reins/llm"
)

// tree is what the agents of one tree share: what they may spend together and what they have.
type tree struct {
	limits Limits
	start  time.Time

	mu      sync.Mutex
	turns   int
	tokens  int64
	dollars float64
	agents  int
}

func newTree(l Limits) *tree { return &tree{limits: l, start: time.Now()} }

// limitError is a limit of the tree that was reached.
type limitError struct {
	name   string
	value  int
	detail string
}

func (e *limitError) Error() string { return e.detail }

// admit checks the limits of the tree before a call, and counts the call.
func (t *tree) admit(s *Session, r *llm.Request) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.limits
	switch {
	case l.TreeTurns > 0 && t.turns >= l.TreeTurns:
		return &limitError{"tree_turns", t.turns, fmt.Sprintf("the agents have made %d calls, which is the limit", t.turns)}
	case l.TreeTokens > 0 && t.tokens >= l.TreeTokens:
		return &limitError{"tree_tokens", int(t.tokens), fmt.Sprintf("the agents have used %d tokens of %d", t.tokens, l.TreeTokens)}
	case l.TreeDuration > 0 && time.Since(t.start) >= l.TreeDuration:
		return &limitError{"tree_duration", int(l.TreeDuration.Seconds()), fmt.Sprintf("the agents have worked for %v, which is the limit", l.TreeDuration)}
	case l.TreeCost > 0 && t.dollars >= l.TreeCost:
		return &limitError{"tree_cost", int(t.dollars), fmt.Sprintf("the agents have spent $%.4f of $%.4f", t.dollars, l.TreeCost)}
	case l.TreeCost > 0:
		if m, _ := s.config.Catalogue.Lookup(catalogueName(r.Provider), r.Model); m.Price == nil {
			return llm.Errorf(llm.ErrConfiguration, r.Provider, "the price of %s is not known, so a cost limit cannot be kept: add the model to the catalogue or lift the limit", r.Model)
		}
	}
	t.turns++
	return nil
}

// spend counts what a call has used.
func (t *tree) spend(u llm.Usage, dollars float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tokens += u.Input + u.Output
	t.dollars += dollars
}
