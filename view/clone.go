package view

import (
	"maps"
	"slices"
	"strings"
)

// Clone returns a copy that continues with the next record on its own. The two share texts and finished tool calls, which
// do not change, so that a copy of a long session is small.
func (s *State) Clone() *State {
	c := *s
	c.items = slices.Clone(s.items)
	c.index = maps.Clone(s.index)
	c.agents = maps.Clone(s.agents)
	c.paths = slices.Clone(s.paths)
	c.writing = slices.Clone(s.writing)
	c.queue = s.Queue()
	c.plan = s.Plan()
	c.tasks = s.Tasks()
	c.approvals = s.Approvals()
	c.questions = s.Questions()
	c.inquiries = s.Inquiries()
	c.background = s.Background()
	c.notices = maps.Clone(s.notices)
	c.changed = nil
	for path, a := range s.agents {
		c.agents[path] = a.clone()
		for _, open := range a.Open {
			t := *s.items[open.Item].Tool
			c.items[open.Item].Tool = &t
		}
	}
	return &c
}

func (a *agent) clone() *agent {
	c := *a
	c.Open = maps.Clone(a.Open)
	for id, open := range a.Open {
		own := *open
		own.Out = slices.Clone(open.Out)
		c.Open[id] = &own
	}
	if a.Answer != nil {
		own := *a.Answer
		own.Text, own.Reasoning = a.Answer.Text.clone(), a.Answer.Reasoning.clone()
		own.Calls = slices.Clone(a.Answer.Calls)
		c.Answer = &own
	}
	return &c
}

func (g *growing) clone() (c growing) {
	if g.b != nil {
		c.b = new(strings.Builder)
		c.b.WriteString(g.String())
	}
	return c
}
