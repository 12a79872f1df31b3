package step

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/hook"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
)

// Tree is a session's state: its agents and their usage.
type Tree struct {
	agents map[string]*State
	turns  int // model calls
	spent  event.Spending
	worked time.Duration
	grants policy.Grants
	limits []hook.Restriction // made by hooks
	warned float64            // cost limit for which a warning was recorded
	made   map[string]bool    // files that tools created, by real path
	mode   policy.Mode        // set by a tool call; "" means the mode in the root's setup
	board  board
	inbox  map[string][]letter // messages for agents, by name

	refused []Refusal // in order of their results

	active int       // working agents
	since  time.Time // when the first active agent started
	last   time.Time // when the last record was made
}

// Total sums usage over a session and all its subagents.
type Total struct {
	Agents int // spawned subagents
	Turns  int // model calls
	Usage  llm.Usage
	Cost   llm.Cost
	// Incomplete is set if failed calls may have used more than the provider reported.
	Incomplete bool
	Worked     time.Duration      // time during which any agent worked
	Models     []event.ModelSpent // in order of their first call
}

// NewTree returns the state for a session without records.
func NewTree() *Tree {
	t := &Tree{agents: make(map[string]*State)}
	t.Agent("")
	return t
}

// Agent returns an agent's state, by path; "" means the root.
func (t *Tree) Agent(path string) *State {
	s, ok := t.agents[path]
	if !ok {
		s = newState(path, t)
		t.agents[path] = s
	}
	return s
}

// Agents lists all agents' paths.
func (t *Tree) Agents() []string { return slices.Sorted(maps.Keys(t.agents)) }

// Apply applies the session's next record.
func (t *Tree) Apply(r event.Record) {
	switch d := r.Data.(type) {
	case event.SessionResume:
		t.resumed()
		if t.mode != policy.ModePlan { // the host chose another mode with the setup
			t.mode = ""
		}
		if d.Imported {
			t.disown()
		}
	case event.ModelCallStart:
		t.turns++
	case event.SubagentStart:
		t.Agent(d.ID).name = d.Name
	case event.ToolCallEnd:
		t.files(d)
		t.mode = cmp.Or(d.Mode, t.mode)
		if d.Reports != "" {
			t.take(r.Agent, func(l letter) bool { return l.about == d.Reports })
		}
	case event.Settings:
		if r.Agent == "" && (d.ModeSet || d.Mode != t.Agent("").setup.Mode) {
			t.mode = ""
		}
	default:
		t.share(r)
	case event.Rewind:
		t.made = nil
	}
	t.spent.Add(r)
	t.last = r.Time
	t.Agent("").past.Call(r)
	t.Agent(r.Agent).Apply(r)
}

// share applies a change to shared tasks, teams or mail.
func (t *Tree) share(r event.Record) {
	switch d := r.Data.(type) {
	case event.Task:
		t.board.applyTask(d)
	case event.Team:
		t.board.applyTeam(d)
	case event.Mail:
		t.post(r.Seq, d)
	case event.SubagentEnd:
		t.reported(r, d)
	case event.Hook:
		t.limits = append(t.limits, d.Restrict...)
	case event.SteeringInjected:
		if d.Source == event.SourceMail || d.Source == event.SourceReport {
			t.take(r.Agent, func(l letter) bool { return l.seq == d.Queued })
		}
	}
}

// resumed applies that the working process has ended. The time since its last record does not count.
func (t *Tree) resumed() {
	if t.active > 0 {
		t.worked += max(t.last.Sub(t.since), 0) // the clock may have moved back
	}
	t.active = 0
	for path, s := range t.agents {
		s.working = false
		if path != "" {
			s.closeAnswer()
			s.recovered()
		}
	}
}

// files applies that a call created and deleted files.
func (t *Tree) files(d event.ToolCallEnd) {
	for _, a := range d.Accesses {
		if a.Kind == policy.Delete {
			delete(t.made, a.Target)
		}
	}
	for _, p := range d.Artifacts.FilesCreated {
		if t.made == nil {
			t.made = make(map[string]bool)
		}
		t.made[p] = true
	}
}

// Created reports whether a tool call created the file at a real path. Files that commands create are not tracked.
func (t *Tree) Created(path string) bool { return t.made[path] }

// disown drops the permissions, mail and subagents in an imported session, whose records are not trusted.
func (t *Tree) disown() {
	t.grants = nil
	t.made = nil
	t.inbox = nil
	t.board.disown()
	for _, s := range t.agents {
		s.lapse(true)
		s.spawned, s.name = nil, ""
	}
}

// Total returns the usage up to the last record.
func (t *Tree) Total() Total { return t.At(t.last) }

// At returns the usage up to a time.
func (t *Tree) At(now time.Time) Total {
	spent := t.spent.Clone()
	total := Total{
		Agents: len(t.agents) - 1,
		Turns:  t.turns,
		Usage:  spent.Total.Usage,
		Cost:   spent.Total.Cost(),

		Incomplete: spent.Total.Incomplete > 0,
		Worked:     t.worked,
		Models:     spent.Models,
	}
	if t.active > 0 {
		total.Worked += max(now.Sub(t.since), 0)
	}
	return total
}

// Spent returns one agent's usage.
func (t *Tree) Spent(path string) event.Spent {
	for _, a := range t.spent.Agents {
		if a.Agent == path {
			return a.Spent
		}
	}
	return event.Spent{}
}

func (t *Tree) enter(at time.Time) {
	if t.active == 0 {
		t.since = at
	}
	t.active++
}

func (t *Tree) exit(at time.Time) {
	if t.active--; t.active == 0 {
		t.worked += max(at.Sub(t.since), 0)
	}
}

// limit returns the record for a limit that is reached, or nil.
func (s *State) limit() event.Data {
	own := s.setup.Rules
	switch {
	case own.ToolRounds > 0 && s.rounds >= own.ToolRounds:
		return reached(event.LimitToolRounds, s.rounds, fmt.Sprintf("reached the limit of %d tool rounds", s.rounds))
	case own.Turns > 0 && s.turns >= own.Turns:
		return reached(event.LimitTurns, s.turns, fmt.Sprintf("reached the limit of %d turns", s.turns))
	}
	r, total := s.tree.Agent("").setup.Rules, s.tree.Total() // the root has the tree's limits
	tokens := total.Usage.Input + total.Usage.Output
	switch {
	case r.TreeTurns > 0 && total.Turns >= r.TreeTurns:
		return reached(event.LimitTreeTurns, total.Turns, fmt.Sprintf("reached the limit of %d model calls", total.Turns))
	case r.TreeTokens > 0 && tokens >= r.TreeTokens:
		return reached(event.LimitTreeTokens, int(tokens), fmt.Sprintf("used %d of %d tokens", tokens, r.TreeTokens))
	case r.TreeDuration > 0 && total.Worked >= r.TreeDuration:
		return reached(
			event.LimitTreeDuration,
			int(total.Worked.Seconds()),
			fmt.Sprintf("worked %v of %v", total.Worked.Round(time.Second), r.TreeDuration),
		)
	case r.TreeCost > 0 && total.Cost.Dollars >= r.TreeCost:
		return reached(event.LimitTreeCost, int(total.Cost.Dollars), fmt.Sprintf("spent $%.4f of $%.4f", total.Cost.Dollars, r.TreeCost))
	case r.TreeCost > 0:
		return s.unpriced(total)
	}
	return nil
}

// warnCostAt is the cost limit share at which a warning is recorded.
const warnCostAt = 0.8

// costWarning warns the host once when most of the tree's cost limit is spent.
func (s *State) costWarning() event.Data {
	limit, spent := s.tree.costLimit(), s.tree.Total().Cost.Dollars
	if limit <= 0 || limit == s.tree.warned || spent < warnCostAt*limit {
		return nil
	}
	return event.Warning{
		Code: event.WarningBudget,
		Message: fmt.Sprintf("Spent $%.4f of the $%.4f budget (%.0f%%); the work stops when it is used up",
			spent, limit, 100*spent/limit),
	}
}

// costLimit returns the tree's cost limit; 0 means none.
func (t *Tree) costLimit() float64 { return t.Agent("").setup.Rules.TreeCost }

func reached(l event.Limit, value int, detail string) event.Data {
	return event.TurnLimit{Limit: l, Value: value, Detail: detail}
}

// unpriced returns an error if a price is unknown, so that a cost limit cannot be enforced.
func (s *State) unpriced(total Total) event.Data {
	if set := s.Effective(); set.Unpriced {
		return event.Error{
			Class: string(llm.ErrConfiguration),
			Message: fmt.Sprintf(
				"cannot enforce the cost limit: the price of %s is unknown; add the model to the catalogue or remove the limit",
				set.Model,
			),
		}
	}
	for _, m := range total.Models {
		if m.Unpriced > 0 {
			return event.Error{
				Class: string(llm.ErrConfiguration),
				Message: fmt.Sprintf(
					"cannot enforce the cost limit: the cost of %s in this session is unknown; remove the limit or start a new session",
					m.Model,
				),
			}
		}
	}
	return nil
}

// grant stores an approval that covers more than one call.
func (t *Tree) grant(c *call) {
	if c.request == nil || c.approval == nil || !c.approval.Allowed || c.approval.Scope == "" || c.approval.Arguments != nil {
		return
	}
	g := policy.Grant{Tool: c.request.Tool, Accesses: c.request.Accesses, Rule: "approved: " + string(c.approval.Scope)}
	g.Rules = c.approval.Rules
	t.grants = append(t.grants, g)
}

// Restrictions returns the restrictions that hooks have made.
func (t *Tree) Restrictions() []hook.Restriction { return slices.Clip(t.limits) }

// Grants returns the approvals that hold for more than one call.
func (t *Tree) Grants() policy.Grants { return slices.Clip(t.grants) }
